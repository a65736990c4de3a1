"""When builds start, on a virtual clock: soon, one at a time, in fair turns, and with nothing forgotten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.deadline import DeadlinePassed
from workbench.core.errors import WorkbenchError
from workbench.core.limits import resolve_limits
from workbench.core.resource import SnapshotRef
from workbench.index.scheduler import LONGEST_RETRY_S, Look, Order, Scheduler, Ticket, Timing
from workbench.storage.index_records import Revision

BUILD_S = 0.3


class World:
    """A virtual clock, a worker that needs `build_s` for every build, and what it was given to do."""

    def __init__(self, build_s: float = BUILD_S) -> None:
        self.now, self.build_s = 0.0, build_s
        self.started: list[tuple[float, Order]] = []
        self.active = self.most_active = 0
        self.outcome: Callable[[Order], object] = lambda order: None
        self.heads: dict[str, Look] = {}
        self.worker = Worker(self)
        timing = Timing.of(resolve_limits())
        self.scheduler = Scheduler(self._build, self._look, self.worker, timing, lambda: self.now)

    def pass_until(self, end: float) -> None:
        """Let time pass; the scheduler is asked whenever it said it wants to be, and after every build."""
        while True:
            wait = self.scheduler.tick()
            events = [self.worker.ends_at] if self.worker.ends_at is not None else []
            events += [self.now + wait] if wait is not None else []
            if not events or min(events) > end:
                self.now = max(self.now, end)
                return
            self.now = max(self.now, min(events))
            self.worker.finish_due()

    def starts(self, project_id: str | None = None) -> list[float]:
        return [at for at, order in self.started if project_id in (None, order.ticket.project_id)]

    def _build(self, order: Order) -> None:
        self.outcome(order)

    def _look(self, project_id: str) -> Look:
        return self.heads.get(project_id, Look(None, None))


class Worker(Executor):
    """Runs what it was given when virtual time has reached its end."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._job: Callable[[], Any] | None = None
        self.ends_at: float | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        world = self._world
        world.active += 1
        world.most_active = max(world.most_active, world.active)
        world.started.append((world.now, args[0]))
        self._job, self.ends_at = (lambda: fn(*args, **kwargs)), world.now + world.build_s
        return Future()

    def finish_due(self) -> None:
        if self._job is not None and self.ends_at is not None and self.ends_at <= self._world.now:
            job, self._job, self.ends_at = self._job, None, None
            self._world.active -= 1
            job()


def snapshot(project_id: str, miv: str) -> SnapshotRef:
    return SnapshotRef(project_id, miv, 1)


def revision(miv: str, engine: str | None) -> Revision:
    made_by = (engine, engine, 32 if engine else None)
    return Revision(1, "p", miv, 1, *made_by, ("identity", "words"), "", "", "", "", 1, 1, 1, "")


@pytest.mark.spec("T2-5")
def test_a_write_each_50_ms_is_built_within_a_second_and_nothing_is_aborted() -> None:
    world = World(build_s=0.7)
    for number in range(100):
        world.pass_until(number * 0.05)
        world.scheduler.enqueue(snapshot("p", f"miv-{number}"), "write")
    world.pass_until(20.0)

    assert world.starts()[0] == pytest.approx(1.0)
    assert world.most_active == 1
    assert not any(order.deadline.passed for _, order in world.started[:1])
    assert not any(order.deadline.cancelled.is_set() for _, order in world.started)
    assert all(later - earlier <= 0.7 + 1.0 + 0.05 for earlier, later in pairwise(world.starts()))
    assert world.started[-1][1].snapshot == snapshot("p", "miv-99")


@pytest.mark.spec("T2-5")
def test_a_single_write_waits_for_its_debounce_only() -> None:
    world = World()
    world.pass_until(5.0)
    ticket = world.scheduler.enqueue("p", "write")
    world.pass_until(6.0)

    assert world.starts() == [pytest.approx(5.2)]
    assert world.scheduler.is_served(ticket)


@pytest.mark.field(49)
def test_a_write_during_a_build_gets_its_own_build_after_it() -> None:
    world = World(build_s=2.0)
    world.scheduler.enqueue(snapshot("p", "one"), "write")
    world.pass_until(1.0)
    during = world.scheduler.enqueue(snapshot("p", "two"), "write")
    world.pass_until(2.1)
    assert [order.snapshot for _, order in world.started] == [snapshot("p", "one")]
    assert not world.scheduler.is_served(during)

    world.pass_until(10.0)

    assert [order.snapshot for _, order in world.started] == [snapshot("p", "one"), snapshot("p", "two")]
    assert world.starts()[1] == pytest.approx(2.2)
    assert world.scheduler.is_served(during)


@pytest.mark.field(47)
def test_a_failed_build_is_tried_again_ever_later_and_at_once_after_a_change() -> None:
    world = World(build_s=0.0)
    world.outcome = _fail
    first = world.scheduler.enqueue("p", "write")
    world.pass_until(4.0)

    assert world.starts() == [pytest.approx(0.2), pytest.approx(1.2), pytest.approx(3.2)]
    failure = world.scheduler.failure("p")
    assert failure is not None and failure.in_a_row == 3 and "disk" in str(failure.error)
    assert world.scheduler.activity("p") == "failed" and not world.scheduler.is_served(first)

    world.outcome = lambda order: None
    world.scheduler.enqueue("p", "write")
    world.pass_until(5.0)

    assert world.starts()[3:] == [pytest.approx(4.2)]
    assert world.scheduler.failure("p") is None and world.scheduler.activity("p") is None
    assert world.scheduler.is_served(first)


