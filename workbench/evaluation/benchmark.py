"""One trace, four orders: what each stage alone would have put first. Never retrieves anything."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, TypeVar

_LAST = 1 << 30


class Variant(StrEnum):
    """The four orders of the benchmark."""

    BM25 = "b1_bm25"
    DENSE = "b2_dense_vector"
    RRF = "b3_hybrid_rrf"
    RERANKED = "b4_reranked"


class Ranked(Protocol):
    """A unit with the ranks that the stages gave it; one without `rrf_rank` was not kept by fusion."""

    @property
    def unit_key(self) -> str: ...
    @property
    def resource_id(self) -> str: ...


R = TypeVar("R", bound=Ranked)

_RANKS = {
    Variant.BM25: ("exact_rank", "bm25_rank"),
    Variant.DENSE: ("vector_rank", "vector_rank"),
    Variant.RRF: ("rrf_rank", "rrf_rank"),
    Variant.RERANKED: ("rerank_rank", "rrf_rank"),
}


def variant_order(units: Iterable[R], variant: Variant) -> tuple[R, ...]:
    """Units in a variant's order; a unit that the variant's stage did not rank is not in it.

    `b1_bm25`: exact identity rank first, then BM25 rank. `b4_reranked`: rerank rank, then RRF rank behind it. The
    single arms also hold what fusion did not keep. Ties by `unit_key`.
    """
    first, second = _RANKS[variant]
    ranked = [
        (leading if leading is not None else _LAST, behind if behind is not None else _LAST, unit.unit_key, unit)
        for unit in units
        for leading, behind in [(getattr(unit, first, None), getattr(unit, second, None))]
        if leading is not None or behind is not None
    ]
    return tuple(unit for *_, unit in sorted(ranked, key=lambda row: row[:3]))


def resource_order(units: Iterable[Ranked]) -> tuple[str, ...]:
    """The distinct resources of ranked units, each at the place of its first unit."""
    return tuple(dict.fromkeys(unit.resource_id for unit in units))
