"""Runs and results as data frames, in the order of the values they show. Never ranks, filters or rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from workbench.core.activation import ActivationResult
from workbench.core.run import RunRecord
from workbench.core.text import one_line
from workbench.core.wire import Wire

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

    from workbench.views.diagnostics.indexes import IndexRow

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
_EXCERPT_CHARS = 60
_RANKS = tuple(name for name in CANDIDATE_COLUMNS if name.endswith("_rank"))


def shown(table: pd.DataFrame, caption: str = "") -> Styler:
    """A frame for people: text as text (no markup of a memory is ever rendered), missing values as a dash."""
    style = table.style.format(escape="html", na_rep="–", precision=4).hide(axis="index").set_caption(escape(caption))
    properties = {"text-align": "left", "vertical-align": "top", "white-space": "pre-wrap", "max-width": "36em"}
    return style.set_properties(**properties).set_table_styles([{"selector": "th", "props": "text-align: left"}])


def values_table(**values: object) -> pd.DataFrame:
    """One row a value, in the order given."""
    import pandas as pd

    return pd.DataFrame({"what": values.keys(), "value": map(_plain, values.values())})


def build_table(report: Wire) -> pd.DataFrame:
    """What a build did, one row a figure in the report's order; the seconds of each phase at the end."""
    figures = report.model_dump(mode="json")
    phases = {f"seconds: {phase}": seconds for phase, seconds in figures.pop("seconds", {}).items()}
    return values_table(**figures, **phases)


def candidates_table(record: RunRecord) -> pd.DataFrame:
    """Every fused candidate of a run, one row each, in `final_rank` order; a missing rank or score stays missing."""
    table = _frame(record.trace.candidates, CANDIDATE_COLUMNS)
    table["heading_path"] = [" › ".join(candidate.heading_path) for candidate in record.trace.candidates]
    table["excerpt"] = [one_line(candidate.excerpt, _EXCERPT_CHARS) for candidate in record.trace.candidates]
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


def indexes_table(rows: Sequence[IndexRow]) -> pd.DataFrame:
    """One row an index: where it stands against its memory, and what it holds."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "memory": row.root,
                "state": str(row.state),
                "revision": row.head.revision_id if row.head else None,
                "resources": row.head.resource_count if row.head else None,
                "units": row.head.unit_count if row.head else None,
                "engine": row.head.engine_name if row.head else None,
                "built": row.head.created_at if row.head else None,
                "new": row.new,
                "changed": row.changed,
                "removed": row.removed,
                "unreadable": len(row.unreadable),
                "problem": row.problem,
            }
            for row in rows
        ]
    )


def stage_times_table(records: Sequence[RunRecord]) -> pd.DataFrame:
    """Milliseconds by stage (columns, in pipeline order) and run (rows, by query)."""
    import pandas as pd

    asked = [record.summary.query for record in records]
    return pd.DataFrame([record.summary.stage_us for record in records], index=asked) / 1000


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _frame(values: Iterable[Wire], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([value.model_dump(mode="json", include=set(columns)) for value in values], columns=columns)
