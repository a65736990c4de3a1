"""Pictures of runs: how candidates move between the stages, what filled the budgets, where the time goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.candidate import Candidate, Disposition
from workbench.core.run import RunRecord
from workbench.core.text import one_line
from workbench.views.plots.look import GREY, HATCHES, INK, PALETTE, PAPER, canvas, described, house_style
from workbench.views.tables import stage_times_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.evaluation.statistics import Values

OTHER, VISIBLE_SHARE = "other", 0.02
_LABEL_CHARS = 44
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
    axes.set_title(f"Rank by stage: {one_line(record.summary.query, 72)}")
    kept = sum(one.disposition is Disposition.SELECTED for one in shown)
    words = f"Ranks of the first {len(shown)} candidates for {record.summary.query!r} at each stage; {kept} were kept."
    return described(figure, words)


@house_style()
def budget_bars(records: Sequence[RunRecord]) -> Figure:
    """What each run spent of its tokens: one piece a fragment, in final order, up to the budget's mark.

    Beside it what did not get in, by reason. A run that did not succeed has an empty bar.
    """
    figure, axes = canvas(0.5 * max(len(records), 2) + 1.2)
    for place, record in enumerate(records):
        _draw_budget(axes, place, record)
    axes.set_yticks(range(len(records)), [one_line(one.summary.query, _LABEL_CHARS) for one in records])
    axes.set_ylim(max(len(records), 1) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.margins(x=0.45)
    axes.set_xlabel("tokens")
    axes.set_title("Budget by run: a piece is a fragment, the mark is the budget")
    return described(
        figure, " ".join(["Tokens by run.", *(f"{one.summary.query!r}: {_spent(one)}." for one in records)])
    )


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
    axes.set_yticks(range(len(table)), [one_line(query, _LABEL_CHARS) for query in table.index])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title("Time by stage")
    if len(table):
        figure.legend(loc="outside lower center", ncols=min(len(table.columns), 7))
    longest = f" Most of it: {table.sum().idxmax()}." if len(table) else ""
    return described(figure, f"Milliseconds that each stage took in {len(table)} activations.{longest}")


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
    edge = max(start, budget.budget_tokens if budget else 0)
    axes.annotate(_spent(record), (edge, place), xytext=(8, 0), textcoords="offset points", va="center", fontsize=8)


def _spent(record: RunRecord) -> str:
    budget = record.summary.budget
    if budget is None:
        return f"{record.summary.state}, nothing handed out"
    reasons = Counter(one.exclusion_reason for one in record.trace.candidates if one.exclusion_reason is not None)
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    used = (
        f"{budget.tokens} of {budget.budget_tokens} tokens, {budget.fragments} of {budget.budget_fragments} fragments"
    )
    return f"{used}\ndropped: {dropped}" if dropped else used


def _filling(stage: str, position: int) -> dict[str, Any]:
    if stage == OTHER:
        return {"color": GREY}
    again, place = divmod(position, len(PALETTE))
    return {"color": PALETTE[place], "hatch": HATCHES[again % len(HATCHES)]}


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
        one_line(label, _LABEL_CHARS) + became,
        points[-1],
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK if kept else GREY,
    )
