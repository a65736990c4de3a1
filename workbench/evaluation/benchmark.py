"""One trace, four orders: what each stage alone would have put first. Never retrieves anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from workbench.core.candidate import Candidate
from workbench.core.run import RecalledUnit, Trace

Recalled = Candidate | RecalledUnit
_LAST = 1 << 30


class Variant(StrEnum):
    """The four orders of the benchmark."""

    BM25 = "b1_bm25"
    DENSE = "b2_dense_vector"
    RRF = "b3_hybrid_rrf"
    RERANKED = "b4_reranked"


def variant_order(trace: Trace, variant: Variant) -> tuple[Recalled, ...]:
    """The units of a trace in a variant's order; a unit that the variant's stage did not rank is not in it.

    `b1_bm25`: exact identity rank first, then BM25 rank. `b4_reranked`: rerank rank, then RRF rank behind it. The
    single arms also hold what fusion did not keep. Ties by `unit_key`.
    """
    members, key = _ORDERS[variant]
    ranked = [(key(unit), unit.unit_key, unit) for unit in members(trace)]
    return tuple(unit for rank, _, unit in sorted(ranked, key=lambda row: row[:2]) if rank < (_LAST, _LAST))


def resource_order(units: Iterable[Recalled]) -> tuple[str, ...]:
    """The distinct resources of ranked units, each at the place of its first unit."""
    return tuple(dict.fromkeys(unit.resource_id for unit in units))


def _all_recalled(trace: Trace) -> tuple[Recalled, ...]:
    return (*trace.candidates, *trace.fused_out)


def _fused(trace: Trace) -> tuple[Candidate, ...]:
    return trace.candidates


def _ranks(*names: str) -> Callable[[Recalled], tuple[int, int]]:
    def key(unit: Recalled) -> tuple[int, int]:
        first, second = (getattr(unit, name) for name in names)
        return (first if first is not None else _LAST, second if second is not None else _LAST)

    return key


_ORDERS: dict[Variant, tuple[Callable[[Trace], tuple[Recalled, ...]], Callable[[Recalled], tuple[int, int]]]] = {
    Variant.BM25: (_all_recalled, _ranks("exact_rank", "bm25_rank")),
    Variant.DENSE: (_all_recalled, _ranks("vector_rank", "vector_rank")),
    Variant.RRF: (_fused, _ranks("rrf_rank", "rrf_rank")),
    Variant.RERANKED: (_fused, _ranks("rerank_rank", "rrf_rank")),
}
