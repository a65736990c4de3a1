"""Runs and results as data frames, in the order of the values they show. Never ranks, filters or rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.core.activation import ActivationResult
from workbench.core.run import RunRecord
from workbench.core.wire import Wire

if TYPE_CHECKING:
    import pandas as pd

CANDIDATE_COLUMNS = (
    "final_rank",
    "resource_id",
    "heading_path",
    "exact_rank",
    "bm25_rank",
    "bm25_score",
    "vector_rank",
    "vector_score",
    "rrf_rank",
    "rrf_score",
    "rerank_rank",
    "rerank_score",
    "disposition",
    "exclusion_reason",
    "delta_action",
    "excerpt",
)
_RANKS = tuple(name for name in CANDIDATE_COLUMNS if name.endswith("_rank"))


def build_table(report: Wire) -> pd.DataFrame:
    """What a build did: one row a figure, in the report's order."""
    import pandas as pd

    figures = {name: value for name, value in report.model_dump(mode="json").items() if not isinstance(value, dict)}
    return pd.DataFrame({"figure": figures.keys(), "value": map(str, figures.values())}).set_index("figure")


def candidates_table(record: RunRecord) -> pd.DataFrame:
    """Every fused candidate of a run, one row each, in `final_rank` order; a missing rank or score stays missing."""
    table = _frame(record.trace.candidates, CANDIDATE_COLUMNS)
    table["heading_path"] = [" › ".join(candidate.heading_path) for candidate in record.trace.candidates]
    return table.astype(dict.fromkeys(_RANKS, "Int64"))


def fragments_table(result: ActivationResult) -> pd.DataFrame:
    """The fragments of a result in their order, with their text."""
    table = _frame(result.fragments, ("path", "heading_path", "tokens", "delta_action", "text"))
    table["heading_path"] = [" › ".join(fragment.heading_path) for fragment in result.fragments]
    return table


def runs_table(records: Sequence[RunRecord]) -> pd.DataFrame:
    """One row a run: query, state, what answered, how long it took in milliseconds."""
    import pandas as pd

    rows = [
        {
            "run_id": record.summary.run_id,
            "query": record.summary.query,
            "state": str(record.summary.state),
            "candidates": record.summary.candidate_count,
            "fragments": record.summary.fragment_count,
            "tokens": record.summary.budget.tokens if record.summary.budget else None,
            "latency_ms": None if record.summary.latency_us is None else record.summary.latency_us / 1000,
            "degradations": ", ".join(note.code for note in record.summary.degradations),
        }
        for record in records
    ]
    return pd.DataFrame(rows)


def stage_times_table(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Milliseconds by stage (columns, in pipeline order) and run (rows, by query)."""
    import pandas as pd

    rows = {record.summary.query: record.summary.stage_us for record in records}
    return pd.DataFrame.from_dict(rows, orient="index") / 1000


def _frame(values: Iterable[Wire], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([value.model_dump(mode="json", include=set(columns)) for value in values], columns=columns)
