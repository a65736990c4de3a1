"""Two reports of the same cases side by side: which setting is better, by how much, and in which cases.

Every function takes reports or their comparison and returns a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.evaluation.benchmark import Variant
from workbench.evaluation.comparison import paired_rows
from workbench.evaluation.figures import CaseFigures, Comparison, Report
from workbench.evaluation.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd


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


def _first_hit(row: CaseFigures, order: Variant) -> int | None:
    return min(row.hits[order], default=None)
