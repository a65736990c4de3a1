"""The means of a report while its cases are still being confirmed: a changed case is read again, all others are kept.

No intervals and no tests: those are the report's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.core.case import CaseState
from workbench.evaluation.benchmark import Variant, measured_variants, variant_order
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.hits import hit_places
from workbench.evaluation.judged import judged_runs
from workbench.evaluation.metrics import METRICS, score_places
from workbench.evaluation.sets import Selection
from workbench.storage.central_store import CentralStore


class GrowingMeans(NamedTuple):
    """cases: how many are ready; means: order -> metric -> mean over them, for the orders whose stage worked at all."""

    cases: int
    means: Mapping[Variant, Mapping[str, float]]


class _Placed(NamedTuple):
    evidence: int
    places: Mapping[Variant, tuple[int, ...]]
    measured: frozenset[Variant]


class GrowingReport:
    """The ready cases of a selection as far as they were read."""

    def __init__(self, store: CentralStore, cases: CaseBook, selection: Selection) -> None:
        self._store, self._cases, self._selection = store, cases, selection
        self._placed: dict[tuple[str, int], _Placed] = {}

    def means(self) -> GrowingMeans:
        """The means over what is ready now, whoever decided it."""
        chosen = None if self._selection.case_ids is None else frozenset(self._selection.case_ids)
        cases = self._cases.list(self._selection.project_ids, {CaseState.READY})
        ready = {one.case_id: one.version for one in cases if chosen is None or one.case_id in chosen}
        kept = {key: self._placed[key] for key in ready.items() if key in self._placed}
        new = [case_id for case_id, version in ready.items() if (case_id, version) not in kept]
        for run in judged_runs(self._store, new):
            places = {variant: hit_places(variant_order(run.ranked, variant), run.evidence) for variant in Variant}
            kept[run.case_id, ready[run.case_id]] = _Placed(len(run.evidence), places, measured_variants(run.ranked))
        self._placed = kept
        measured = set[Variant]().union(*(case.measured for case in kept.values()))
        return GrowingMeans(len(kept), {variant: self._mean(variant) for variant in Variant if variant in measured})

    def _mean(self, variant: Variant) -> dict[str, float]:
        cases = list(self._placed.values())
        scores = score_places([case.evidence for case in cases], [case.places[variant] for case in cases])
        return {metric: float(scores[metric].mean()) for metric in METRICS}
