"""When which project is built: one build at a time, soon after a change, and never starved by further changes.

Never reads a memory and never builds itself. A change during a build waits for its own build; it stops none.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from threading import Event, RLock
from typing import NamedTuple

from workbench.core.deadline import Clock, Deadline
from workbench.core.limits import Limits
from workbench.core.resource import SnapshotRef
from workbench.core.wire import Wire
from workbench.storage.index_records import Revision

FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 300.0


class Ticket(NamedTuple):
    """One request, by a number that rises over all projects."""

    project_id: str
    number: int


class Look(NamedTuple):
    """What a project's index says of itself now: the revision that answers, and the miv that somebody builds."""

    head: Revision | None
    building_miv: str | None


class Order(NamedTuple):
    """What the worker is to build: the newest memory of a project, which holds at least `snapshot` (where one was
    named). ticket: the newest that this build serves. deadline: to be looked at between batches."""

    ticket: Ticket
    snapshot: SnapshotRef | None
    reason: str
    deadline: Deadline


class Failure(NamedTuple):
    """Why the last build of a project failed, how often in a row, and when it is tried again without a change."""

    error: Exception
    in_a_row: int
    retry_at: float


class Readiness(Wire):
    """Whether the head answers for a snapshot.

    reason: `ready`; `building`, `pending` or `failed` (to be tried again) while work is under way; else what the head
    lacks: `index_preparing` (there is none), `index_stale` (another miv), `dense_not_ready` (another engine).
    """

    ready: bool
    reason: str
    building_miv: str | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: how long a change waits for further ones, how long at most, and how long a build may take."""

    debounce_s: float
    max_wait_s: float
    build_s: float

    @classmethod
    def of(cls, limits: Limits) -> Timing:
        """The timing that the limits say."""
        return cls(limits.debounce_ms / 1000, limits.max_wait_ms / 1000, limits.build_timeout_ms / 1000)


class _Pending(NamedTuple):
    """A project's newest request. first_dirty, last_dirty: of the changes since its last build started.

    retry_at: set while nothing has changed since a failure.
    """

    ticket: Ticket
    snapshot: SnapshotRef | None
    reason: str
    first_dirty: float
    last_dirty: float
    retry_at: float | None = None

    def due(self, timing: Timing) -> float:
        if self.retry_at is not None:
            return self.retry_at
        return min(self.last_dirty + timing.debounce_s, self.first_dirty + timing.max_wait_s)


class Scheduler:
    """Collects changes by project and hands the longest due one to the worker, one at a time. Thread-safe.

    build: called on the executor; what it raises is the project's failure, tried again at the next change, else after
    a pause that doubles. look: asked by `readiness` only; it must not wait. Whoever has just been built becomes due
    later than all who wait, so that a project waits for one build of each other one at most.
    """

    def __init__(
        self,
        build: Callable[[Order], object],
        look: Callable[[str], Look],
        executor: Executor,
        timing: Timing,
        clock: Clock = time.monotonic,
    ) -> None:
        self._build, self._look, self._executor = build, look, executor
        self._timing, self._clock = timing, clock
        self._numbers = itertools.count(1)
        self._pending: dict[str, _Pending] = {}
        self._running: Order | None = None
        self._served: dict[str, int] = {}
        self._failures: dict[str, Failure] = {}
        self._is_stopped = False
        self._lock, self._woken = RLock(), Event()

    def enqueue(self, wanted: SnapshotRef | str, reason: str) -> Ticket:
        """Ask for a build of this snapshot, or of a project as it is by then; replaces what its project waits for."""
        snapshot = None if isinstance(wanted, str) else wanted
        project_id = wanted if isinstance(wanted, str) else wanted.project_id
        with self._lock:
            now, before = self._clock(), self._pending.get(project_id)
            first_dirty = now if before is None or before.retry_at is not None else before.first_dirty
            ticket = Ticket(project_id, next(self._numbers))
            self._pending[project_id] = _Pending(ticket, snapshot, reason, first_dirty, now)
        self._woken.set()
        return ticket

    def tick(self) -> float | None:
        """Start what is due, if the worker is free; seconds to the next start; None when only an event brings one."""
        with self._lock:
            if self._running is not None or self._is_stopped or not self._pending:
                return None
            next_one = min(self._pending.values(), key=lambda one: (one.due(self._timing), one.ticket.number))
            wait_s = next_one.due(self._timing) - self._clock()
            if wait_s > 0:
                return wait_s
            self._start(next_one)
            return None

    def serve(self) -> None:
        """Start builds as they become due until `stop`; for a thread of its own."""
        while not self._is_stopped:
            self._woken.wait(self.tick())
            self._woken.clear()

    def stop(self) -> None:
        """Start nothing more, and ask the running build to stop at its next batch. What waits stays unbuilt."""
        with self._lock:
            self._is_stopped = True
            if self._running is not None:
                self._running.deadline.cancel()
        self._woken.set()

    def interrupt(self, project_id: str) -> None:
        """Stop a project's running build because its result is no longer wanted; the project waits again at once."""
        with self._lock:
            if self._running is not None and self._running.ticket.project_id == project_id:
                self._running.deadline.cancel()

    def is_served(self, ticket: Ticket) -> bool:
        """Whether a build that started after this request has succeeded."""
        return self._served.get(ticket.project_id, 0) >= ticket.number

    def failure(self, project_id: str) -> Failure | None:
        """Why the project's last build failed; None when it succeeded, or none has ended."""
        return self._failures.get(project_id)

    def readiness(self, wanted: SnapshotRef, engine_identity: str | None) -> Readiness:
        """Whether the head is this snapshot by this engine (None: by any). Never builds and never waits."""
        head, building_miv = self._look(wanted.project_id)
        same = head is not None and head.miv == wanted.miv
        encoded = head is not None and engine_identity in (None, head.engine_identity)
        if same and encoded:
            return Readiness(ready=True, reason="ready", building_miv=building_miv)
        lacking = "index_preparing" if head is None else "dense_not_ready" if same else "index_stale"
        under_way = "building" if building_miv else self.activity(wanted.project_id)
        return Readiness(ready=False, reason=under_way or lacking, building_miv=building_miv)

    def activity(self, project_id: str) -> str | None:
        """`building`, `pending`, `failed` (and to be tried again), or None when nothing is under way."""
        with self._lock:
            if self._running is not None and self._running.ticket.project_id == project_id:
                return "building"
            waiting = self._pending.get(project_id)
            return None if waiting is None else "pending" if waiting.retry_at is None else "failed"

    def _start(self, waiting: _Pending) -> None:
        deadline = Deadline(self._clock() + self._timing.build_s, self._clock)
        self._running = Order(waiting.ticket, waiting.snapshot, waiting.reason, deadline)
        del self._pending[waiting.ticket.project_id]
        self._executor.submit(self._run, self._running)

    def _run(self, order: Order) -> None:
        failed: Exception | None = None
        try:
            self._build(order)
        except Exception as error:  # noqa: BLE001 - whatever a build raises must not end the scheduler
            failed = error
        with self._lock:
            self._running = None
            self._note(order, failed)
        self._woken.set()

    def _note(self, order: Order, error: Exception | None) -> None:
        project_id, now = order.ticket.project_id, self._clock()
        if error is None:
            self._served[project_id] = order.ticket.number
            self._failures.pop(project_id, None)
            return
        waiting, retry_at = self._pending.get(project_id), now
        if not order.deadline.cancelled.is_set():
            in_a_row = self._failures[project_id].in_a_row + 1 if project_id in self._failures else 1
            retry_at = now + min(FIRST_RETRY_S * 2 ** (in_a_row - 1), LONGEST_RETRY_S)
            self._failures[project_id] = Failure(error, in_a_row, retry_at)
        if waiting is None:
            self._pending[project_id] = _Pending(order.ticket, order.snapshot, order.reason, now, now, retry_at)
