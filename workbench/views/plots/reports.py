"""Pictures of a report, or of two: means with intervals, case by case differences, the recall curve, latency.

An order has one colour and one marker in all of them, told apart without colour too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.text import counted
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.comparison import paired_rows
from workbench.evaluation.figures import CaseFigures, Interval, Report
from workbench.evaluation.metrics import DEPTH, METRICS
from workbench.evaluation.statistics import Name, mean_intervals
from workbench.views.plots.look import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PINK,
    VERMILION,
    WIDTH_IN,
    canvas,
    described,
    house_style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.evaluation.statistics import Values


class Look(NamedTuple):
    """How one order or setting is drawn."""

    colour: str
    marker: str


LOOKS: dict[Variant, Look] = {
    Variant.BM25: Look(VERMILION, "s"),
    Variant.DENSE: Look(PINK, "^"),
    Variant.RRF: Look(BLUE, "o"),
    Variant.RERANKED: Look(GREEN, "D"),
}
_A, _B = Look(VERMILION, "s"), Look(BLUE, "o")


def order_means(report: Report) -> Figure:
    """Recall@20, nDCG@10 and MRR@10 of each order with their 95 % intervals."""
    rows = [(str(one.variant), one.means, LOOKS[one.variant]) for one in report.variants]
    return _means(rows, counted(report.cases, "case"), "of each order")


def setting_means(a: Report, b: Report, order: Variant) -> Figure:
    """The same of one order under settings A and B. order: one that both reports measured."""
    rows = [
        (name, next(one.means for one in report.variants if one.variant is order), look)
        for name, report, look in (("A", a, _A), ("B", b, _B))
    ]
    return _means(rows, f"{order}, {counted(a.cases, 'case')}", "under each setting")


def case_differences(report: Report, first: Variant, second: Variant, metric: str = "ndcg@10") -> Figure:
    """`second` minus `first` of every case, the greatest gain first: whom a change of order helps and whom it costs."""
    values = [row.figures[second][metric] - row.figures[first][metric] for row in report.rows]
    return _differences(values, metric, f"{second} against {first}")


def change_by_case(a: Report, b: Report, order: Variant, metric: str = "ndcg@10") -> Figure:
    """B minus A of every case, the greatest gain first: whom the change of setting helps and whom it costs."""
    values = [other.figures[order][metric] - one.figures[order][metric] for one, other in paired_rows(a, b)]
    return _differences(values, metric, f"B against A in {order}")


@house_style()
def recall_curve(report: Report) -> Figure:
    """The mean share of evidence met within the first k places, k up to 20, with its 95 % interval as a band.

    The dashed line is the share that the fragments still hold, after all budgets.
    """
    figure, axes = canvas(4.2)
    depths = list(range(1, DEPTH + 1))
    curves = _recalls(report)
    for one in report.variants:
        look, curve = LOOKS[one.variant], [curves[one.variant, str(depth)] for depth in depths]
        means = [point.mean for point in curve]
        axes.plot(depths, means, color=look.colour, marker=look.marker, markersize=4, label=str(one.variant))
        low, high = [point.low for point in curve], [point.high for point in curve]
        axes.fill_between(depths, low, high, color=look.colour, alpha=0.12, linewidth=0)
    axes.axhline(report.survival.mean, color=GREY, linestyle="--", label="survives in the fragments")
    axes.set_xticks(depths)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("k")
    axes.set_ylabel("recall@k")
    axes.set_title(f"Recall by depth with 95 % intervals, {counted(report.cases, 'case')}")
    figure.legend(loc="outside lower center", ncols=len(report.variants) + 1)
    ends = ", ".join(f"{one.variant} {curves[one.variant, str(DEPTH)].text()}" for one in report.variants)
    words = f"Mean recall at 1 to {DEPTH} over {counted(report.cases, 'case')}. At {DEPTH}: {ends}."
    return described(figure, f"{words} In the fragments: {report.survival.text()}.")


@house_style()
def latency(report: Report) -> Figure:
    """The share of runs that were done within a time, as their traces recorded it, with p50 and p95."""
    times = sorted(row.latency_us / 1000 for row in report.rows if row.latency_us is not None)
    figure, axes = canvas(3.2)
    axes.step(times, [place / len(times) for place in range(1, len(times) + 1)], where="post", color=BLUE)
    marks = [("p50", report.trace_p50_us, "--"), ("p95", report.trace_p95_us, ":")]
    said = [f"{name} {micros / 1000:.1f} ms" for name, micros, _ in marks if micros is not None]
    for name, micros, style in marks:
        if micros is not None:
            axes.axvline(micros / 1000, color=VERMILION, linestyle=style, label=f"{name} {micros / 1000:.1f} ms")
            axes.legend(loc="lower right")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("milliseconds in the trace")
    axes.set_ylabel("share of runs")
    axes.set_title("Latency of the recorded runs (not a warm benchmark)")
    return described(figure, f"Latency of {len(times)} recorded runs: {', '.join(said) or 'none recorded'}.")


@house_style()
def _means(rows: Sequence[tuple[str, Mapping[str, Interval], Look]], what: str, which: str) -> Figure:
    """One panel a metric, one row an order or setting."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, 0.45 * len(rows) + 1.5), layout="constrained")
    panels = figure.subplots(1, len(METRICS), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, (_, means, look) in enumerate(rows):
            mean = means[metric]
            spread = [[mean.mean - mean.low], [mean.high - mean.mean]]
            axes.errorbar(mean.mean, place, xerr=spread, fmt=look.marker, color=look.colour, capsize=4)
            above = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center"}
            axes.annotate(f"{mean.mean:.3f}", (mean.mean, place), **above)
        axes.set_title(metric)
        axes.set_xlim(-0.06, 1.06)
        axes.grid(axis="x")
    panels[0].set_yticks(range(len(rows)), [name for name, _, _ in rows])
    panels[0].set_ylim(len(rows) - 0.5, -0.7)
    figure.suptitle(what, x=0.01, ha="left")
    figures = "; ".join(
        f"{name}: {', '.join(f'{metric} {means[metric].text()}' for metric in METRICS)}" for name, means, _ in rows
    )
    return described(figure, f"Means {which} with 95 % intervals, {what}. {figures}.")


@house_style()
def _differences(values: Sequence[float], metric: str, what: str) -> Figure:
    """One bar a case, sorted. what: what is compared with what."""
    values = sorted(values, reverse=True)
    better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
    figure, axes = canvas(3.2)
    axes.bar(range(len(values)), values, color=[BLUE if value > 0 else VERMILION for value in values], width=1.0)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
    axes.set_xlabel("cases, sorted")
    axes.set_ylabel(f"difference in {metric}")
    said = f"{better} better, {len(values) - better - worse} equal, {worse} worse"
    axes.set_title(f"{what}: {said}")
    return described(figure, f"Difference in {metric}, {what}, in {counted(len(values), 'case')}: {said}.")


def _recalls(report: Report) -> dict[Name, Interval]:
    """(order, k) -> the mean recall within the first k places."""
    import numpy as np

    columns: dict[Name, Values] = {
        (str(one.variant), str(depth)): np.array(
            [_recall(row, one.variant, depth) for row in report.rows], dtype=np.float64
        )
        for one in report.variants
        for depth in range(1, DEPTH + 1)
    }
    return mean_intervals(columns, report.seed)


def _recall(row: CaseFigures, variant: Variant, depth: int) -> float:
    return sum(place <= depth for place in row.hits[variant]) / row.evidence
