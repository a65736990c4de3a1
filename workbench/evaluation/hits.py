"""How ranked units meet confirmed evidence, and what that says of one order of one case. Never ranks anything.

A unit meets the evidence that names it; evidence that names a whole resource is met by the resource's first unit.
Each piece of evidence is met once; a later unit of the same resource keeps its place and meets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.core.case import EvidenceRef
from workbench.evaluation.judged import RankedUnit
from workbench.evaluation.metrics import DEPTH, MISS

BESIDE = (
    "recall_any@5",
    "recall_all@5",
    "judged@10",
    "zero_hit",
    "resource_diversity@20",
    "scope_violation@20",
    "stale_result@20",
)
"""What is counted beside the ranking metrics."""
_FEW, _JUDGED = 5, 10


class OrderFigures(NamedTuple):
    """One order of one case. places: what is met at each place, for `score_places`; beside: the values of `BESIDE`.

    scope_violations: units among the first 20 whose resource is not in the frozen corpus; stale_results: units whose
    resource is in it under another hash. No unit is both. One whose hash was not recorded is never stale.
    """

    places: tuple[int, ...]
    beside: tuple[float, ...]
    scope_violations: int
    stale_results: int


def met_evidence(units: Iterable[RankedUnit], evidence: Sequence[EvidenceRef]) -> Iterator[list[int]]:
    """For each unit the numbers of the evidence that it is the first to meet: its own before its resource's."""
    waiting = {(one.resource_id, one.unit_key): number for number, one in enumerate(evidence)}
    resources = {one.resource_id for one in evidence}
    for unit in units:
        names = _names(unit) if unit.resource_id in resources else ()
        yield [waiting.pop(name) for name in names if name in waiting]


def hit_places(units: Iterable[RankedUnit], evidence: Sequence[EvidenceRef], depth: int = DEPTH) -> tuple[int, ...]:
    """The number of the evidence met at each place, `MISS` where none is.

    A unit that meets its own evidence and its resource's takes two places, its own first: both are found there.
    """
    places: list[int] = []
    for met in met_evidence(units, evidence):
        places.extend(met or (MISS,))
        if len(places) >= depth:
            break
    return tuple(places[:depth])


def order_figures(
    order: Sequence[RankedUnit], evidence: Sequence[EvidenceRef], corpus: Mapping[str, str]
) -> OrderFigures:
    """All that is counted of one order. Shares are of what was returned; an order without units scores 0 in each."""
    top = order[:DEPTH]
    places = hit_places(top, evidence)
    soon = sum(place != MISS for place in places[:_FEW])
    confirmed, resources = {(one.resource_id, one.unit_key) for one in evidence}, {one.resource_id for one in evidence}
    judged = sum(unit.resource_id in resources and not confirmed.isdisjoint(_names(unit)) for unit in top[:_JUDGED])
    frozen = [corpus.get(unit.resource_id) for unit in top]
    outside = frozen.count(None)
    stale = sum(
        known is not None and unit.resource_hash is not None and known != unit.resource_hash
        for unit, known in zip(top, frozen, strict=True)
    )
    beside = (
        float(soon > 0),
        float(soon == len(evidence)),
        _share(judged, len(top[:_JUDGED])),
        float(not top),
        _share(len({unit.resource_id for unit in top}), len(top)),
        _share(outside, len(top)),
        _share(stale, len(top)),
    )
    return OrderFigures(places, beside, outside, stale)


def survival(evidence: Sequence[EvidenceRef], fragments: Iterable[tuple[str, str]]) -> float:
    """The share of the evidence that is still there in (unit_key, resource_id) of the fragments."""
    kept = {name for unit_key, resource_id in fragments for name in ((resource_id, unit_key), (resource_id, None))}
    return _share(sum((one.resource_id, one.unit_key) in kept for one in evidence), len(evidence))


def _names(unit: RankedUnit) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    return (unit.resource_id, unit.unit_key), (unit.resource_id, None)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
