"""One trace, four orders: what each stage alone would have put first. Never retrieves anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from operator import attrgetter, itemgetter

from workbench.evaluation.judged import RankedUnit

_LAST = 1 << 30


class Variant(StrEnum):
    """The four orders of the benchmark."""

    BM25 = "b1_bm25"
    DENSE = "b2_dense_vector"
    RRF = "b3_hybrid_rrf"
    RERANKED = "b4_reranked"


_RANKS: dict[Variant, Callable[[RankedUnit], tuple[int | None, int | None]]] = {
    Variant.BM25: attrgetter("exact_rank", "bm25_rank"),
    Variant.DENSE: attrgetter("vector_rank", "vector_rank"),
    Variant.RRF: attrgetter("rrf_rank", "rrf_rank"),
    Variant.RERANKED: attrgetter("rerank_rank", "rrf_rank"),
}


_STAGES = ((Variant.DENSE, attrgetter("vector_rank")), (Variant.RERANKED, attrgetter("rerank_rank")))
"""The orders whose stage need not have worked, by the rank that it gives."""


def measured_variants(units: Sequence[RankedUnit]) -> frozenset[Variant]:
    """The orders whose stage ranked any of these units; lexical recall and fusion always count."""
    worked = {variant for variant, rank in _STAGES if any(rank(unit) is not None for unit in units)}
    return frozenset({Variant.BM25, Variant.RRF} | worked)


def variant_order(units: Sequence[RankedUnit], variant: Variant) -> tuple[RankedUnit, ...]:
    """Units in a variant's order; a unit that the variant's stage did not rank is not in it.

    `b1_bm25`: exact identity rank first, then BM25 rank. `b4_reranked`: rerank rank, then RRF rank behind it. The
    single arms also hold what fusion did not keep. Ties by `unit_key`.
    """
    ranked = [
        (_LAST if first is None else first, _LAST if second is None else second, unit.unit_key, unit)
        for unit, (first, second) in zip(units, map(_RANKS[variant], units), strict=True)
        if not (first is None and second is None)
    ]
    return tuple(map(itemgetter(3), sorted(ranked, key=itemgetter(0, 1, 2))))


def resource_order(units: Iterable[RankedUnit]) -> tuple[str, ...]:
    """The distinct resources of ranked units, each at the place of its first unit."""
    return tuple(dict.fromkeys(unit.resource_id for unit in units))
