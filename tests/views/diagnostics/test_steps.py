"""Diagnostics without a browser and without a store: whatever a person does, nothing goes that was not asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.recorded import candidate, candidates, dropped, index_state
from workbench.core.candidate import Candidate, ExclusionReason
from workbench.core.case import CaseState
from workbench.core.run import RunRecord, RunState, RunSummary, Trace
from workbench.evaluation.explain import Whereabouts
from workbench.storage.run_pages import RunCounts, RunEnd, RunFilter, RunPage, RunRow
from workbench.views.diagnostics import steps
from workbench.views.diagnostics.candidates import Column, Sort, outcome, sorted_candidates
from workbench.views.diagnostics.render import render
from workbench.views.diagnostics.state import (
    PAGE_ROWS,
    Clear,
    Count,
    DiagnosticsState,
    Kind,
    List,
    Look,
    Open,
    Question,
    Saved,
    Sheet,
    Stop,
    Task,
    Why,
)

Event = Callable[[DiagnosticsState], DiagnosticsState]
PROJECTS = ("notes", "log")


def summary(row: RunRow) -> RunSummary:
    values: dict[str, Any] = dict.fromkeys(("latency_us", "ordering", "budget", "scopes"))
    return RunSummary(
        run_id=row.run_id,
        project_id=row.project_id,
        request_key=row.run_id,
        query=row.query,
        state=RunState.RUNNING if row.end is RunEnd.RUNNING else RunState.SUCCEEDED,
        started_at=row.started_at,
        index=index_state(),
        stage_us={"lexical": 1_200},
        degradations=(),
        candidate_count=row.candidates,
        fragment_count=row.fragments,
        pinned=row.case_state is not None,
        **values,
    )


def row(place: int, project: str, end: RunEnd, case: CaseState | None) -> RunRow:
    at = "2026-01-01T00:00:00Z"
    return RunRow(place, f"run-{place}", project, f"question {place}", end, at, 1_500, 2, 1, (), None, case)


@dataclass
class World:
    """A state, and a store of a few lines. Work that takes its time is done when `end` is called."""

    rows: list[RunRow]
    state: DiagnosticsState = field(default_factory=lambda: DiagnosticsState(PROJECTS))
    working: Clear | None = None
    removed: list[str] = field(default_factory=list)

    def do(self, event: Event) -> None:
        self.state = event(self.state)
        while (wanted := self.state.request) is not None:
            self.state = replace(self.state, request=None)
            match wanted:
                case List():
                    shown = self.shown()
                    page = [one for one in shown if not self.state.behind or one.place < self.state.behind[-1]]
                    found = RunPage(tuple(page[:PAGE_ROWS]), len(shown), len(page) > PAGE_ROWS)
                    self.state = steps.listed(self.state, found, self.counts(), {})
                case Open(run_id):
                    found_rows = [one for one in self.rows if one.run_id == run_id]
                    self.state = self.opened(found_rows[0]) if found_rows else steps.failed(self.state, "gone")
                case Why(resource):
                    answer = Whereabouts(resource=resource, resource_ids=(), reason="not_in_corpus", sentence="No.")
                    self.state = steps.answered(self.state, answer)
                case Count():
                    counts = self.counts()
                    running = counts.total - counts.removable - counts.pinned
                    question = Question(self.state.shown_projects, counts.removable, counts.pinned, running)
                    self.state = steps.counted_to_clear(self.state, question)
                case Clear():
                    self.working = wanted
                case Look() | Stop():
                    pass
                case _:
                    self.working = None

    def opened(self, found: RunRow) -> DiagnosticsState:
        trace = Trace(candidates=(candidate(1), dropped(2, ExclusionReason.OVERLAP)), fused_out=())
        record = RunRecord(summary=summary(found), trace=trace, fragments=(), corpus_size=2, manifest=1)
        return steps.opened(self.state, Sheet(record, found.case_state))

    def end(self) -> None:
        """What is under way is done."""
        if self.working is not None:
            question, self.working = self.working.question, None
            gone = [one.run_id for one in self.rows if one.project_id in question.project_ids and removable(one)]
            self.rows = [one for one in self.rows if one.run_id not in gone]
            self.removed += gone
            self.do(lambda state: steps.cleared(state, question, len(gone)))
        elif self.state.task is not None:
            self.do(lambda state: steps.task_failed(state, "It did not work."))

    def shown(self) -> list[RunRow]:
        chosen = self.state.filter
        return [
            one
            for one in sorted(self.rows, key=lambda one: -one.place)
            if one.project_id in self.state.shown_projects and chosen.end in (None, one.end)
        ]

    def counts(self) -> RunCounts:
        mine = [one for one in self.rows if one.project_id in self.state.shown_projects]
        ends = {end: sum(one.end is end for one in mine) for end in RunEnd}
        pinned = sum(one.case_state is not None for one in mine)
        return RunCounts(ends, 0, 0, pinned, sum(map(removable, mine)))


def removable(one: RunRow) -> bool:
    return one.case_state is None and one.end is not RunEnd.RUNNING


looking: st.SearchStrategy[tuple[str, Event]] = st.one_of(
    st.sampled_from([("newest", steps.newest), ("older", steps.older), ("newer", steps.newer), ("look", steps.look)]),
    st.integers(0, 130).map(lambda place: (f"open {place}", lambda state: steps.open_run(state, f"run-{place}"))),
    st.integers(-3, 3).map(lambda by: (f"neighbour {by}", lambda state: steps.neighbour(state, by))),
    st.sampled_from(Column).map(lambda column: (f"sort {column}", lambda state: steps.sort(state, column))),
    st.sampled_from(["", " ", "a.md"]).map(lambda name: (f"why {name}", lambda state: steps.why(state, name))),
    st.tuples(st.sampled_from([None, *RunEnd]), st.sampled_from(["", *PROJECTS, "other"])).map(
        lambda one: (f"choose {one}", lambda state: steps.choose(state, RunFilter(one[0]), one[1]))
    ),
)
working: st.SearchStrategy[tuple[str, Event]] = st.sampled_from(
    [
        ("measure", steps.measure),
        ("export", lambda state: steps.export(state, "out")),
        ("stop", steps.stop),
        ("progress", lambda state: steps.advanced(state, "read", 1, 2)),
    ]
)
clearing: st.SearchStrategy[tuple[str, Event]] = st.sampled_from(
    [("ask", steps.ask_to_clear), ("keep", steps.keep_history), ("clear", steps.clear)]
)
events = st.one_of(looking, working, clearing)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Where any sequence of events leads, over a history of up to three pages."""
    kinds = st.tuples(
        st.sampled_from(PROJECTS), st.sampled_from(RunEnd), st.sampled_from([None, None, CaseState.READY])
    )
    made = draw(st.lists(kinds, max_size=5)) * draw(st.sampled_from([1, 1, 2, 20]))
    world = World([row(place, *kind) for place, kind in enumerate(made)])
    world.do(steps.newest)
    for _ in range(draw(st.integers(0, 10))):
        world.do(draw(events)[1])
        if draw(st.booleans()):
            world.end()
    return world


