"""Pictures of a report: means with intervals, case by case differences, the recall curve, latency.

Every function takes a report and returns a figure; nothing is shown or saved here. An order has one colour and one
marker in all of them, told apart without colour too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.evaluation.benchmark import Variant
from workbench.evaluation.figures import CaseFigures, Report
from workbench.evaluation.metrics import DEPTH, METRICS
from workbench.views.plots import BLUE, GREEN, GREY, ORANGE, PINK, VERMILION, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[Variant, tuple[str, str]] = {
    Variant.BM25: (ORANGE, "s"),
    Variant.DENSE: (PINK, "^"),
    Variant.RRF: (BLUE, "o"),
    Variant.RERANKED: (GREEN, "D"),
}
"""order -> colour and marker."""


@house_style()
def means_with_intervals(report: Report) -> Figure:
    """Recall@20, nDCG@10 and MRR@10 of each order with their 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 0.45 * len(report.variants) + 1.6), layout="constrained")
    panels = figure.subplots(1, len(METRICS), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, one in enumerate(report.variants):
            mean = one.means[metric]
            colour, marker = LOOKS[one.variant]
            spread = [[mean.mean - mean.low], [mean.high - mean.mean]]
            axes.errorbar(mean.mean, place, xerr=spread, fmt=marker, color=colour, capsize=4)
            axes.annotate(
                f"{mean.mean:.3f}", (mean.mean, place), xytext=(0, 7), textcoords="offset points", ha="center"
            )
        axes.set_title(metric, loc="left")
        axes.set_xlim(0, 1)
        axes.grid(axis="x", color=GREY, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(report.variants)), [str(one.variant) for one in report.variants])
    panels[0].set_ylim(len(report.variants) - 0.5, -0.7)
    figure.set_label(f"Means with 95 % intervals of {len(report.variants)} orders over {report.cases} cases.")
    return figure


def case_differences(report: Report, first: Variant, second: Variant, metric: str = "ndcg@10") -> Figure:
    """`second` minus `first` of every case, the greatest gain first: whom a change of order helps and whom it costs."""
    values = [row.figures[second][metric] - row.figures[first][metric] for row in report.rows]
    return difference_bars(values, metric, f"{second} against {first}")


@house_style()
def difference_bars(values: Sequence[float], metric: str, what: str) -> Figure:
    """One bar a case, sorted. what: what is compared with what."""
    from matplotlib.figure import Figure

    values = sorted(values, reverse=True)
    better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    colours = [BLUE if value > 0 else VERMILION for value in values]
    axes.bar(range(len(values)), values, color=colours, width=1.0)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
    axes.set_xlabel("cases, sorted")
    axes.set_ylabel(f"difference in {metric}")
    said = f"{better} better, {len(values) - better - worse} equal, {worse} worse"
    axes.set_title(f"{what}: {said}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.set_label(f"Difference in {metric}, {what}, in {len(values)} cases: {said}.")
    return figure


@house_style()
def recall_curve(report: Report) -> Figure:
    """The mean share of evidence met within the first k places, k up to 20, and the share that fragments still hold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes: Axes = figure.subplots()
    depths = list(range(1, DEPTH + 1))
    for one in report.variants:
        colour, marker = LOOKS[one.variant]
        curve = [_recall(report.rows, one.variant, depth) for depth in depths]
        axes.plot(depths, curve, color=colour, marker=marker, markersize=4, label=str(one.variant))
    axes.axhline(report.survival.mean, color=GREY, linestyle="--", label="survives in the fragments")
    axes.set_xticks(depths)
    axes.set_ylim(0, 1)
    axes.set_xlabel("k")
    axes.set_ylabel("recall@k")
    axes.set_title("Recall by depth", loc="left")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.set_label(f"Mean recall at 1 to {DEPTH} of {len(report.variants)} orders over {report.cases} cases.")
    return figure


@house_style()
def latency(report: Report) -> Figure:
    """The share of runs that were done within a time, as their traces recorded it, with p50 and p95."""
    from matplotlib.figure import Figure

    times = sorted(row.latency_us / 1000 for row in report.rows if row.latency_us is not None)
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    axes.step(times, [place / len(times) for place in range(1, len(times) + 1)], where="post", color=BLUE)
    for name, micros, style in (("p50", report.trace_p50_us, "--"), ("p95", report.trace_p95_us, ":")):
        if micros is not None:
            axes.axvline(micros / 1000, color=VERMILION, linestyle=style, label=f"{name} {micros / 1000:.1f} ms")
            axes.legend(frameon=False, loc="lower right")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("milliseconds in the trace")
    axes.set_ylabel("share of runs")
    axes.set_title("Latency of the recorded runs (not a warm benchmark)", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.set_label(f"Latency of {len(times)} recorded runs.")
    return figure


def _recall(rows: tuple[CaseFigures, ...], variant: Variant, depth: int) -> float:
    return sum(sum(place <= depth for place in row.hits[variant]) / row.evidence for row in rows) / len(rows)
