"""One person's look into a home: carries out what the state wants, and turns every failure into a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from workbench.core.errors import InputError, WorkbenchError
from workbench.core.hashing import sha256_hex
from workbench.core.progress import Progress
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.export import EvaluationExport
from workbench.evaluation.figures import Report
from workbench.evaluation.runs import RunHistory
from workbench.evaluation.sets import Selection
from workbench.storage.files import writing
from workbench.views.diagnostics import steps
from workbench.views.diagnostics.indexes import DiagnosedProject, compared_rows, seen_rows
from workbench.views.diagnostics.state import (
    PAGE_ROWS,
    Clear,
    Count,
    DiagnosticsState,
    Export,
    List,
    Look,
    Measure,
    Open,
    Question,
    Request,
    Saved,
    SavedFile,
    Sheet,
    Stop,
    Why,
)
from workbench.views.diagnostics.work import Stopped, Worker

T = TypeVar("T")
Step = Callable[[DiagnosticsState], DiagnosticsState]


class DiagnosticsHome(Protocol):
    """What is needed of a home."""

    @property
    def history(self) -> RunHistory: ...
    @property
    def cases(self) -> CaseBook: ...
    def report(self, selection: Selection, *, progress: Progress) -> Report: ...
    def export(self, selection: Selection, *, progress: Progress) -> EvaluationExport: ...
    def save_export(self, exported: EvaluationExport, folder: Path) -> tuple[Path, ...]: ...
    def export_note(self, exported: EvaluationExport) -> str: ...


class DiagnosticsSession:
    """The state of one look, and the only one who changes it.

    projects: whose indexes are looked at. working, looking: who does what takes its time. changed: called when a step
    was taken that nobody asked for just now.
    """

    def __init__(
        self,
        home: DiagnosticsHome,
        selection: Selection,
        projects: Sequence[DiagnosedProject],
        *,
        working: Worker,
        looking: Worker,
        changed: Callable[[], None],
    ) -> None:
        self._home, self._selection, self._projects = home, selection, projects
        self._working, self._looking, self._changed = working, looking, changed
        self.state = DiagnosticsState(selection.project_ids, indexes=seen_rows(projects))

    def begin(self, run_id: str) -> None:
        """List the runs, open this one (empty: the newest) and have the indexes looked at."""
        self.do(steps.newest)
        self.do(partial(steps.open_run, run_id=run_id) if run_id else lambda state: steps.neighbour(state, 0))
        if self._projects:
            self.do(steps.look)

    def do(self, step: Step) -> None:
        """Take a step, and carry out what it wants."""
        self.state = step(self.state)
        while (wanted := self.state.request) is not None:
            self.state = replace(self.state, request=None)
            try:
                self._carry_out(wanted)
            except WorkbenchError as error:
                self.state = steps.failed(self.state, error.message)

    def _carry_out(self, wanted: Request) -> None:
        match wanted:
            case List():
                self._list()
            case Open(run_id):
                self._open(run_id)
            case Why(resource):
                assert self.state.sheet is not None
                self.state = steps.answered(self.state, self._home.history.why(self.state.sheet.record, resource))
            case Count():
                self.state = steps.counted_to_clear(self.state, self._question())
            case Look():
                self._looking.run(
                    lambda _: compared_rows(self._projects),
                    advanced=lambda *_: None,
                    done=lambda rows: self._later(lambda state: steps.looked(state, rows)),
                    failed=self._look_failed,
                )
            case Measure():
                self._work(lambda progress: self._home.report(self._selection, progress=progress), steps.measured)
            case Export(folder):
                self._work(lambda progress: self._export(folder, progress), steps.exported)
            case Clear(question):
                self._work(
                    lambda _: self._home.history.clear(*question.project_ids),
                    lambda state, removed: steps.cleared(state, question, removed),
                )
            case Stop():
                self._working.stop()

    def _list(self) -> None:
        state, history = self.state, self._home.history
        behind = state.behind[-1] if state.behind else None
        page = history.page(state.shown_projects, PAGE_ROWS, chosen=state.filter, behind=behind)
        cases = self._home.cases.counts(state.shown_projects, self._selection.case_ids)
        self.state = steps.listed(state, page, history.counts(state.shown_projects), cases)

    def _open(self, run_id: str) -> None:
        record = self._home.history.get(run_id)
        case = self._home.cases.of_run(record.summary.run_id)
        self.state = steps.opened(self.state, Sheet(record, case.state if case else None))

    def _question(self) -> Question:
        projects = self.state.shown_projects
        counts = self._home.history.counts(projects)
        return Question(projects, counts.removable, counts.pinned, counts.total - counts.removable - counts.pinned)

    def _export(self, folder: str, progress: Progress) -> Saved:
        place = new_folder(folder)
        exported = self._home.export(self._selection, progress=progress)
        files = self._home.save_export(exported, place)
        return Saved(
            str(place),
            tuple(map(_saved_file, files)),
            exported.report.cases,
            exported.report.set_digest,
            self._home.export_note(exported),
        )

    def _work(self, job: Callable[[Progress], T], done: Callable[[DiagnosticsState, T], DiagnosticsState]) -> None:
        self._working.run(
            job,
            advanced=lambda *words: self._later(lambda state: steps.advanced(state, *words)),
            done=lambda value: self._later(lambda state: done(state, value)),
            failed=self._work_failed,
        )

    def _work_failed(self, error: WorkbenchError | Stopped) -> None:
        if isinstance(error, Stopped):
            self._later(steps.stopped)
        else:
            self._later(lambda state: steps.task_failed(state, error.message))

    def _look_failed(self, error: WorkbenchError | Stopped) -> None:
        message = error.message if isinstance(error, WorkbenchError) else ""
        self._later(lambda state: steps.failed(replace(state, looking=False), message))

    def _later(self, step: Step) -> None:
        self.do(step)
        self._changed()


def new_folder(folder: str) -> Path:
    """The folder that an export may be written into: one that holds nothing yet, so that none is replaced unasked.

    Raises: `InputError("invalid_argument")`; `StorageError("home_unwritable")` when it cannot be looked into.
    """
    if not folder:
        raise InputError("invalid_argument", "Name a folder for the export.")
    place = Path(folder).expanduser().resolve()
    with writing(place):
        taken = place.exists() and (not place.is_dir() or any(place.iterdir()))
    if taken:
        raise InputError("invalid_argument", f"{place} holds something already; name a new folder.")
    return place


def _saved_file(file: Path) -> SavedFile:
    data = file.read_bytes()
    return SavedFile(str(file), len(data), sha256_hex(data))
