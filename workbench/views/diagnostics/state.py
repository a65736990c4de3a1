"""What a person looks at, as one frozen value. Pure; `steps` has the way from one such value to the next.

What has to be read or done stands in `request`; whoever carries it out reports what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from workbench.core.case import CaseState
from workbench.core.run import RunRecord
from workbench.evaluation.explain import Whereabouts
from workbench.evaluation.figures import Report
from workbench.storage.run_pages import ANY_RUN, RunCounts, RunFilter, RunPage
from workbench.views.diagnostics.candidates import FINAL_ORDER, Sort
from workbench.views.diagnostics.indexes import IndexRow

PAGE_ROWS = 40
NO_RUNS = RunCounts({}, 0, 0, 0, 0)
NO_PAGE = RunPage((), 0, False)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The run that is looked into. case_state: its case's; asked: where a resource was lost in it."""

    record: RunRecord
    case_state: CaseState | None = None
    asked: Whereabouts | None = None


class Kind(StrEnum):
    """What takes its time; one of them at once."""

    BENCHMARK = "benchmark"
    EXPORT = "export"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Task:
    """What is under way, and how far it is in a phase of its own."""

    kind: Kind
    phase: str = ""
    done: int = 0
    total: int = 0
    stopping: bool = False


class SavedFile(NamedTuple):
    """A file that was written. path: absolute."""

    path: str
    byte_size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Saved:
    """An export that was written. note: what to know before importing it; empty: nothing."""

    folder: str
    files: tuple[SavedFile, ...]
    cases: int
    set_digest: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Whether to clear the history of these projects. removable: runs that would go; pinned, running: that stay."""

    project_ids: tuple[str, ...]
    removable: int
    pinned: int
    running: int


class Message(NamedTuple):
    """What is said to the person; bad: that something was not done."""

    text: str
    bad: bool = False


SILENT = Message("")


@dataclass(frozen=True, slots=True)
class List:
    """Wanted: the page of runs, and what is counted beside it."""


@dataclass(frozen=True, slots=True)
class Open:
    """Wanted: the sheet of this run."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Why:
    """Wanted: where this resource was lost in the run on the sheet."""

    resource: str


@dataclass(frozen=True, slots=True)
class Look:
    """Wanted: every index compared with its memory."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Wanted: the report over the ready cases."""


@dataclass(frozen=True, slots=True)
class Export:
    """Wanted: the ready cases in this folder."""

    folder: str


@dataclass(frozen=True, slots=True)
class Count:
    """Wanted: what a clear would remove."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Wanted: the history cleared, as the person agreed to."""

    question: Question


@dataclass(frozen=True, slots=True)
class Stop:
    """Wanted: the end of what is under way."""


Request = List | Open | Why | Look | Measure | Export | Count | Clear | Stop


@dataclass(frozen=True, slots=True)
class DiagnosticsState:
    """project: the only one that is looked at; empty: all. behind: a place for each page before this one.

    counts, cases: of the projects that are looked at. report: the last one that was computed here.
    """

    project_ids: tuple[str, ...]
    project: str = ""
    filter: RunFilter = ANY_RUN
    page: RunPage = NO_PAGE
    behind: tuple[int, ...] = ()
    counts: RunCounts = NO_RUNS
    cases: Mapping[CaseState, int] = field(default_factory=dict)
    sheet: Sheet | None = None
    sort: Sort = FINAL_ORDER
    indexes: tuple[IndexRow, ...] = ()
    looking: bool = False
    task: Task | None = None
    report: Report | None = None
    saved: Saved | None = None
    question: Question | None = None
    message: Message = SILENT
    request: Request | None = None

    @property
    def shown_projects(self) -> tuple[str, ...]:
        """The projects that are looked at."""
        return (self.project,) if self.project else self.project_ids

    @property
    def run_id(self) -> str:
        """The run on the sheet; empty for none."""
        return self.sheet.record.summary.run_id if self.sheet else ""
