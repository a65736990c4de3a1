"""The history page by page, the newest first: rows read light, without texts and traces, and how many there are.

A page begins behind a place in the order of arrival, so that it is found as fast at the end as at the beginning, and
runs that come in meanwhile move nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from workbench.core.case import CaseState
from workbench.storage.central_store import CentralStore


class RunEnd(StrEnum):
    """How a run stands: its state, with those apart that failed because their process ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs of the projects are looked at. end None: any; zero_hits: succeeded ones without any candidate."""

    end: RunEnd | None = None
    zero_hits: bool = False
    degraded: bool = False


ANY_RUN = RunFilter()


class RunRow(NamedTuple):
    """One run in a list. place: in the order of arrival, in this database only. degradations: their codes.

    case_state: its case's; None without a case.
    """

    place: int
    run_id: str
    project_id: str
    query: str
    end: RunEnd
    started_at: str
    latency_us: int | None
    candidates: int
    fragments: int
    degradations: tuple[str, ...]
    error_code: str | None
    case_state: CaseState | None


class RunPage(NamedTuple):
    """total: runs that the filter lets through, on this page or not; more: whether older ones follow."""

    rows: tuple[RunRow, ...]
    total: int
    more: bool


class RunCounts(NamedTuple):
    """Of all runs. pinned: those that a case refers to; removable: those that a clear would remove now."""

    ends: dict[RunEnd, int]
    zero_hits: int
    degraded: int
    pinned: int
    removable: int

    @property
    def total(self) -> int:
        """All runs."""
        return sum(self.ends.values())


_END = """
CASE WHEN r.state = 'failed' AND r.error_code = 'retrieval_interrupted' THEN 'interrupted' ELSE r.state END
"""
_ZERO = "(r.state = 'succeeded' AND r.candidate_count = 0)"
_DEGRADED = "(r.degradations <> '[]')"

_SHOWN = f"""
FROM retrieval_runs AS r
WHERE r.project_id IN (SELECT value FROM json_each(:project_ids)) AND (:end IS NULL OR {_END} = :end)
    AND (NOT :zero_hits OR {_ZERO}) AND (NOT :degraded OR {_DEGRADED})
"""

_TOTAL = f"SELECT count(*) {_SHOWN}"

_PAGE = f"""
SELECT r.run_rowid, r.run_id, r.project_id, r.query, {_END}, r.started_at, r.latency_us, r.candidate_count,
    r.fragment_count, r.degradations, r.error_code,
    (SELECT c.state FROM evaluation_cases AS c WHERE c.run_id = r.run_id)
{_SHOWN} AND (:behind IS NULL OR r.run_rowid < :behind) ORDER BY r.run_rowid DESC LIMIT :size
"""

_COUNTS = f"""
SELECT {_END}, count(*), total({_ZERO}), total({_DEGRADED}), total(c.run_id IS NOT NULL),
    total(c.run_id IS NULL AND r.state <> 'running')
FROM retrieval_runs AS r LEFT JOIN evaluation_cases AS c ON c.run_id = r.run_id
WHERE r.project_id IN (SELECT value FROM json_each(:project_ids)) GROUP BY 1
"""


class RunPages:
    """The read side of a history that is looked through."""

    def __init__(self, store: CentralStore) -> None:
        self._store = store

    def page(self, project_ids: Sequence[str], size: int, chosen: RunFilter, behind: int | None) -> RunPage:
        """The newest runs of these projects, or those that arrived before the run at the place `behind`.

        A place stays good when its run has gone. A size below 1 gives no rows.
        """
        values = {"project_ids": json.dumps(list(project_ids)), **asdict(chosen)}
        with self._store.reading() as connection:
            (total,) = connection.execute(_TOTAL, values).fetchone()
            found = connection.execute(_PAGE, values | {"behind": behind, "size": max(size, 0) + 1}).fetchall()
        return RunPage(tuple(map(_row, found[: max(size, 0)])), total, len(found) > max(size, 0))

    def counts(self, project_ids: Sequence[str]) -> RunCounts:
        """How many runs these projects have, and of which kind."""
        with self._store.reading() as connection:
            rows = connection.execute(_COUNTS, {"project_ids": json.dumps(list(project_ids))}).fetchall()
        ends = dict.fromkeys(RunEnd, 0) | {RunEnd(row[0]): row[1] for row in rows}
        return RunCounts(ends, *(int(sum(row[column] for row in rows)) for column in range(2, 6)))


def _row(row: Sequence[Any]) -> RunRow:
    *head, end, started_at, latency_us, candidates, fragments, degradations, error_code, case_state = row
    codes = tuple(note["code"] for note in json.loads(degradations))
    state = None if case_state is None else CaseState(case_state)
    figures = (started_at, latency_us, candidates, fragments)
    return RunRow._make((*head, RunEnd(end), *figures, codes, error_code, state))
