"""How long runs and bodies stay: 500 unpinned runs a project, and every body for as long as something needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.recorded import PROJECT, Note, candidate, case_book, history, record_corpus, record_run, request
from workbench.core.run import RunState
from workbench.evaluation.runs import RunHistory


def bodies(home: Path) -> set[str]:
    return {file.name for file in home.glob("evaluation-corpora/blobs/*/*")}


@pytest.mark.spec("D10")
def test_the_500_newest_unpinned_runs_stay_and_every_pinned_one(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    ids = [record_run(runs, candidate(1)) for _ in range(500)]
    case_book(tmp_path, runs).create(ids[0])
    other = record_run(runs, project="other")
    ids += [record_run(runs) for _ in range(3)]

    kept = [run.run_id for run in runs.list(PROJECT, 1_000)]
    assert kept == [*reversed(ids[3:]), ids[0]]
    assert runs.get(ids[0]).summary.pinned
    assert len(runs.get(ids[0]).trace.candidates) == 1
    assert [run.run_id for run in runs.list("other", 10)] == [other]


@pytest.mark.spec("D10")
def test_a_running_run_is_never_the_one_to_go(tmp_path: Path) -> None:
    runs = history(tmp_path, retained=2)
    running = runs.begin(PROJECT, request(), "key-1")
    ids = [record_run(runs) for _ in range(4)]
    assert [run.run_id for run in runs.list(PROJECT, 10)] == [ids[3], ids[2], running]


@pytest.mark.spec("D11")
def test_clear_removes_ended_unpinned_runs_only(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    pinned, gone = record_run(runs), record_run(runs)
    running = runs.begin(PROJECT, request(), "key-1")
    other = record_run(runs, project="other")
    case_book(tmp_path, runs).create(pinned)

    assert runs.clear(PROJECT) == 1
    assert {run.run_id for run in runs.list(PROJECT, 10)} == {pinned, running}
    assert gone not in {run.run_id for run in runs.list(PROJECT, 10)}
    assert [run.run_id for run in runs.list("other", 10)] == [other]
    assert runs.clear(PROJECT) == 0


@pytest.mark.spec("D10")
def test_a_body_goes_when_the_last_run_that_searched_it_is_gone(runs: RunHistory, tmp_path: Path) -> None:
    versions = [Note("a", f"version {number}") for number in range(5)]
    kept = Note("b", "stays")
    ids = []
    for number, note in enumerate(versions):
        record_corpus(runs, f"miv-{number}", {"a": note, "b": kept})
        ids.append(record_run(runs, miv=f"miv-{number}"))
    case_book(tmp_path, runs).create(ids[0])
    assert bodies(tmp_path) == {note.content_hash for note in [*versions, kept]}

    runs.clear(PROJECT)

    # Pinned: 0. The latest and the one before it stay for runs to come or under way: 3, 4.
    assert bodies(tmp_path) == {note.content_hash for note in [versions[0], versions[3], versions[4], kept]}
    assert {entry.resource_hash for entry in runs.corpus(runs.get(ids[0]))} == {
        versions[0].content_hash,
        kept.content_hash,
    }


@pytest.mark.spec("D10")
def test_a_body_that_another_project_searched_stays(runs: RunHistory, tmp_path: Path) -> None:
    shared = Note("a", "the same words")
    record_corpus(runs, "x", {"a": shared}, project="other")
    for number in range(4):
        record_corpus(runs, f"miv-{number}", {"a": shared} if number == 0 else {"b": Note("b", str(number))})
    runs.clear(PROJECT)
    assert shared.content_hash in bodies(tmp_path)


def test_clearing_takes_no_run_of_a_state_that_has_not_ended(runs: RunHistory) -> None:
    running = runs.begin(PROJECT, request(), "key-1")
    assert runs.clear(PROJECT) == 0
    assert runs.get(running or "").summary.state is RunState.RUNNING
