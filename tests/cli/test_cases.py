"""`case`: a run becomes a case, and a person confirms evidence by rank, by unit or by resource."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Answer, Command


@pytest.fixture
def run(workbench: Command, memory: Path) -> str:
    """A run that finds something."""
    return str(workbench("activate", "what replaced RabbitMQ?", "--project", memory, "--json").json["run_id"])


@pytest.fixture
def case(workbench: Command, run: str) -> dict[str, Any]:
    """Its case, a draft."""
    created: dict[str, Any] = workbench("case", "create", run, "--json").json
    return created


def resolved(workbench: Command, case: dict[str, Any], version: int, *what: object) -> Answer:
    return workbench("case", "resolve", case["case_id"], "--version", version, *what, "--json")


def identities(case: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["resource_id"], one["unit_key"]) for one in case["evidence"]]


def test_a_run_has_one_case_however_it_is_named(workbench: Command, case: dict[str, Any], run: str) -> None:
    assert (case["state"], case["version"], case["query"]) == ("draft", 1, "what replaced RabbitMQ?")
    assert workbench("case", "create", run[:7], "--json").json == case


def test_evidence_is_named_by_rank_by_unit_or_by_resource(workbench: Command, case: dict[str, Any], run: str) -> None:
    first, second = workbench("explain", run, "--json").json["trace"]["candidates"][:2]

    by_rank = resolved(workbench, case, 1, "--rank", 2, "--rank", 1).json
    by_name = resolved(workbench, case, 2, "--evidence", first["unit_key"], "--evidence", second["resource_id"]).json

    units = [(one["resource_id"], one["unit_key"]) for one in (second, first)]
    assert (identities(by_rank), by_rank["state"]) == (units, "ready")
    assert identities(by_name) == [(first["resource_id"], first["unit_key"]), (second["resource_id"], None)]
    assert by_name["version"] == 3


def test_what_is_confirmed_is_shown_beside_the_candidates(workbench: Command, case: dict[str, Any]) -> None:
    resolved(workbench, case, 1, "--evidence", "decisions/queue.md")
    shown = workbench("case", "show", case["case_id"][:8])
    assert "evidence: decisions/queue.md" in shown.out
    assert "1\tits resource\tdecisions/queue.md#" in shown.out
    assert "--version 2" in shown.err


def test_nothing_matched_is_an_answer_of_its_own(workbench: Command, case: dict[str, Any]) -> None:
    assert resolved(workbench, case, 1, "--none-matched").json["state"] == "needs_evidence"
    both = resolved(workbench, case, 2, "--none-matched", "--rank", 1)
    neither = resolved(workbench, case, 2)
    assert [one.json["error"]["code"] for one in (both, neither)] == ["resolution_invalid"] * 2
    assert (both.status, neither.status) == (2, 2)


@pytest.mark.spec("D8")
def test_a_stale_version_is_refused_and_says_what_stands_now(workbench: Command, case: dict[str, Any]) -> None:
    now = resolved(workbench, case, 1, "--rank", 1).json
    late = resolved(workbench, case, 1, "--none-matched")
    assert (late.status, late.json["error"]["code"]) == (2, "evaluation_case_conflict")
    assert late.json["error"]["detail"] == now
    assert workbench("case", "show", case["case_id"], "--json").json == now


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        (["--rank", 99], "invalid_argument", "rank 99"),
        (["--rank", 0], "invalid_argument", "rank 0"),
        (["--rank", 1, "--rank", 1], "evidence_duplicate", "evidence[1]"),
        (["--evidence", "nowhere.md", "--evidence", "发布\udcff.md"], "evidence_invalid", "evidence[1]"),
    ],
)
def test_evidence_that_means_nothing_is_refused_with_its_place(
    workbench: Command, case: dict[str, Any], what: list[object], code: str, said: str
) -> None:
    refused = workbench("case", "resolve", case["case_id"], "--version", 1, *what)
    assert refused.status == 2
    assert refused.err.startswith(f"{code}: ") and said in refused.err


@pytest.mark.parametrize("name", ["nothing", "", "混合", "\udcff", "%' OR 1=1"])
@pytest.mark.parametrize("command", ["create", "show", "resolve"])
def test_an_id_of_nothing_is_said(workbench: Command, command: str, name: str) -> None:
    answer = workbench("case", command, name, *(["--version", 1] if command == "resolve" else []))
    assert answer.status == 2
    assert answer.err.startswith("run_not_found: " if command == "create" else "case_not_found: ")


def test_cases_are_listed_by_project_state_and_id(workbench: Command, memory: Path, case: dict[str, Any]) -> None:
    other = workbench("activate", "signing key", "--project", memory, "--json").json["run_id"]
    ready = workbench("case", "create", other, "--json").json
    resolved(workbench, ready, 1, "--rank", 1)

    def listed(*options: object) -> list[str]:
        return [one["case_id"] for one in workbench("case", "list", "--project", memory, *options, "--json").json]

    assert listed() == [case["case_id"], ready["case_id"]]
    assert listed("--state", "draft") == [case["case_id"]]
    assert listed("--state", "draft", "--state", "ready") == listed()
    assert listed("--case", ready["case_id"][:8]) == [ready["case_id"]]
    assert "signing key" in workbench("case", "list", "--project", memory).out


@pytest.mark.spec("D11")
def test_clearing_the_runs_leaves_those_of_cases(
    workbench: Command, memory: Path, case: dict[str, Any], run: str
) -> None:
    workbench("activate", "signing key", "--project", memory)
    assert workbench("runs", "clear", "--project", memory, "--json").json == {"removed": 1}
    assert [one["run_id"] for one in workbench("runs", "--project", memory, "--json").json] == [run]
    assert resolved(workbench, case, 1, "--rank", 1).status == 0
