"""Pictures of runs: how candidates move between the stages, what filled the budgets, where the time goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from workbench.core.candidate import Candidate, Disposition
from workbench.core.run import RunRecord
from workbench.core.text import counted
from workbench.views.plots.look import (
    GREY,
    HATCHES,
    INK,
    PALETTE,
    PAPER,
    canvas,
    described,
    house_style,
    left_blank,
    shortened,
)
from workbench.views.tables import stage_times_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.evaluation.statistics import Values

OTHER, VISIBLE_SHARE = "other", 0.02
_LABEL_COLUMNS, _QUERY_COLUMNS, _TITLE_COLUMNS = 44, 32, 72
_NOTE_SHARE, _NOTE_COLUMNS = 0.85, 46
"""How much room what is said behind the bars has, in lengths of the longest."""
_Stage = tuple[str, Callable[[Candidate], int | None]]
_STAGES: tuple[_Stage, ...] = (
    ("BM25", lambda candidate: candidate.bm25_rank),
    ("dense", lambda candidate: candidate.vector_rank),
    ("RRF", lambda candidate: candidate.rrf_rank),
    ("rerank", lambda candidate: candidate.rerank_rank),
    ("final", lambda candidate: candidate.final_rank),
)


@house_style()
def rank_movement(record: RunRecord, *, first: int = 20) -> Figure:
    """The ranks of the `first` candidates through the stages, rank 1 on top.

    A coloured line became a fragment, a grey one was dropped. A candidate that a stage did not see has no point there.
    Stages that saw no candidate at all are left out; ranks deeper than the last final one stand closer together.
    """
    shown = record.trace.candidates[:first]
    stages = [(name, rank) for name, rank in _STAGES if any(rank(one) is not None for one in shown)]
    figure, axes = canvas(0.3 * max(len(shown), 6) + 1.2)
    for position, candidate in enumerate(shown):
        _draw_path(axes, candidate, stages, PALETTE[position % len(PALETTE)])
    axes.set_xticks(range(len(stages)), [name for name, _ in stages])
    axes.set_xlim(-0.2, max(len(stages) - 1, 0) + 1.8)
    ranks = [rank for one in shown for _, of in stages if (rank := of(one)) is not None]
    _squeeze(axes, max(len(shown), 6), max(ranks, default=1))
    axes.set_ylabel("rank")
    axes.set_title(f"Rank by stage: {shortened(record.summary.query, _TITLE_COLUMNS)}")
    kept = sum(one.disposition is Disposition.SELECTED for one in shown)
    query = shortened(record.summary.query, _TITLE_COLUMNS)
    if not shown:
        left_blank(axes, "No candidate.")
        return described(figure, f"Ranks by stage for {query!r}: No candidate.")
    front = ", ".join(shortened(one.path, _LABEL_COLUMNS) for one in shown[:3])
    words = f"Ranks of the first {counted(len(shown), 'candidate')} for {query!r} at each stage; {kept} kept."
    return described(figure, f"{words} In front: {front}.")


@house_style()
def budget_bars(records: Sequence[RunRecord]) -> Figure:
    """What each run spent of its tokens: one piece a fragment, in final order, up to the budget's mark.

    Beside it what did not get in, by reason. A run that did not succeed has an empty bar.
    """
    figure, axes = canvas(0.5 * max(len(records), 2) + 1.2)
    for place, record in enumerate(records):
        _draw_budget(axes, place, record)
    axes.set_yticks(range(len(records)), [shortened(one.summary.query, _QUERY_COLUMNS) for one in records])
    axes.set_ylim(max(len(records), 1) - 0.4, -0.6)
    axes.set_xlim(0, (1 + _NOTE_SHARE) * max(map(_extent, records), default=1))
    axes.set_xlabel("tokens")
    axes.set_title("Budget by run: a piece is a fragment, the mark is the budget")
    if not records:
        left_blank(axes, "No run.")
    said = [f"{shortened(one.summary.query, _TITLE_COLUMNS)!r}: {_spent(one, '; ')}." for one in records]
    return described(figure, " ".join(["Tokens by run.", *(said or ["No run."])]))


@house_style()
def stage_times(records: Sequence[RunRecord]) -> Figure:
    """Milliseconds of each stage, stacked in pipeline order, one bar a run."""
    table = _long_stages(stage_times_table(records).fillna(0.0))
    figure, axes = canvas(0.5 * max(len(table), 2) + 1.6)
    left = [0.0] * len(table)
    for position, stage in enumerate(table.columns):
        widths = table[stage].tolist()
        axes.barh(range(len(table)), widths, left=left, label=stage, edgecolor=PAPER, **_filling(stage, position))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(table)), [shortened(query, _QUERY_COLUMNS) for query in table.index])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title("Time by stage")
    if not len(table):
        left_blank(axes, "No run.")
        return described(figure, "Milliseconds that each stage took: No run.")
    figure.legend(loc="outside lower center", ncols=min(len(table.columns), 7), handlelength=3, handleheight=1.2)
    sums = table.sum()
    words = f"Milliseconds that each stage took in {counted(len(table), 'activation')}."
    return described(figure, f"{words} Most of it: {sums.idxmax()}, {sums.max():.1f} of {sums.sum():.1f} ms.")


def _squeeze(axes: Axes, deep: int, deepest: int) -> None:
    """Rank 1 on top; ranks beyond `deep` take a quarter of the room, so that the labels above keep theirs."""
    import numpy as np

    def down(rank: Values) -> Values:
        return np.where(rank <= deep, rank, deep + (rank - deep) / 4)

    def up(place: Values) -> Values:
        return np.where(place <= deep, place, deep + (place - deep) * 4)

    axes.set_yscale("function", functions=(down, up))
    axes.set_yticks([1, *range(5, deep + 1, 5), *range(20 * (deep // 20 + 1), deepest + 1, 20)])
    axes.set_ylim(max(deepest, deep) + 1, 0.3)


def _draw_budget(axes: Axes, place: int, record: RunRecord) -> None:
    start = 0
    for number, fragment in enumerate(record.fragments):
        colour = PALETTE[number % len(PALETTE)]
        axes.barh(place, fragment.tokens, left=start, color=colour, edgecolor=PAPER, height=0.6)
        start += fragment.tokens
    budget = record.summary.budget
    if budget is not None:
        axes.plot([budget.budget_tokens] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=2)
    words = "\n".join(fill(line, _NOTE_COLUMNS) for line in _spent(record, "\n").splitlines())
    edge = (_extent(record), place)
    axes.annotate(words, edge, xytext=(8, 0), textcoords="offset points", va="center", fontsize=8)


def _extent(record: RunRecord) -> int:
    """How far a bar or its mark goes; 1 at least."""
    budget = record.summary.budget
    return max(sum(one.tokens for one in record.fragments), budget.budget_tokens if budget else 1)


def _spent(record: RunRecord, between: str) -> str:
    budget = record.summary.budget
    if budget is None:
        return f"{record.summary.state}, nothing handed out"
    reasons = Counter(one.exclusion_reason for one in record.trace.candidates if one.exclusion_reason is not None)
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    used = (
        f"{budget.tokens} of {budget.budget_tokens} tokens, {budget.fragments} of {budget.budget_fragments} fragments"
    )
    return f"{used}{between}dropped: {dropped}" if dropped else used


def _filling(stage: str, position: int) -> dict[str, Any]:
    if stage == OTHER:
        return {"color": GREY, "hatch": "xxxx"}
    again, place = divmod(position, len(PALETTE))
    return {"color": PALETTE[place], "hatch": HATCHES[(place + again) % len(HATCHES)]}


def _long_stages(table: pd.DataFrame) -> pd.DataFrame:
    """The stages that take a visible part of some run, in pipeline order; the others as one behind them."""
    visible = table.columns[(table.max() >= VISIBLE_SHARE * table.sum(axis=1).max()).to_numpy()]
    kept = table[visible].copy()
    kept[OTHER] = table.drop(columns=visible).sum(axis=1)
    return kept


def _draw_path(axes: Axes, candidate: Candidate, stages: Sequence[_Stage], colour: str) -> None:
    points = [(place, rank) for place, (_, of) in enumerate(stages) if (rank := of(candidate)) is not None]
    kept = candidate.disposition is Disposition.SELECTED
    colour, width = (colour, 2.0) if kept else (GREY, 0.8)
    axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, linewidth=width)
    label = f"{candidate.path} {candidate.heading_path[-1] if candidate.heading_path else ''}"
    became = "" if kept else f" ({candidate.exclusion_reason})"
    axes.annotate(
        shortened(label, _LABEL_COLUMNS) + became,
        points[-1],
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK if kept else GREY,
    )
