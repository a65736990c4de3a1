"""Pictures shared by the notebooks: how candidates move between the stages, and where the time goes.

Every function takes values and returns a matplotlib figure; nothing is shown or saved here. Colours are Okabe and
Ito's: told apart by colour-blind people, readable on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.candidate import Candidate, Disposition
from workbench.core.run import RunRecord
from workbench.core.text import one_line
from workbench.storage.files import atomic_write
from workbench.views.tables import stage_times_table

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Image
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, SKY, VERMILION, PINK = "#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7"
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION)
GREY = "#8A8A8A"
OTHER, VISIBLE_SHARE = "other", 0.02
_LABEL_CHARS = 44
DPI = 110

_STAGES: tuple[tuple[str, Callable[[Candidate], int | None]], ...] = (
    ("BM25", lambda candidate: candidate.bm25_rank),
    ("dense", lambda candidate: candidate.vector_rank),
    ("RRF", lambda candidate: candidate.rrf_rank),
    ("rerank", lambda candidate: candidate.rerank_rank),
    ("final", lambda candidate: candidate.final_rank),
)


def picture(figure: Figure) -> Image:
    """The figure as a picture that a notebook shows and keeps, whatever its matplotlib backend is."""
    from IPython.display import Image

    data = BytesIO()
    figure.savefig(data, format="png", dpi=DPI)
    return Image(data=data.getvalue(), format="png", alt=str(figure.get_label()))  # type: ignore[no-untyped-call]


def saved(figure: Figure, file: Path) -> Image:
    """The figure as `picture`, which is also kept in `file` as PNG."""
    image = picture(figure)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, image.data, durable=False)
    return image


CJK_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei")


@contextmanager
def house_style() -> Iterator[None]:
    """Text falls back to the first font of Chinese that this machine has."""
    from matplotlib import rc_context
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    with rc_context({"font.family": ["DejaVu Sans", *[name for name in CJK_FONTS if name in installed][:1]]}):
        yield


@house_style()
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
    figure.set_label(f"Ranks of the first {len(shown)} candidates for {record.summary.query!r} at each stage.")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


@house_style()
def stage_times(records: Sequence[RunRecord]) -> Figure:
    """Milliseconds of each stage, stacked in pipeline order, one bar a run."""
    from matplotlib.figure import Figure

    table = _long_stages(stage_times_table(records).fillna(0.0))
    figure = Figure(figsize=(10, 0.5 * max(len(table), 2) + 1.6), layout="constrained")
    axes: Axes = figure.subplots()
    left = [0.0] * len(table)
    labels = [one_line(query, _LABEL_CHARS) for query in table.index]
    for position, stage in enumerate(table.columns):
        widths = table[stage].tolist()
        colour = GREY if stage == OTHER else PALETTE[position % len(PALETTE)]
        axes.barh(range(len(table)), widths, left=left, label=stage, color=colour)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(table)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    axes.set_title("Time by stage", loc="left")
    figure.set_label(f"Milliseconds that each stage took in {len(table)} activations.")
    if len(table):
        figure.legend(loc="outside lower center", ncols=len(table.columns), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _long_stages(table: pd.DataFrame) -> pd.DataFrame:
    """The stages that take a visible part of some run, in pipeline order; the others as one behind them."""
    visible = table.columns[(table.max() >= VISIBLE_SHARE * table.sum(axis=1).max()).to_numpy()]
    kept = table[visible].copy()
    kept[OTHER] = table.drop(columns=visible).sum(axis=1)
    return kept


def _draw_path(
    axes: Axes, candidate: Candidate, stages: Sequence[tuple[str, Callable[[Candidate], int | None]]], colour: str
) -> None:
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
        color=colour,
    )
