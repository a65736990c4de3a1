"""What a run says afterwards: the same as the pipeline said, or a bounded error, and never for longer than agreed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.evaluation.recorded import (
    PROJECT,
    candidate,
    dropped,
    fragment,
    history,
    index_state,
    record_run,
    request,
    result,
    trace,
    traces,
)
from workbench.core.candidate import ExclusionReason
from workbench.core.errors import InputError
from workbench.core.run import RecalledUnit, RunError, RunState, Trace
from workbench.evaluation.runs import RunHistory


@pytest.mark.spec("D6")
@pytest.mark.field(145)
def test_a_succeeded_run_comes_back_field_by_field(runs: RunHistory) -> None:
    chosen = candidate(1, vector_rank=4, vector_score=0.0, rerank_rank=1, rerank_score=-3.5)
    lost = dropped(2, ExclusionReason.TOKEN_BUDGET)
    went_out = result(fragment(chosen), fragment(candidate(3), text=None), decision={"tier": "summary"})
    seen = trace(chosen, lost, fused_out=(RecalledUnit(unit_key="u", resource_id="r", vector_rank=60),))

    run_id = runs.begin(PROJECT, request("混合检索"), "key-1")
    assert runs.succeed(run_id, went_out, seen, 1_500)
    record = runs.get(run_id or "")

    assert record.trace == seen
    assert record.fragments == went_out.fragments
    summary = record.summary
    assert (summary.query, summary.request_key, summary.state) == ("混合检索", "key-1", RunState.SUCCEEDED)
    assert (summary.index, summary.ordering, summary.budget) == (went_out.index, went_out.ordering, went_out.budget)
    assert (summary.degradations, summary.stage_us) == (went_out.degradations, went_out.stage_us)
    assert (summary.candidate_count, summary.fragment_count, summary.latency_us) == (2, 2, 1_500)


@pytest.mark.spec("D6")
@given(seen=traces)
@settings(max_examples=60)
def test_any_trace_comes_back_as_it_was(seen: Trace, tmp_path_factory: pytest.TempPathFactory) -> None:
    runs = history(tmp_path_factory.mktemp("home"))
    run_id = runs.begin(PROJECT, request(), "key")
    assert run_id is not None and runs.succeed(run_id, result(), seen, 1)
    assert runs.get(run_id).trace == seen
    runs.close()


@pytest.mark.spec("D7")
def test_a_failed_run_keeps_its_stage_and_a_bounded_error(runs: RunHistory) -> None:
    run_id = runs.begin(PROJECT, request(), "key-1")
    error = RunError.bounded("lexical" * 20, "deadline_exceeded" * 20, "之" * 2_000)
    assert runs.fail(run_id, error, latency_us=7, index=index_state("miv-9"), stage_us={"identity": 5})

    summary = runs.get(run_id or "").summary
    assert summary.state is RunState.FAILED
    assert summary.error == error
    assert (len(error.stage), len(error.code), len(error.summary)) == (64, 64, 512)
    assert (summary.index, summary.stage_us, summary.latency_us) == (index_state("miv-9"), {"identity": 5}, 7)


def test_a_run_ends_once(runs: RunHistory) -> None:
    run_id = record_run(runs, candidate(1))
    assert not runs.fail(run_id, RunError(stage="s", code="c", summary="late"))
    assert not runs.succeed(run_id, result(), trace(), 1)
    assert runs.get(run_id).summary.candidate_count == 1


def test_nothing_is_written_for_a_run_that_was_never_begun(runs: RunHistory) -> None:
    assert not runs.succeed(None, result(), trace(), 1)
    assert not runs.fail(None, RunError(stage="s", code="c", summary="x"))
    assert runs.list(PROJECT, 10) == ()


def test_runs_are_listed_newest_first_and_per_project(runs: RunHistory) -> None:
    first, second = record_run(runs), record_run(runs)
    record_run(runs, project="other")
    assert [run.run_id for run in runs.list(PROJECT, 10)] == [second, first]
    assert [run.run_id for run in runs.list(PROJECT, 1)] == [second]


def test_times_are_told_in_utc(tmp_path: Path) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    runs = history(tmp_path, clock=lambda: noon.astimezone(UTC))
    assert runs.get(record_run(runs)).summary.started_at == "2026-03-01T04:00:00.000Z"


def test_a_run_is_found_by_any_unique_beginning_of_its_id(runs: RunHistory) -> None:
    ids = [record_run(runs) for _ in range(17)]
    assert runs.get(ids[0][:12].upper()).summary.run_id == ids[0]
    shared = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    with pytest.raises(InputError) as several:
        runs.get(shared)
    assert several.value.code == "invalid_argument"


@pytest.mark.parametrize("unknown", ["", "zz", "0" * 32, "%", "' OR 1=1 --"])
def test_an_unknown_run_is_said_to_be_unknown(runs: RunHistory, unknown: str) -> None:
    record_run(runs)
    with pytest.raises(InputError) as error:
        runs.get(unknown)
    assert error.value.code == "run_not_found"


def test_a_long_observation_does_not_swell_the_history(runs: RunHistory, tmp_path: Path) -> None:
    long = request().model_copy(update={"observation": "log line\n" * 500_000, "state": "s" * 500_000})
    assert runs.begin(PROJECT, long, "key-1")
    assert sum(file.stat().st_size for file in tmp_path.glob("local.db*")) < 500_000
