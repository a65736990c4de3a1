"""The candidates of a run in the order of any column. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workbench.core.candidate import Candidate


class Column(StrEnum):
    """What the table of candidates can be sorted by."""

    FINAL = "final"
    PATH = "path"
    EXACT = "exact"
    BM25 = "bm25"
    VECTOR = "vector"
    RRF = "rrf"
    RERANK = "rerank"
    TOKENS = "tokens"
    OUTCOME = "outcome"


def outcome(candidate: Candidate) -> str:
    """What became of a candidate: the reason why it was dropped, or that it was not."""
    return str(candidate.exclusion_reason or candidate.disposition)


_KEYS: dict[Column, Callable[[Candidate], Any]] = {
    Column.FINAL: lambda one: one.final_rank,
    Column.PATH: lambda one: one.path,
    Column.EXACT: lambda one: one.exact_rank,
    Column.BM25: lambda one: one.bm25_rank,
    Column.VECTOR: lambda one: one.vector_rank,
    Column.RRF: lambda one: one.rrf_rank,
    Column.RERANK: lambda one: one.rerank_rank,
    Column.TOKENS: lambda one: one.token_count,
    Column.OUTCOME: outcome,
}


@dataclass(frozen=True, slots=True)
class Sort:
    """By which column, and whether what is greatest stands first."""

    column: Column = Column.FINAL
    descending: bool = False

    def by(self, column: Column) -> Sort:
        """By this column; by the same one, the other way round."""
        return Sort(column, column is self.column and not self.descending)


def sorted_candidates(candidates: Sequence[Candidate], sort: Sort) -> tuple[Candidate, ...]:
    """All of them; what the column has no value of stands last either way, and ties stand in final order."""
    key = _KEYS[sort.column]
    in_order = sorted(candidates, key=lambda one: one.final_rank)
    valued = [one for one in in_order if key(one) is not None]
    valued.sort(key=key, reverse=sort.descending)
    return (*valued, *(one for one in in_order if key(one) is None))


FINAL_ORDER = Sort()
