"""A history that is looked through: every run on exactly one page, whatever comes in and goes meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.recorded import (
    PROJECT,
    candidate,
    case_book,
    history,
    notes,
    record_corpus,
    record_run,
    request,
    resource,
)
from workbench.core.case import CaseState
from workbench.core.run import RunError
from workbench.evaluation.runs import INTERRUPTED, RunHistory
from workbench.storage.run_pages import ANY_RUN, RunCounts, RunEnd, RunFilter

BROKEN = RunError(stage="fusion", code="internal", summary="broke")


def fail(runs: RunHistory, error: RunError = BROKEN, project: str = PROJECT) -> str:
    run_id = runs.begin(project, request(), "key-1")
    assert run_id is not None and runs.fail(run_id, error)
    return run_id


def walked(
    runs: RunHistory, size: int, chosen: RunFilter = ANY_RUN, projects: tuple[str, ...] = (PROJECT,)
) -> list[str]:
    """The run ids of all pages, one after another."""
    found, behind = [], None
    while True:
        page = runs.page(projects, size, chosen=chosen, behind=behind)
        found += [row.run_id for row in page.rows]
        if not page.more:
            return found
        behind = page.rows[-1].place


@given(count=st.integers(0, 9), size=st.integers(1, 10))
@settings(max_examples=30)
def test_pages_hold_every_run_once_the_newest_first(
    count: int, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = history(tmp_path_factory.mktemp("home"))
    ids = [record_run(runs, project=f"project-{number % 2}") for number in range(count)]

    assert walked(runs, size, projects=("project-0", "project-1")) == list(reversed(ids))
    assert walked(runs, size, projects=("project-1",)) == list(reversed(ids[1::2]))
    runs.close()


def test_a_row_says_what_became_of_its_run_and_of_its_case(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", notes(2))
    answered = record_run(runs, candidate(1), candidate(2))
    broken = fail(runs)
    cases = case_book(tmp_path, runs)
    cases.resolve(cases.create(answered).case_id, 1, [resource(1)], False)

    newest, oldest = runs.page((PROJECT,), 10).rows

    assert (newest.run_id, newest.end, newest.error_code) == (broken, RunEnd.FAILED, "internal")
    assert (newest.latency_us, newest.case_state) == (None, None)
    assert (oldest.run_id, oldest.query, oldest.end) == (answered, "how are hits fused", RunEnd.SUCCEEDED)
    assert (oldest.candidates, oldest.fragments, oldest.latency_us) == (2, 2, 1_500)
    assert (oldest.degradations, oldest.case_state) == (("dense_unavailable",), CaseState.READY)


def test_filters_and_counts_agree(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", notes(1))
    pinned, hit, nothing = record_run(runs, candidate(1)), record_run(runs, candidate(1)), record_run(runs)
    broken, dead = fail(runs), fail(runs, INTERRUPTED)
    running = runs.begin(PROJECT, request(), "key-1")
    fail(runs, project="other")
    case_book(tmp_path, runs).create(pinned)

    counts = runs.counts((PROJECT,))

    assert walked(runs, 2, RunFilter(RunEnd.SUCCEEDED)) == [nothing, hit, pinned]
    assert walked(runs, 2, RunFilter(RunEnd.FAILED)) == [broken]
    assert walked(runs, 2, RunFilter(RunEnd.INTERRUPTED)) == [dead]
    assert walked(runs, 2, RunFilter(RunEnd.RUNNING)) == [running]
    assert walked(runs, 2, RunFilter(zero_hits=True)) == [nothing]
    assert walked(runs, 2, RunFilter(degraded=True)) == [nothing, hit, pinned]
    assert counts == RunCounts(
        {RunEnd.RUNNING: 1, RunEnd.SUCCEEDED: 3, RunEnd.FAILED: 1, RunEnd.INTERRUPTED: 1},
        zero_hits=1,
        degraded=3,
        pinned=1,
        removable=4,
    )
    assert counts.total == runs.page((PROJECT,), 0).total == 6
    assert runs.clear(PROJECT) == counts.removable


def test_a_page_is_found_when_the_run_before_it_has_gone_and_others_have_come(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", {})
    pinned, *others = [record_run(runs) for _ in range(4)]
    case_book(tmp_path, runs).create(pinned)
    first = runs.page((PROJECT,), 2)
    assert [row.run_id for row in first.rows] == [others[2], others[1]]
    record_run(runs)

    runs.clear(PROJECT)

    assert [row.run_id for row in runs.page((PROJECT,), 2, behind=first.rows[-1].place).rows] == [pinned]


def test_a_history_without_runs_is_one_empty_page(runs: RunHistory) -> None:
    assert runs.page((PROJECT,), 10) == ((), 0, False)
    assert runs.page((), 10) == ((), 0, False)
    assert runs.counts((PROJECT,)) == RunCounts(dict.fromkeys(RunEnd, 0), 0, 0, 0, 0)
