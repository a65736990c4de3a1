"""Keeps projects fresh while a process lives: watcher and write gate notice, the scheduler builds, one after the other.

Answers nothing itself; whoever asks a project meanwhile has its last complete head.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread

from workbench.app.parts import HomeParts
from workbench.app.project import Project
from workbench.core.activation import DegradationNote
from workbench.core.errors import WorkbenchError
from workbench.core.limits import resolve_limits
from workbench.core.resource import SnapshotRef
from workbench.core.wire import Wire
from workbench.index.report import BuildReport
from workbench.index.scheduler import Failure, Look, Order, Scheduler, Timing
from workbench.index.watcher import State, Watcher
from workbench.memory.writing.values import Commit

Listener = Callable[[Project, BuildReport | Exception], object]


class LiveStatus(Wire):
    """How one project is kept fresh.

    activity: `building`, `pending`, `failed` (to be tried again), or null. miv, engine, arms: the head's.
    failure: why the last build failed; null once one has succeeded.
    """

    project_id: str
    root: str
    watch: State
    activity: str | None
    miv: str | None
    engine: str | None
    arms: tuple[str, ...]
    building_miv: str | None
    failure: DegradationNote | None
    failed_in_a_row: int


class LiveIndex:
    """The projects of one home that are kept fresh. Thread-safe; `start` once, `stop` once.

    listen: called on the builder's thread with what every build gave: its report, or what it raised.
    """

    def __init__(self, home: HomeParts, listen: Listener = lambda project, outcome: None) -> None:
        self.home, self._listen = home, listen
        self._projects: dict[str, Project] = {}
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="workbench-builder")
        timing = Timing.of(resolve_limits(home.settings.limits))
        self.scheduler = Scheduler(self._build, self._look, self._builder, timing)
        self._watcher = Watcher(self._notice)
        self._server = Thread(target=self.scheduler.serve, name="workbench-scheduler", daemon=True)

    def add(self, project: Project) -> None:
        """Keep this project fresh, too, from its state as it is now."""
        if project.project_id not in self._projects:
            self._projects[project.project_id] = project
            project.kept_fresh = True
            project.gate.on_commit.append(partial(self._committed, project.project_id))
            self._watcher.add(project.root)

    def start(self) -> None:
        """Begin: everything is looked at once, then whatever changes is followed."""
        self._server.start()
        self._watcher.start()

    def stop(self) -> None:
        """End. A running build stops at its next batch; the old head stays."""
        self._watcher.stop()
        self.scheduler.stop()
        self._server.join()
        self._builder.shutdown(wait=True)

    def switch_engine(self, name: str) -> None:
        """Build every project by another engine, beside the heads that answer; as `Project.switch_engine`."""
        for project_id, project in self._projects.items():
            project.switch_engine(name)
            self.scheduler.interrupt(project_id)
            self.scheduler.enqueue(project_id, "engine")

    def status(self) -> tuple[LiveStatus, ...]:
        """Every project, in the order in which they were added."""
        return tuple(map(self._status, self._projects.copy().values()))

    def _committed(self, project_id: str, commit: Commit) -> None:
        self.scheduler.enqueue(SnapshotRef(project_id, commit.miv, commit.record_state_version), "commit")

    def _notice(self, root: Path) -> None:
        for project_id, project in self._projects.copy().items():
            if project.root == root:
                self.scheduler.enqueue(project_id, "change")

    def _build(self, order: Order) -> None:
        project = self._projects[order.ticket.project_id]
        try:
            report = project.refresh(deadline=order.deadline)
        except Exception as error:
            if not order.deadline.cancelled.is_set():
                self._listen(project, error)
            raise
        self._listen(project, report)

    def _look(self, project_id: str) -> Look:
        with self._projects[project_id].index.reader() as reader:
            return Look(reader.revision, reader.building_miv())

    def _status(self, project: Project) -> LiveStatus:
        head, building_miv = self._look(project.project_id)
        failure = self.scheduler.failure(project.project_id)
        return LiveStatus(
            project_id=project.project_id,
            root=str(project.root),
            watch=self._watcher.state(project.root),
            activity=self.scheduler.activity(project.project_id),
            miv=head.miv if head else None,
            engine=head.engine_name if head else None,
            arms=head.arms if head else (),
            building_miv=building_miv,
            failure=None if failure is None else _note(failure),
            failed_in_a_row=0 if failure is None else failure.in_a_row,
        )


def _note(failure: Failure) -> DegradationNote:
    error = failure.error
    if isinstance(error, WorkbenchError):
        return DegradationNote(code=error.code, detail=error.outline)
    return DegradationNote(code="internal", detail=type(error).__name__)
