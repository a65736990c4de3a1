"""A report as data frames: the means of each order, the tests between them, the cases, and what was missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.core.wire import Wire
from workbench.evaluation.figures import Report
from workbench.evaluation.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd


def means_table(report: Report, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """One row an order; each metric as `mean [low, high]`."""
    import pandas as pd

    rows = [
        {"order": str(one.variant), **{metric: one.means[metric].text() for metric in metrics}}
        for one in report.variants
    ]
    return pd.DataFrame(rows)


def tests_table(report: Report) -> pd.DataFrame:
    """One row a paired test; the difference is the second order's mean minus the first's."""
    import pandas as pd

    rows = [
        {
            "metric": one.metric,
            "first": str(one.first),
            "second": str(one.second),
            "second - first": one.difference.text("+"),
            "p": one.p,
            "p (Holm)": one.p_holm,
        }
        for one in report.tests
    ]
    return pd.DataFrame(rows, columns=["metric", "first", "second", "second - first", "p", "p (Holm)"])


def cases_table(report: Report, metric: str = "ndcg@10") -> pd.DataFrame:
    """One row a case in the report's order, with one metric of every order."""
    import pandas as pd

    rows = [
        {
            "query": row.query,
            "evidence": row.evidence,
            "candidates": row.candidates,
            "latency_ms": None if row.latency_us is None else row.latency_us / 1000,
            **{f"{variant} {metric}": figures[metric] for variant, figures in row.figures.items()},
            "survival": row.survival,
            "case_id": row.case_id,
        }
        for row in report.rows
    ]
    return pd.DataFrame(rows)


def wire_table(values: Sequence[Wire], columns: Sequence[str]) -> pd.DataFrame:
    """One row a value, these fields of it, in the order given."""
    import pandas as pd

    return pd.DataFrame([one.model_dump(mode="json", include=set(columns)) for one in values], columns=list(columns))
