"""The wire form of a finished activation: result and trace are made from the same values. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from workbench.core.activation import ActivationRequest, ActivationResult, BudgetUse, Fragment, IndexState
from workbench.core.candidate import DeltaAction, ExclusionReason
from workbench.core.resource import SnapshotRef
from workbench.core.run import RecalledUnit, Trace
from workbench.retrieval.candidates import candidate_of
from workbench.retrieval.context_state import encode_state
from workbench.retrieval.delta import Delta
from workbench.retrieval.rerank import Ordered
from workbench.retrieval.work import Work
from workbench.storage.index_records import IndexedUnit, Revision


@dataclass(frozen=True, slots=True)
class Activation:
    """One finished activation. `result.run_id` is null: recording it is the caller's part."""

    result: ActivationResult
    trace: Trace


@dataclass(frozen=True, slots=True)
class Chosen:
    """Candidates in final order with the reason against each (aligned; None for a selected one)."""

    ordered: Ordered
    reasons: Sequence[ExclusionReason | None]

    @property
    def units(self) -> list[IndexedUnit]:
        """The selected units in final order."""
        pairs = zip(self.ordered.ranked, self.reasons, strict=True)
        return [one.unit for one, reason in pairs if reason is None]


def trace_of(chosen: Chosen, change: Delta, fused_out: tuple[RecalledUnit, ...]) -> Trace:
    """Every fused candidate with its fate."""
    pairs = zip(chosen.ordered.ranked, chosen.reasons, strict=True)
    candidates = (
        candidate_of(one, rank, reason, change.actions[one.unit.unit_key] if reason is None else None)
        for rank, (one, reason) in enumerate(pairs, start=1)
    )
    return Trace(candidates=tuple(candidates), fused_out=fused_out)


def result_of(
    request: ActivationRequest, work: Work, index: IndexState, revision: Revision, chosen: Chosen, change: Delta
) -> ActivationResult:
    """The answer. Budgets count every fragment, also one whose text is left out: it fills the context all the same."""
    limits = work.limits
    return ActivationResult(
        request_key=request.request_key or uuid4().hex,
        fragments=tuple(_fragment(unit, change.actions[unit.unit_key]) for unit in chosen.units),
        remove=change.remove,
        state=encode_state(revision.project_id, change.units),
        run_id=None,
        index=index,
        ordering=chosen.ordered.ordering,
        degradations=tuple(work.notes),
        budget=BudgetUse(
            fragments=len(chosen.units),
            tokens=sum(unit.token_count for unit in chosen.units),
            budget_fragments=limits.fragments,
            budget_tokens=limits.budget_tokens,
            token_counter=revision.token_counter,
        ),
        stage_us=dict(work.stages.elapsed_us),
    )


def index_state(revision: Revision, current: SnapshotRef | None, building_miv: str | None) -> IndexState:
    """Which revision answered, and whether the memory has moved on since. current: None when nobody looked."""
    newest = building_miv or (current.miv if current else revision.miv)
    return IndexState(
        revision=revision.revision_id,
        miv=revision.miv,
        arms=revision.arms,
        engine=revision.engine_name,
        stale=newest != revision.miv,
        building_miv=building_miv,
    )


def _fragment(unit: IndexedUnit, action: DeltaAction) -> Fragment:
    return Fragment(
        unit_key=unit.unit_key,
        content_hash=unit.content_hash,
        resource_id=unit.resource_id,
        scope=unit.scope,
        kind=unit.kind,
        path=unit.path,
        heading_path=unit.heading_path,
        text=None if action is DeltaAction.REUSE else unit.text,
        tokens=unit.token_count,
        delta_action=action,
    )
