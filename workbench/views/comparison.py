"""Two reports of the same cases side by side: which setting is better, by how much, and in which cases.

Every function takes reports or their comparison and returns a frame or a figure; nothing is shown or saved here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.evaluation.benchmark import Variant
from workbench.evaluation.comparison import paired_rows
from workbench.evaluation.figures import CaseFigures, Comparison, Report
from workbench.evaluation.metrics import METRICS
from workbench.views.plots import BLUE, GREY, ORANGE, house_style
from workbench.views.report_plots import difference_bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def means_table(a: Report, b: Report) -> pd.DataFrame:
    """One row an order and setting, each metric as `mean [low, high]`; an order that a setting has not is left out."""
    import pandas as pd

    rows = [
        {"order": str(one.variant), "setting": name, **{metric: one.means[metric].text() for metric in METRICS}}
        for variant in Variant
        for name, report in (("A", a), ("B", b))
        for one in report.variants
        if one.variant is variant
    ]
    survival = [
        {"order": "fragments", "setting": name, "survival": report.survival.text()}
        for name, report in (("A", a), ("B", b))
    ]
    return pd.DataFrame([*rows, *survival])


def changes_table(comparison: Comparison) -> pd.DataFrame:
    """One row an order and metric; the difference is B minus A, case by case."""
    import pandas as pd

    rows = [
        {
            "order": one.order,
            "metric": one.metric,
            "A": one.before,
            "B": one.after,
            "B - A": one.difference.text("+"),
            "better": one.better,
            "worse": one.worse,
            "p": one.p,
            "p (Holm)": one.p_holm,
        }
        for one in comparison.changes
    ]
    return pd.DataFrame(rows)


def cases_table(a: Report, b: Report, order: Variant, metric: str = "ndcg@10") -> pd.DataFrame:
    """One row a case, the greatest change first; `first hit` is the place of the first evidence, missing beyond 20."""
    import pandas as pd

    rows = [
        {
            "query": one.query,
            "A first hit": _first_hit(one, order),
            "B first hit": _first_hit(other, order),
            f"A {metric}": one.figures[order][metric],
            f"B {metric}": other.figures[order][metric],
            "B - A": other.figures[order][metric] - one.figures[order][metric],
            "A survival": one.survival,
            "B survival": other.survival,
            "case_id": other.case_id,
        }
        for one, other in paired_rows(a, b)
    ]
    table = pd.DataFrame(rows).astype({"A first hit": "Int64", "B first hit": "Int64"})
    return table.sort_values("B - A", key=lambda changes: -changes.abs(), kind="stable", ignore_index=True)


def flips(a: Report, b: Report, order: Variant, depth: int, metric: str = "ndcg@10") -> pd.DataFrame:
    """The cases of `cases_table` that have evidence within the first `depth` places in one setting and not in both."""
    table = cases_table(a, b, order, metric)
    in_a, in_b = ((table[f"{name} first hit"] <= depth).fillna(value=False) for name in "AB")
    return table[in_a != in_b]


@house_style()
def means_with_intervals(a: Report, b: Report, order: Variant) -> Figure:
    """Recall@20, nDCG@10 and MRR@10 of one order under both settings, with their 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.2), layout="constrained")
    panels = figure.subplots(1, len(METRICS), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        for place, (report, colour, marker) in enumerate(((a, ORANGE, "s"), (b, BLUE, "o"))):
            mean = next(one for one in report.variants if one.variant is order).means[metric]
            spread = [[mean.mean - mean.low], [mean.high - mean.mean]]
            axes.errorbar(mean.mean, place, xerr=spread, fmt=marker, color=colour, capsize=4)
            axes.annotate(
                f"{mean.mean:.3f}", (mean.mean, place), xytext=(0, 7), textcoords="offset points", ha="center"
            )
        axes.set_title(metric, loc="left")
        axes.set_xlim(0, 1)
        axes.grid(axis="x", color=GREY, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks([0, 1], ["A", "B"])
    panels[0].set_ylim(1.5, -0.7)
    figure.suptitle(f"{order}, {a.cases} cases", x=0.01, ha="left")
    figure.set_label(f"Means of {order} with 95 % intervals under settings A and B over {a.cases} cases.")
    return figure


def case_differences(a: Report, b: Report, order: Variant, metric: str = "ndcg@10") -> Figure:
    """B minus A of every case, the greatest gain first: whom the change of setting helps and whom it costs."""
    values = [other.figures[order][metric] - one.figures[order][metric] for one, other in paired_rows(a, b)]
    return difference_bars(values, metric, f"B against A in {order}")


def _first_hit(row: CaseFigures, order: Variant) -> int | None:
    return min(row.hits[order], default=None)
