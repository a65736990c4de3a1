"""What changes in the client's context: add, replace or reuse for each fragment, and what to drop. Pure.

Law: what the client holds, with the delta applied, is exactly what the new state says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.core.activation import Removal
from workbench.core.candidate import DeltaAction
from workbench.core.resource import Status
from workbench.storage.index_records import IndexedUnit

NOT_CURRENT, CHANGED, GONE, EVICTED = "not_current", "changed", "gone", "evicted"


@dataclass(frozen=True, slots=True)
class Known:
    """A unit of the previous state as it is now. content_hash: None when the revision has no such unit."""

    status: Status
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Delta:
    """actions: by unit_key of each fragment. units: the new state, the unit used longest ago first."""

    actions: Mapping[str, DeltaAction]
    remove: tuple[Removal, ...]
    units: Mapping[str, str]


def delta(
    previous: Mapping[str, str], now: Mapping[str, Known], selected: Iterable[IndexedUnit], most_units: int
) -> Delta:
    """The step from the previous state to the new one.

    previous: unit_key → content_hash. now: what each of them is by now. A unit that was neither selected again nor
    changed stays in the context; when more than `most_units` would, the ones used longest ago are withdrawn.
    """
    fresh = {unit.unit_key: unit.content_hash for unit in selected}
    actions = {key: _action(previous.get(key), content_hash) for key, content_hash in fresh.items()}
    reasons = {key: _reason(old, now[key]) for key, old in previous.items() if key not in fresh}
    kept = [key for key, reason in reasons.items() if reason is None]
    reasons.update(dict.fromkeys(kept[: max(0, len(kept) + len(fresh) - most_units)], EVICTED))
    staying = {key: old for key, old in previous.items() if key in reasons and reasons[key] is None}
    remove = (
        Removal(unit_key=key, content_hash=previous[key], reason=reason)
        for key, reason in reasons.items()
        if reason is not None
    )
    return Delta(actions, tuple(remove), {**staying, **fresh})


def _action(old: str | None, new: str) -> DeltaAction:
    if old is None:
        return DeltaAction.ADD
    return DeltaAction.REUSE if old == new else DeltaAction.REPLACE


def _reason(old: str, known: Known) -> str | None:
    if known.status is not Status.CURRENT:
        return NOT_CURRENT
    if known.content_hash is None:
        return GONE
    return None if known.content_hash == old else CHANGED