@given(worlds(), events)
def test_nothing_stays_wanted_and_the_page_is_one_of_the_filter(world: World, event: tuple[str, Event]) -> None:
    world.do(event[1])

    state = world.state
    assert state.request is None
    assert state.page.rows or not state.behind
    assert all(one.project_id in state.shown_projects for one in state.page.rows)
    assert all(state.filter.end in (None, one.end) for one in state.page.rows)
    assert [one.place for one in state.page.rows] == sorted((one.place for one in state.page.rows), reverse=True)


@given(worlds())
def test_pages_show_every_run_once_and_newer_takes_older_back(world: World) -> None:
    world.do(steps.newest)
    pages = [world.state]
    while world.state.page.more:
        world.do(steps.older)
        pages.append(world.state)

    assert [one for state in pages for one in state.page.rows] == world.shown()
    for before in reversed(pages[:-1]):
        world.do(steps.newer)
        assert (world.state.page, world.state.behind) == (before.page, before.behind)


@given(worlds(), st.lists(st.one_of(looking, working), max_size=6))
def test_nothing_is_removed_without_a_yes_to_a_question(world: World, others: list[tuple[str, Event]]) -> None:
    world.end()
    world.do(steps.keep_history)
    rows = list(world.rows)

    world.do(steps.ask_to_clear)
    world.do(steps.keep_history)
    for _, event in others:
        world.do(event)
    world.do(steps.clear)
    world.end()

    assert world.rows == rows


