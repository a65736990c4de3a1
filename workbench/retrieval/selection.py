"""Which candidates become fragments: walks the final order once and gives each candidate its fate.

Order is never changed here: `final_rank` decides who comes first under every budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workbench.core.activation import Ordering
from workbench.core.candidate import ExclusionReason
from workbench.core.deadline import Deadline
from workbench.core.limits import Limits
from workbench.core.resource import Status
from workbench.retrieval.candidates import Ranked
from workbench.retrieval.overlap import Wording, repeats
from workbench.retrieval.rerank import Ordered
from workbench.storage.index_records import IndexedUnit

BlockReader = Callable[[IndexedUnit], bytes | None]
"""The unit's bytes on disk; None when they are no longer what the revision indexed."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What selection goes by. threshold: calibrated for the reranker that ran, else None; block_reader: None if no
    verified block was asked for."""

    limits: Limits
    deadline: Deadline
    threshold: float | None = None
    block_reader: BlockReader | None = None


@dataclass(slots=True)
class _Basket:
    wordings: list[Wording] = field(default_factory=list)
    per_resource: Counter[str] = field(default_factory=Counter)
    tokens: int = 0

    def add(self, wording: Wording) -> None:
        self.wordings.append(wording)
        self.per_resource[wording.unit.resource_id] += 1
        self.tokens += wording.unit.token_count


def select(ordered: Ordered, rules: Rules) -> list[ExclusionReason | None]:
    """Why each candidate is left out, aligned with `ordered.ranked`; None for a selected one.

    The first reason that holds counts, in the order of `ExclusionReason`.
    """
    basket = _Basket()
    reasons: list[ExclusionReason | None] = []
    for one in ordered.ranked:
        wording = Wording(one.unit)
        reason = next(_reasons(one, wording, ordered, rules, basket), None)
        if reason is None:
            basket.add(wording)
        reasons.append(reason)
    return reasons


def _reasons(
    one: Ranked, wording: Wording, ordered: Ordered, rules: Rules, basket: _Basket
) -> Iterator[ExclusionReason]:
    """Every reason that holds, computed only as far as it is asked for."""
    unit, limits = one.unit, rules.limits
    if one.status is not Status.CURRENT:
        yield ExclusionReason.NOT_CURRENT
    if rules.block_reader is not None and rules.block_reader(unit) is None:
        yield ExclusionReason.SNAPSHOT_MISMATCH
    if rules.deadline.passed:
        yield ExclusionReason.DEADLINE
    if ordered.ordering is Ordering.CROSS_ENCODER and unit.unit_key not in ordered.window:
        yield ExclusionReason.NOT_RERANKED
    if rules.threshold is not None and one.rerank is not None and (one.rerank[1] or 0.0) < rules.threshold:
        yield ExclusionReason.BELOW_RELEVANCE
    if any(repeats(wording, selected) for selected in basket.wordings):
        yield ExclusionReason.OVERLAP
    if basket.per_resource[unit.resource_id] >= limits.per_resource:
        yield ExclusionReason.RESOURCE_CAP
    if len(basket.wordings) >= limits.fragments:
        yield ExclusionReason.FRAGMENT_CAP
    if basket.tokens + unit.token_count > limits.budget_tokens:
        yield ExclusionReason.TOKEN_BUDGET
