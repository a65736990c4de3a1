"""Pictures shared by the notebooks: how candidates move between the stages, and where the time goes.

Every function takes values and returns a matplotlib figure; nothing is shown or saved here. Colours are Okabe and
Ito's: told apart by colour-blind people, readable on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.core.candidate import Candidate, Disposition
from workbench.core.run import RunRecord
from workbench.core.text import one_line
from workbench.views.tables import stage_times_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, YELLOW, SKY, VERMILION, PINK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#F0E442",
    "#56B4E9",
    "#D55E00",
    "#CC79A7",
)
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW)
GREY = "#8A8A8A"
_LABEL_CHARS = 44

_STAGES: tuple[tuple[str, Callable[[Candidate], int | None]], ...] = (
    ("BM25", lambda candidate: candidate.bm25_rank),
    ("dense", lambda candidate: candidate.vector_rank),
    ("RRF", lambda candidate: candidate.rrf_rank),
    ("rerank", lambda candidate: candidate.rerank_rank),
    ("final", lambda candidate: candidate.final_rank),
)


def rank_movement(record: RunRecord, *, first: int = 20) -> Figure:
    """The ranks of the `first` candidates through the stages, rank 1 on top.

    A coloured line became a fragment, a grey one was dropped. A candidate that a stage did not see has no point there.
    Stages that saw no candidate at all are left out.
    """
    from matplotlib.figure import Figure

    shown = record.trace.candidates[:first]
    stages = [(name, rank) for name, rank in _STAGES if any(rank(one) is not None for one in shown)]
    figure = Figure(figsize=(10, 0.32 * max(len(shown), 6) + 1.4), layout="constrained")
    axes: Axes = figure.subplots()
    for position, candidate in enumerate(shown):
        _draw_path(axes, candidate, stages, PALETTE[position % len(PALETTE)])
    axes.set_xticks(range(len(stages)), [name for name, _ in stages])
    axes.set_xlim(-0.2, max(len(stages) - 1, 0) + 1.6)
    axes.invert_yaxis()
    axes.set_ylabel("rank")
    axes.set_title(f"Rank by stage: {one_line(record.summary.query, 72)}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def stage_times(records: Sequence[RunRecord]) -> Figure:
    """Milliseconds of each stage, stacked in pipeline order, one bar a run."""
    from matplotlib.figure import Figure

    table = stage_times_table(records).fillna(0.0)
    figure = Figure(figsize=(10, 0.5 * max(len(table), 2) + 1.6), layout="constrained")
    axes: Axes = figure.subplots()
    left = [0.0] * len(table)
    labels = [one_line(query, _LABEL_CHARS) for query in table.index]
    for position, stage in enumerate(table.columns):
        widths = table[stage].tolist()
        axes.barh(range(len(table)), widths, left=left, label=stage, color=PALETTE[position % len(PALETTE)])
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(table)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title("Time by stage", loc="left")
    if len(table):
        axes.legend(loc="outside lower center", ncols=len(table.columns), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_path(
    axes: Axes, candidate: Candidate, stages: Sequence[tuple[str, Callable[[Candidate], int | None]]], colour: str
) -> None:
    points = [(place, rank) for place, (_, of) in enumerate(stages) if (rank := of(candidate)) is not None]
    kept = candidate.disposition is Disposition.SELECTED
    style = {"color": colour, "linewidth": 2.0} if kept else {"color": GREY, "linewidth": 0.8, "alpha": 0.6}
    axes.plot(*zip(*points, strict=True), marker="o", markersize=4, **style)
    label = f"{candidate.path} {candidate.heading_path[-1] if candidate.heading_path else ''}"
    became = "" if kept else f" ({candidate.exclusion_reason})"
    axes.annotate(
        one_line(label, _LABEL_CHARS) + became,
        points[-1],
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=style["color"],
    )
