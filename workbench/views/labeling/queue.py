"""The runs that can be labelled: what is known of each, which of them are shown, and which one is next. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from workbench.core.candidate import Candidate
from workbench.core.case import CaseState
from workbench.core.hashing import sha256_hex

DISAGREEMENT = 0.5
"""From this share on, arms count as disagreeing: of their first ten they share less than a half."""


class Standing(StrEnum):
    """Where a run stands for the person who labels."""

    OPEN = "open"
    SKIPPED = "skipped"
    READY = "ready"
    NEEDS_EVIDENCE = "needs_evidence"


class Order(StrEnum):
    """How candidates are shown; `blind`: shuffled, without ranks, scores and reasons."""

    FINAL = "final"
    BM25 = "bm25"
    VECTOR = "vector"
    RRF = "rrf"
    RERANK = "rerank"
    BLIND = "blind"


_RANKS: dict[Order, Callable[[Candidate], int | None]] = {
    Order.FINAL: lambda one: one.final_rank,
    Order.BM25: lambda one: one.bm25_rank,
    Order.VECTOR: lambda one: one.vector_rank,
    Order.RRF: lambda one: one.rrf_rank,
    Order.RERANK: lambda one: one.rerank_rank,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run of the queue. state: its case's, None without a case. disagreement: 0 to 1; None with one arm only."""

    run_id: str
    project_id: str
    query: str
    candidates: int
    disagreement: float | None = None
    state: CaseState | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown. standing None: any; project empty: any; the two switches narrow further."""

    standing: Standing | None = Standing.OPEN
    project: str = ""
    zero_hits: bool = False
    disagreeing: bool = False


WAITING = Filter()
"""What is shown unless somebody chooses: the runs that wait for a decision."""


class Skippable(Protocol):
    """What is looked at of a draft."""

    @property
    def skipped(self) -> bool: ...


def standing(row: Row, drafts: Mapping[str, Skippable]) -> Standing:
    """A decision that is stored comes before a skip."""
    if row.state is CaseState.READY:
        return Standing.READY
    if row.state is CaseState.NEEDS_EVIDENCE:
        return Standing.NEEDS_EVIDENCE
    draft = drafts.get(row.run_id)
    return Standing.SKIPPED if draft is not None and draft.skipped else Standing.OPEN


def standings(rows: Sequence[Row], drafts: Mapping[str, Skippable]) -> dict[Standing, int]:
    """How many rows stand where; together they are all rows."""
    counted = Counter(standing(row, drafts) for row in rows)
    return {one: counted[one] for one in Standing}


def shown_rows(rows: Sequence[Row], chosen: Filter, drafts: Mapping[str, Skippable]) -> tuple[Row, ...]:
    """The rows that a filter lets through, in their order."""
    return tuple(row for row in rows if _passes(row, chosen) and chosen.standing in (None, standing(row, drafts)))


def next_open(rows: Sequence[Row], chosen: Filter, drafts: Mapping[str, Skippable], after: str) -> Row | None:
    """The next row behind `after` that the filter shows: one that waits, begun anew at the end of the queue.

    A filter for rows that do not wait is for looking through them: then the next one, and none behind the last.
    """
    waiting = chosen.standing in (None, Standing.OPEN)
    place = next((place for place, row in enumerate(rows) if row.run_id == after), -1)
    ahead = [*rows[place + 1 :], *(rows[: max(place, 0)] if waiting else ())]
    shown = shown_rows(ahead, chosen, drafts)
    return next((row for row in shown if not waiting or standing(row, drafts) is Standing.OPEN), None)


def candidate_order(candidates: Sequence[Candidate], order: Order, seed: int, run_id: str) -> tuple[Candidate, ...]:
    """All candidates in an order; those that a stage did not rank stand behind, as they came.

    `blind` depends on the seed, the run and the units only: it says nothing about any rank.
    """
    if order is Order.BLIND:
        return tuple(sorted(candidates, key=lambda one: sha256_hex(f"{seed}\x1f{run_id}\x1f{one.unit_key}")))
    rank = _RANKS[order]
    return tuple(sorted(candidates, key=lambda one: (rank(one) is None, rank(one) or 0, one.final_rank)))


def _passes(row: Row, chosen: Filter) -> bool:
    return (
        chosen.project in ("", row.project_id)
        and (not chosen.zero_hits or row.candidates == 0)
        and (not chosen.disagreeing or (row.disagreement is not None and row.disagreement >= DISAGREEMENT))
    )
