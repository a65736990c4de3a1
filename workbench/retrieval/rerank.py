"""The cross-encoder's say over the first candidates: it may only reorder what it was given.

Any failure leaves the RRF order and says why. Its languages are known: a query outside them is not reranked, a
candidate outside them keeps its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.core.activation import DegradationNote, Ordering
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import WorkbenchError
from workbench.core.resource import Status
from workbench.models.base import Reranker
from workbench.retrieval.candidates import Ranked
from workbench.retrieval.degradation import Degraded, PartOff
from workbench.retrieval.loading import is_ready
from workbench.storage.index_records import IndexedUnit

SERVED = "the candidates are in RRF order"


@dataclass(frozen=True, slots=True)
class Ordered:
    """Candidates in final order. window: the unit keys that the reranker was asked about; empty when it did not run."""

    ranked: tuple[Ranked, ...]
    ordering: Ordering
    window: frozenset[str]
    notes: tuple[DegradationNote, ...]


def rrf_order(ranked: Sequence[Ranked], *notes: DegradationNote) -> Ordered:
    """The order without a reranker."""
    return Ordered(tuple(ranked), Ordering.RRF, frozenset(), notes)


def rerank(
    reranker: Reranker, query: str, ranked: Sequence[Ranked], window: int, deadline: Deadline, *, patient: bool
) -> Ordered:
    """The first `window` current candidates by falling score (ties by RRF rank), the others behind in RRF order."""
    first = [one for one in ranked if one.status is Status.CURRENT][:window]
    if not first:
        return rrf_order(ranked)
    try:
        able = _able(reranker, query, first, deadline, patient=patient)
        return _reordered(ranked, first, able, _scores(reranker, query, able, deadline))
    except PartOff as off:
        return rrf_order(ranked, off.note)
    except DeadlinePassed:
        return rrf_order(ranked, Degraded.RERANK_TIMEOUT.note(SERVED))
    except WorkbenchError as error:
        return rrf_order(ranked, Degraded.RERANK_UNAVAILABLE.note(f"{error.message} {SERVED}"))


def _able(
    reranker: Reranker, query: str, first: Sequence[Ranked], deadline: Deadline, *, patient: bool
) -> list[Ranked]:
    """The candidates that the reranker can read. Raises: `PartOff` when there is none, `DeadlinePassed`."""
    deadline.check()
    if not is_ready(reranker, deadline, patient=patient):
        raise PartOff(Degraded.MODEL_PREPARING, f"reranker: {SERVED}")
    if not reranker.supports(query):
        raise PartOff(Degraded.RERANK_LANGUAGE, f"query: {SERVED}")
    able = [one for one in first if reranker.supports(one.unit.text)]
    if not able:
        raise PartOff(Degraded.RERANK_LANGUAGE, f"every candidate: {SERVED}")
    return able


def _scores(reranker: Reranker, query: str, able: Sequence[Ranked], deadline: Deadline) -> list[float]:
    scores = reranker.score(query, [reranker_text(one.unit) for one in able], deadline)
    if len(scores) != len(able) or not all(map(math.isfinite, scores)):
        raise PartOff(Degraded.RERANK_INVALID, SERVED)
    return scores


def reranker_text(unit: IndexedUnit) -> str:
    """What the cross-encoder reads of a unit: title and headings on one line, then the text."""
    names = dict.fromkeys((unit.title, *unit.heading_path))
    return " > ".join(name for name in names if name) + "\n" + unit.text


def _reordered(
    ranked: Sequence[Ranked], first: Sequence[Ranked], able: Sequence[Ranked], scores: Sequence[float]
) -> Ordered:
    by_score = sorted(zip(able, scores, strict=True), key=lambda one: (-one[1], one[0].rrf_rank))
    scored = iter([replace(one, rerank=(rank, score)) for rank, (one, score) in enumerate(by_score, start=1)])
    able_keys = {one.unit.unit_key for one in able}
    asked = frozenset(one.unit.unit_key for one in first)
    head = [next(scored) if one.unit.unit_key in able_keys else one for one in first]
    tail = [one for one in ranked if one.unit.unit_key not in asked]
    outside = len(first) - len(able)
    notes = (Degraded.RERANK_LANGUAGE.note(f"{outside} candidates keep their place"),) if outside else ()
    return Ordered((*head, *tail), Ordering.CROSS_ENCODER, asked, notes)
