"""The service of one home: its projects, its slots, and one call after another on threads of their own.

Every way in (MCP, HTTP) calls `answer`. A call waits for a slot within its deadline, and stops when its caller is gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import structlog

from serve.call import Call, Desk, ForProject, deadline_of
from serve.errors import public, trouble
from serve.metrics import Metrics
from workbench.app import Home, Project
from workbench.app.live import LiveIndex
from workbench.core.deadline import Deadline
from workbench.core.errors import InputError, NotReady, WorkbenchError
from workbench.core.limits import resolve_limits
from workbench.core.wire import Wire
from workbench.index.report import BuildReport

STOPPING_S, LOOK_S = 2.0, 0.02
"""How long cancelled calls may take to stop when the service ends, and how often that is looked at."""
T = TypeVar("T")
_log = structlog.get_logger("serve")


class Service:
    """The calls of one home. Made and used in one event loop; `close` ends it.

    show_queries: whether the log may hold the queries of calls.
    """

    def __init__(self, home: Home, *, show_queries: bool = False) -> None:
        home.patient = False
        self.home, self.metrics, self.live = home, Metrics(), LiveIndex(home, _log_build)
        self.projects: dict[str, Project] = {}
        self._show_queries = show_queries
        slots = resolve_limits(home.settings.limits).concurrency
        self._slots, self._threads = asyncio.Semaphore(slots), ThreadPoolExecutor(slots, "call")
        self._running: set[Deadline] = set()

    def serve_project(self, root: Path) -> Project:
        """Serve the memory at this root from now on. Raises: `InputError("project_unknown")`."""
        project = self.home.project(root)
        if project.project_id not in self.projects:
            self.projects[project.project_id] = project
            self.live.add(project)
        return self.projects[project.project_id]

    def start(self) -> None:
        """Load the models and keep the indexes fresh, both in the background."""
        self.live.start()
        Thread(target=self.home.warm, name="warm", daemon=True).start()

    def project(self, named: str | None, default: Project | None = None) -> Project:
        """The served project of this id or root; without a name the default, or the only one.

        Raises: `InputError("project_unknown")` for whatever is not served, `InputError("invalid_argument")` when a
        name is needed.
        """
        projects = tuple(self.projects.values())
        served = f"served are: {', '.join(self.projects) or 'none'}."
        if named is None:
            if default is None and len(projects) != 1:
                raise InputError("invalid_argument", f"Name the memory in `project`; {served}")
            return default or projects[0]
        for project in projects:
            if named == project.project_id or named.rstrip("/") == str(project.root):
                return project
        raise InputError("project_unknown", f"No memory of this name is served; {served}")

    async def answer(self, call: Call, arguments: Mapping[str, Any], default: Project | None = None) -> Wire:
        """The answer of one call. Raises: `WorkbenchError`, as a client may see it."""
        started, code, project = time.perf_counter(), "ok", None
        try:
            with self.metrics.running(call.name):
                request = call.parse(arguments)
                deadline = deadline_of(request, self.home.settings.limits)
                if isinstance(request, ForProject):
                    project = self.project(request.project, default)
                desk = Desk(self.home, self.live, self.projects, deadline, project)
                return await self.run(lambda: call.run(desk, request), deadline)
        except asyncio.CancelledError:
            code = "cancelled"
            raise
        except Exception as error:  # noqa: BLE001 - the last seam before the client
            shown = public(error)
            code = shown.code
            raise shown from None
        finally:
            elapsed = time.perf_counter() - started
            self.metrics.ended(call.name, code, elapsed)
            query = {"query": arguments.get("query")} if self._show_queries else {}
            _log.info(
                "call",
                call=call.name,
                code=code,
                ms=round(elapsed * 1000, 1),
                project_id=project and project.project_id,
                **query,
            )

    async def run(self, work: Callable[[], T], deadline: Deadline) -> T:
        """Work on a thread, in a slot. The slot is free again when the thread is done, not when the caller is gone.

        Raises: `WorkbenchError("overloaded")` when no slot is free by the deadline; what `work` raises.
        """
        try:
            async with asyncio.timeout(deadline.remaining_ms() / 1000):
                await self._slots.acquire()
        except TimeoutError:
            message = "Every slot was taken until the deadline; try again later, or give more time."
            raise WorkbenchError("overloaded", message) from None
        future = self._threads.submit(work)
        self._running.add(deadline)
        loop = asyncio.get_running_loop()

        def done(_: Future[T]) -> None:
            loop.call_soon_threadsafe(self._ended, deadline)

        future.add_done_callback(done)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            deadline.cancel()
            raise

    def unready(self) -> WorkbenchError | None:
        """Why a query would not be answered yet; None when every project has an index."""
        for project in tuple(self.projects.values()):
            if project.index.head() is None:
                return NotReady(
                    "index_preparing", f"The memory {project.project_id} is being indexed; ask again shortly."
                )
        return None

    async def drain(self, seconds: float) -> None:
        """Wait so long for running calls, then cancel them, and wait for them to notice."""
        for allowed in (seconds, STOPPING_S):
            ends = time.monotonic() + allowed
            while self._running and time.monotonic() < ends:
                await asyncio.sleep(LOOK_S)
            for deadline in self._running:
                deadline.cancel()

    @property
    def busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._running)

    def close(self) -> None:
        """Let go of databases and threads; runs that are still under way count as interrupted."""
        self.live.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for project in self.projects.values():
            project.index.close()
            if project.index.path.exists():
                with suppress(WorkbenchError), project.index.writer():
                    pass  # the last to close folds the write-ahead log into the file, which readers cannot
        self.home.history.close()

    def _ended(self, deadline: Deadline) -> None:
        self._running.discard(deadline)
        self._slots.release()


def _log_build(project: Project, outcome: BuildReport | Exception) -> None:
    if isinstance(outcome, Exception):
        code = outcome.code if isinstance(outcome, WorkbenchError) else "internal"
        _log.warning("build_failed", project_id=project.project_id, code=code, **trouble(outcome))
    elif outcome.published:
        _log.info("built", project_id=project.project_id, units=outcome.units, encoded=outcome.encoded)
