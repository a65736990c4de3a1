"""`replay` and `report --warm`: another setting over the frozen corpora, beside the runs of then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

QUERIES = ("what replaced RabbitMQ?", "object storage", "发布检查")


@pytest.fixture
def cases(workbench: Command, memory: Path) -> list[str]:
    """A ready case for each query, whose first candidate is the evidence."""
    made = []
    for query in QUERIES:
        run = workbench("activate", query, "--project", memory, "--json").json["run_id"]
        case = workbench("case", "create", run, "--json").json["case_id"]
        workbench("case", "resolve", case, "--version", 1, "--rank", 1)
        made.append(case)
    return made


def test_both_reports_and_their_paired_differences_are_shown(
    workbench: Command, memory: Path, cases: list[str]
) -> None:
    shown = workbench("replay", "--project", memory, "--engine", "none", "--limit", "fragments=1")

    assert shown.status == 0
    source, replayed, differences = shown.out.split("\n\n")
    assert source.startswith("source: ") and f"{len(cases)} cases" in source
    assert "engine none, lexical words, no cross-encoder, fragments 1" in replayed
    assert differences.splitlines()[0].startswith("order\tmetric\tbefore\tafter")
    assert "no_page_titles" in shown.err


def test_the_json_document_says_what_was_replayed_and_nothing_changed_where_nothing_was_set(
    workbench: Command, memory: Path, cases: list[str]
) -> None:
    outcome = workbench("replay", "--project", memory, "--json").json

    assert outcome["config"]["limits"] == {}
    assert outcome["source"]["set_digest"] == outcome["replayed"]["set_digest"]
    assert [one["figures"] for one in outcome["replayed"]["rows"]] == [
        one["figures"] for one in outcome["source"]["rows"]
    ]
    assert {change["difference"]["mean"] for change in outcome["comparison"]["changes"]} == {0}


def test_only_the_chosen_cases_are_replayed_and_saved(
    workbench: Command, memory: Path, cases: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"

    shown = workbench("replay", "--case", cases[1][:12], "--lexical", "contract", "--out", out, "--json")

    saved = {name: json.loads((out / name / "report.json").read_text("utf-8")) for name in ("source", "replayed")}
    assert [row["case_id"] for row in saved["replayed"]["rows"]] == [cases[1]]
    assert saved == {name: shown.json[name] for name in saved}
    assert json.loads((out / "comparison.json").read_text("utf-8")) == shown.json["comparison"]
    assert (out / "replayed" / "cases.csv").is_file()


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        (("--limit", "fragments"), 2, "invalid_argument"),
        (("--limit", "fragments=many"), 2, "invalid_argument"),
        (("--limit", f"fragments={'9' * 5_000}"), 2, "invalid_argument"),
        (("--limit", "arm_width=0"), 2, "limits_invalid"),
        (("--engine", "no-such-model"), 2, "model_unknown"),
        (("--engine", "e5-small"), 3, "model_missing"),
        (("--set", "no-such-set"), 2, "invalid_argument"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(
    workbench: Command, memory: Path, cases: list[str], said: tuple[str, ...], status: int, code: str
) -> None:
    where = () if said[0] == "--set" else ("--project", memory)
    refused = workbench("replay", *where, *said)
    assert (refused.status, refused.err.partition(":")[0], refused.out) == (status, code, "")


def test_no_ready_case_is_said(workbench: Command, memory: Path) -> None:
    assert workbench("replay", "--project", memory).err.startswith("case_not_found: ")


def test_a_report_measures_warm_latency_when_asked(workbench: Command, memory: Path, cases: list[str]) -> None:
    assert workbench("report", "--project", memory, "--json").json["warm"] is None

    warm = workbench("report", "--project", memory, "--warm", 2, "--json").json["warm"]

    assert (warm["repeats"], warm["cases"], warm["engine"]) == (2, len(cases), "fake")
    assert "warm\tp50 ms\tp95 ms\nwhole\t" in workbench("report", "--project", memory, "--warm", 1).out