def test_the_pause_between_tries_has_an_end_to_its_growth() -> None:
    world = World(build_s=0.0)
    world.outcome = _fail
    world.scheduler.enqueue("p", "write")
    world.pass_until(3_000.0)

    pauses = [round(later - earlier, 6) for earlier, later in pairwise(world.starts())]
    assert pauses == sorted(pauses) and pauses[-1] == pytest.approx(LONGEST_RETRY_S)


def test_a_build_is_stopped_by_its_timeout_and_counts_as_failed() -> None:
    world = World(build_s=resolve_limits().build_timeout_ms / 1000 + 1)
    world.outcome = lambda order: order.deadline.check()
    world.scheduler.enqueue("p", "write")
    world.pass_until(world.build_s + 0.3)

    failure = world.scheduler.failure("p")
    assert failure is not None and isinstance(failure.error, DeadlinePassed)


@pytest.mark.spec("T6-4")
def test_an_interrupted_build_is_no_failure_and_its_project_waits_again_at_once() -> None:
    world = World()
    world.outcome = lambda order: order.deadline.check()
    ticket = world.scheduler.enqueue("p", "write")
    world.pass_until(0.3)
    world.scheduler.interrupt("other")
    world.scheduler.interrupt("p")
    world.pass_until(2.0)

    assert world.starts() == [pytest.approx(0.2), pytest.approx(0.2 + BUILD_S)]
    assert world.scheduler.failure("p") is None
    assert world.scheduler.is_served(ticket)


def test_a_stop_starts_nothing_more_and_asks_the_running_build_to_end() -> None:
    world = World()
    world.scheduler.enqueue("p", "write")
    world.pass_until(0.3)
    world.scheduler.enqueue("q", "write")
    world.scheduler.stop()
    world.pass_until(9.0)

    assert world.starts("q") == []
    assert world.started[0][1].deadline.passed


def test_readiness_says_what_is_lacking_and_what_is_under_way() -> None:
    world, wanted = World(), snapshot("p", "new")
    ready = world.scheduler.readiness

    assert ready(wanted, "e").reason == "index_preparing"
    world.heads["p"] = Look(revision("old", "e"), None)
    assert ready(wanted, "e").reason == "index_stale"
    world.heads["p"] = Look(revision("new", "d"), None)
    assert ready(wanted, "e").reason == "dense_not_ready"
    world.heads["p"] = Look(revision("new", None), "new")
    assert (ready(wanted, "e").reason, ready(wanted, "e").building_miv) == ("building", "new")
    assert ready(wanted, None).ready
    world.heads["p"] = Look(revision("new", "e"), None)
    assert ready(wanted, "e").ready and ready(wanted, "e").reason == "ready"

    world.scheduler.enqueue(snapshot("p", "newer"), "write")
    assert ready(snapshot("p", "newer"), "e").reason == "pending"
    assert world.started == []


EVENTS = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 2), st.booleans()), min_size=1, max_size=30)


@given(events=EVENTS, build_s=st.floats(0, 3))
def test_whatever_comes_builds_are_single_fair_newest_first_and_none_is_forgotten(
    events: list[tuple[str, float, bool]], build_s: float
) -> None:
    """Each event: a project, the seconds since the event before, and whether the next build of any project fails."""
    world = World(build_s)
    failing = iter([fails for _, _, fails in events])
    world.outcome = lambda order: _fail(order) if next(failing, False) else None
    tickets: list[tuple[float, Ticket]] = []
    for number, (project_id, pause, _) in enumerate(events):
        world.pass_until(world.now + pause)
        tickets.append((world.now, world.scheduler.enqueue(snapshot(project_id, str(number)), "write")))
    world.pass_until(world.now + 10_000)

    assert world.most_active == 1
    assert all(world.scheduler.is_served(ticket) for _, ticket in tickets)
    for at, order in world.started:
        newest = [ticket for when, ticket in tickets if ticket.project_id == order.ticket.project_id and when <= at]
        assert order.ticket.number <= newest[-1].number
    for project_id in "abc":
        mine = [(at, ticket) for at, ticket in tickets if ticket.project_id == project_id]
        built = [(at, order) for at, order in world.started if order.ticket.project_id == project_id]
        assert not mine or built[-1][1].ticket == mine[-1][1]
        _check_turns(world, mine, built)


def _check_turns(world: World, asked: list[tuple[float, Ticket]], built: list[tuple[float, Order]]) -> None:
    """Between a request's due time and the start that serves it, no other project is built twice."""
    for at, ticket in asked:
        start = min(when for when, order in built if order.ticket.number >= ticket.number)
        others = [o.ticket.project_id for when, o in world.started if at + 1.0 <= when < start]
        mine = ticket.project_id
        assert all(others.count(other) <= 1 for other in set(others) - {mine}), (at, start, others)


def _fail(order: Order) -> None:
    raise WorkbenchError("index_build_failed", "The disk is full; make room.")
