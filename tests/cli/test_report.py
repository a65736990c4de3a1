"""`report`: tables for people, one document for scripts, two files for later, an error where nothing is confirmed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from workbench.app import Home
from workbench.core.case import EvidenceRef


@pytest.fixture
def cases(workbench: Command, memory: Path) -> list[str]:
    """Three ready cases: the second's evidence has no word of its query."""
    workbench("index", memory)
    home = Home.open()
    made = []
    for query, evidence in (
        ("RabbitMQ", "decisions/queue.md"),
        ("thumbnails", "user/tea.md"),
        ("signing key", "log/2026-11.md#2026-11-03"),
    ):
        workbench("--project", memory, "activate", query)
        case = home.cases.create(home.history.list(home.project(memory).project_id, 1)[0].run_id)
        known = {entry.resource_id for entry in home.cases.frozen(case).entries}
        refs = [EvidenceRef(resource_id=evidence if evidence in known else sorted(known)[-1])]
        made.append(home.cases.resolve(case.case_id, case.version, refs, none_matched=False).case_id)
    home.history.close()
    return made


def test_json_is_one_report_of_the_projects_ready_cases(workbench: Command, memory: Path, cases: list[str]) -> None:
    answer = workbench("--project", memory, "report", "--json")

    assert answer.status == 0
    assert {row["case_id"] for row in answer.json["rows"]} == set(cases)
    assert [one["variant"] for one in answer.json["variants"]] == ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf"]
    assert answer.json["trace_p50_us"] > 0 and answer.json["warm"] is None
    assert answer.json["cases"] == 3 and len(answer.json["set_digest"]) == 64


def test_people_see_means_tests_and_notes(workbench: Command, memory: Path, cases: list[str]) -> None:
    answer = workbench("--project", memory, "report")

    assert answer.status == 0
    lines = answer.out.splitlines()
    assert "3 cases" in lines[0]
    assert "order\trecall@20\tndcg@10\tmrr@10" in lines
    assert sum(line.startswith("b3_hybrid_rrf\t") for line in lines) == 2
    assert any(line.startswith("survival in the fragments: ") for line in lines)
    assert "not_measured: b4_reranked" in answer.err and "k_covers_corpus" in answer.err
    assert "warm" not in answer.out


def test_only_the_chosen_cases_are_scored(workbench: Command, memory: Path, cases: list[str]) -> None:
    answer = workbench("report", "--case", cases[0], "--case", cases[2][:12], "--json")

    assert {row["case_id"] for row in answer.json["rows"]} == {cases[0], cases[2]}


def test_the_saved_files_are_the_report_and_a_row_a_case(
    workbench: Command, memory: Path, cases: list[str], tmp_path: Path
) -> None:
    answer = workbench("--project", memory, "report", "--out", tmp_path / "out", "--json")

    saved = (tmp_path / "out" / "report.json").read_text("utf-8")
    assert _loaded(saved) == answer.json
    with (tmp_path / "out" / "cases.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["query"] for row in rows] == [row["query"] for row in answer.json["rows"]]
    assert [float(row["b3_hybrid_rrf ndcg@10"]) for row in rows] == [
        row["figures"]["b3_hybrid_rrf"]["ndcg@10"] for row in answer.json["rows"]
    ]


@pytest.mark.parametrize("command", ["report", "replay", "export"])
def test_a_folder_that_cannot_be_made_is_said_before_anything_is_scored(
    workbench: Command, memory: Path, cases: list[str], tmp_path: Path, command: str
) -> None:
    file = memory / "decisions" / "queue.md"
    done = workbench(command, "--project", memory, "--out", file / "out")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"home_unwritable: Make {file / 'out'} writable")
    assert not (tmp_path / "home" / "replay").exists()


@pytest.mark.field(141)
@pytest.mark.parametrize("also", [[], ["--set", "absent"], ["--case", "absent"]])
def test_where_nothing_is_confirmed_there_is_an_error_and_no_table(
    workbench: Command, memory: Path, also: list[str]
) -> None:
    workbench("index", memory)

    answer = workbench("--project", memory, "report", *also)

    assert answer.status == 2
    assert answer.out == "" and answer.err.strip()


def _loaded(text: str) -> Any:
    import json

    return json.loads(text)
