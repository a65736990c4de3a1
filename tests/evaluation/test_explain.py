"""Where a resource was lost, told from the record alone."""

from __future__ import annotations

import pytest

from tests.evaluation.recorded import (
    PROJECT,
    Note,
    candidate,
    dropped,
    record_corpus,
    record_run,
    request,
    result,
    trace,
)
from workbench.core.candidate import ExclusionReason
from workbench.core.resource import Scope, Status
from workbench.core.run import RecalledUnit, RunError, RunRecord
from workbench.evaluation.explain import Fate, explain_run
from workbench.evaluation.runs import RunHistory

NOTES = {
    "lost-in-fusion": Note("Lost in fusion", "text"),
    "unseen": Note("Unseen", "text"),
    "混合": Note("混合检索", "text"),
    "twice": Note("One title", "a"),
    "twice-again": Note("One title", "b"),
}


@pytest.fixture
def record(runs: RunHistory) -> RunRecord:
    record_corpus(runs, "miv-1", NOTES)
    candidates = [candidate(1), candidate(2, resource_id="twice-again", rrf_rank=5)]
    candidates += [dropped(3 + place, reason) for place, reason in enumerate(ExclusionReason)]
    candidates += [dropped(30, ExclusionReason.RESOURCE_CAP, resource_id="notes/1.md")]
    fused_out = (RecalledUnit(unit_key="u", resource_id="lost-in-fusion", bm25_rank=59),)
    return runs.get(record_run(runs, *candidates, fused_out=fused_out))


@pytest.mark.field(145)
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("notes/1.md", Fate.SELECTED),
        ("NOTES/1.MD", Fate.SELECTED),
        ("lost-in-fusion", Fate.FUSED_OUT),
        ("at/lost-in-fusion", Fate.FUSED_OUT),
        ("Lost in Fusion", Fate.FUSED_OUT),
        ("unseen", Fate.NOT_RECALLED),
        ("混合检索", Fate.NOT_RECALLED),
        ("never heard of", Fate.NOT_IN_CORPUS),
    ],
)
def test_a_resource_is_found_by_id_path_or_title(runs: RunHistory, record: RunRecord, asked: str, reason: str) -> None:
    answer = runs.why(record, asked)
    assert answer.reason == reason
    assert answer.sentence.startswith(asked)


@pytest.mark.field(145)
def test_every_exclusion_reason_is_the_answer_for_what_it_dropped(runs: RunHistory, record: RunRecord) -> None:
    for place, reason in enumerate(ExclusionReason):
        answer = runs.why(record, f"notes/{3 + place}.md")
        assert answer.reason == reason
        assert f"rank {3 + place}" in answer.sentence


def test_resources_of_one_title_are_answered_by_the_one_that_came_furthest(runs: RunHistory, record: RunRecord) -> None:
    answer = runs.why(record, "one title")
    assert answer.resource_ids == ("twice", "twice-again")
    assert answer.reason == Fate.SELECTED


@pytest.mark.field(145)
def test_what_the_request_left_out_of_scope_is_not_called_unrecalled(runs: RunHistory) -> None:
    persons = Note("Tea", "text").entry("tea")._replace(scope=Scope.USER)
    entries = [persons, Note("Unseen", "text").entry("unseen")]
    runs.record_corpus(PROJECT, "miv-1", entries, lambda _: None)
    run_id = runs.begin(PROJECT, request(scopes=(Scope.PROJECT,)), "key-1") or ""
    runs.succeed(run_id, result(), trace(candidate(1)), 1)

    record = runs.get(run_id)
    assert record.summary.scopes == (Scope.PROJECT,)
    assert runs.why(record, "tea").reason == Fate.OUT_OF_SCOPE
    assert runs.why(record, "unseen").reason == Fate.NOT_RECALLED


def test_what_is_not_current_is_not_called_missing(runs: RunHistory, record: RunRecord) -> None:
    answer = runs.why(record, "old-note", lambda _: Status.SUPERSEDED)
    assert answer.reason == Fate.NOT_CURRENT


def test_a_failed_run_answers_with_its_error(runs: RunHistory) -> None:
    run_id = runs.begin(PROJECT, request(), "key-1")
    runs.fail(run_id, RunError(stage="dense", code="deadline_exceeded", summary="The deadline came."))
    answer = runs.why(runs.get(run_id or ""), "unseen")
    assert (answer.reason, answer.sentence) == (Fate.RUN_NOT_SUCCEEDED, "The run did not succeed: The deadline came.")


def test_the_rows_of_a_run_say_how_far_each_candidate_moved(record: RunRecord) -> None:
    rows = explain_run(record)
    assert [row.final_rank for row in rows] == [one.final_rank for one in record.trace.candidates]
    assert (rows[1].moved, rows[1].outcome, rows[1].heading) == (3, "selected", "Fusion / 混合检索")
    assert rows[2].outcome == "not_current"
