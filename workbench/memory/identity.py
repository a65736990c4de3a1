"""Which id each entry gets: the one it claims, or the one derived from its place when the claim is contested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from workbench.core.resource import Degradation, EntryStamp, SourceStamp

DUPLICATE_RESOURCE_ID = "duplicate_resource_id"


class Identities(NamedTuple):
    """The granted claims, and one `duplicate_resource_id` for each id that two resources wanted."""

    contested: frozenset[str]
    degradations: tuple[Degradation, ...]

    def id_of(self, entry: EntryStamp) -> str:
        """The id of an entry in this snapshot."""
        if entry.claimed_id is None or entry.claimed_id in self.contested:
            return entry.derived_id
        return entry.claimed_id


def resolve_identities(stamps: Iterable[SourceStamp]) -> Identities:
    """Settle all claims at once. The order of the stamps decides the order of the report and nothing else."""
    claimants: dict[str, list[str]] = {}
    derived: set[str] = set()
    for stamp in stamps:
        for entry in stamp.entries:
            derived.add(entry.derived_id)
            if entry.claimed_id is not None:
                claimants.setdefault(entry.claimed_id, []).append(entry.derived_id)
    contested = {claim: _rivals(claim, wanted, derived) for claim, wanted in claimants.items()}
    contested = {claim: rivals for claim, rivals in contested.items() if len(rivals) > 1}
    return Identities(frozenset(contested), tuple(_report(contested)))


def _rivals(claim: str, wanted: list[str], derived: set[str]) -> list[str]:
    """Everyone who wants an id, by derived id: whoever claims it, and whoever is derived to it."""
    return [*wanted, claim] if claim in derived and claim not in wanted else wanted


def _report(contested: Mapping[str, list[str]]) -> list[Degradation]:
    return [Degradation(DUPLICATE_RESOURCE_ID, f"{claim}: {', '.join(rivals)}") for claim, rivals in contested.items()]