@given(worlds())
def test_a_yes_removes_what_was_asked_about_and_says_how_much(world: World) -> None:
    world.end()
    world.do(steps.ask_to_clear)
    question = world.state.question
    if question is None:
        assert "no run to remove" in world.state.message.text
        return
    before, removed = list(world.rows), len(world.removed)

    world.do(steps.clear)
    assert world.state.task == Task(Kind.CLEAR) and world.state.question is None
    world.end()

    gone = world.removed[removed:]
    assert len(gone) == question.removable
    assert world.state.message.text.startswith(f"{question.removable} run")
    assert all(removable(one) for one in before if one.run_id in gone)
    assert world.state.run_id not in gone


@given(worlds(), st.sampled_from([steps.measure, lambda state: steps.export(state, "x"), steps.ask_to_clear]))
def test_while_something_is_under_way_nothing_else_begins(world: World, event: Event) -> None:
    world.end()
    world.do(steps.keep_history)
    world.do(steps.measure)
    before = world.state

    world.do(event)

    assert replace(world.state, message=before.message) == before
    assert "Wait until the benchmark is done" in world.state.message.text and world.state.message.bad


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        (3, "3 runs removed."),
        (4, "4 runs removed. 1 of them ended after they were counted."),
        (1, "1 run removed. 2 fewer than were counted: meanwhile they got a case, or went by themselves."),
    ],
)
def test_a_difference_from_what_was_counted_is_said(removed: int, said: str) -> None:
    state = steps.cleared(DiagnosticsState(PROJECTS), Question(PROJECTS, 3, 1, 1), removed)

    assert state.message.text == said


def test_what_is_stopped_says_that_nothing_was_written_and_stop_is_said_once() -> None:
    state = steps.export(DiagnosticsState(PROJECTS), " out ")
    asked = steps.stop(replace(state, request=None))
    assert asked.request == Stop() and asked.task == Task(Kind.EXPORT, stopping=True)

    assert steps.stop(replace(asked, request=None)).request is None
    ended = steps.stopped(asked)

    assert ended.task is None and ended.message.text == "Stopped; nothing was written."


def test_files_that_were_written_are_named() -> None:
    state = steps.exported(DiagnosticsState(PROJECTS), Saved("/out", (), 1, "abc"))

    assert state.message.text == "1 case exported into /out."


def test_looking_is_asked_for_once_at_a_time() -> None:
    state = steps.look(DiagnosticsState(PROJECTS))
    assert state.request == Look()

    assert steps.look(replace(state, request=None)).request is None
    assert not steps.looked(state, ()).looking


@given(st.integers(0, 8).flatmap(lambda count: st.tuples(*(candidates(rank + 1) for rank in range(count)))))
def test_a_sorted_table_has_every_candidate_the_unranked_last(shown: tuple[Candidate, ...]) -> None:
    ranks: dict[Column, Callable[[Candidate], Any]] = {
        Column.FINAL: lambda one: one.final_rank,
        Column.EXACT: lambda one: one.exact_rank,
        Column.VECTOR: lambda one: one.vector_rank,
        Column.PATH: lambda one: one.path,
        Column.OUTCOME: outcome,
    }
    for column in Column:
        for descending in (False, True):
            made = sorted_candidates(shown, Sort(column, descending))
            assert sorted(one.final_rank for one in made) == sorted(one.final_rank for one in shown)
            if column in ranks:
                found = [ranks[column](one) for one in made]
                values = [value for value in found if value is not None]
                assert found[: len(values)] == sorted(values, reverse=descending)


def test_the_same_head_twice_turns_the_order_round() -> None:
    assert Sort().by(Column.BM25) == Sort(Column.BM25)
    assert Sort().by(Column.BM25).by(Column.BM25) == Sort(Column.BM25, descending=True)
    assert Sort(Column.BM25, descending=True).by(Column.BM25) == Sort(Column.BM25)


@given(worlds())
def test_every_state_can_be_told_as_plain_values(world: World) -> None:
    view = render(world.state)

    assert json.loads(json.dumps(view))["runs"]["total"] == world.state.page.total
    assert view["run"].get("run", "") == world.state.run_id
    if world.state.page.rows:
        shown = view["runs"]["first"] + len(view["runs"]["rows"]) - 1
        assert shown <= world.state.page.total and (shown == world.state.page.total) != world.state.page.more
