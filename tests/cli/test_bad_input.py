"""Bad input gives a stable code or an answer: nothing is lost, and no traceback is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.places import finished
from tests.app.places import workbench as workbench_process
from tests.cli.conftest import Command

OPERATORS = (
    '"',
    "*",
    "AND",
    "NOT x",
    "(quick",
    "title:x",
    "a-b",
    "NEAR(a b)",
    "^x",
    "{body}:x",
    "don't",
    "a/b",
    "+",
)


@pytest.mark.parametrize("query", ["", "   ", "x" * 5000, "a\x00b", "half \ud83d"])
def test_a_query_that_is_no_text_is_refused(workbench: Command, memory: Path, query: str) -> None:
    answer = workbench("activate", query, "--project", memory)

    assert answer.status == 2
    assert answer.err.startswith("invalid_query: ")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("query", [*OPERATORS, "/etc/passwd", "../../secret.md", "decisions/queue.md"])
def test_punctuation_and_paths_are_only_text(workbench: Command, memory: Path, query: str) -> None:
    answer = workbench("activate", "--project", memory, "--json", "--", query)

    assert answer.status == 0
    assert isinstance(answer.json["fragments"], list)


def test_a_missing_folder_is_named(workbench: Command, tmp_path: Path) -> None:
    answer = workbench("index", tmp_path / "nowhere")

    assert answer.status == 2
    assert answer.err.startswith("project_unknown: ")


def test_a_folder_without_markdown_answers_nothing_and_says_so(workbench: Command, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    indexed, answer = workbench("index", empty), workbench("activate", "anything", "--project", empty, "--json")

    assert indexed.status == 0 and "No Markdown" in indexed.err
    assert answer.status == 0 and answer.json["fragments"] == []


def test_a_home_that_cannot_be_written_is_named(
    workbench: Command, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("WORKBENCH_HOME", str(blocked / "home"))

    answer = workbench("index", memory)

    assert answer.status == 2
    assert answer.err.startswith("home_unwritable: ")


def test_an_index_that_was_never_built_is_not_ready(workbench: Command, memory: Path) -> None:
    answer = workbench("activate", "key", "--project", memory, "--no-refresh", "--json")

    assert answer.status == 3
    assert answer.json["error"]["code"] == "index_preparing"


def test_an_unknown_option_is_named(workbench: Command, memory: Path) -> None:
    answer = workbench("activate", "key", "--project", memory, "--glob", "x")

    assert answer.status == 2
    assert answer.err.startswith("invalid_argument: ") and "--glob" in answer.err


def test_an_unknown_run_is_not_found(workbench: Command) -> None:
    answer = workbench("explain", "feedbeef", "--json")

    assert (answer.status, answer.json["error"]["code"]) == (2, "run_not_found")


def test_a_damaged_state_file_is_refused_and_kept(workbench: Command, memory: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("not a state", encoding="utf-8")

    answer = workbench("activate", "key", "--project", memory, "--state", state, "--json")

    assert (answer.status, answer.json["error"]["code"]) == (2, "activation_state_invalid")
    assert state.read_text(encoding="utf-8") == "not a state"


def test_a_root_that_is_suddenly_empty_keeps_its_index(workbench: Command, memory: Path) -> None:
    workbench("index", memory)
    for page in memory.rglob("*.md"):
        page.rename(page.with_suffix(".away"))

    refused = workbench("index", memory, "--json")
    answer = workbench("activate", "signing key", "--project", memory, "--no-refresh", "--json")

    assert refused.json["error"]["code"] == "project_unreadable"
    assert answer.json["fragments"]


def test_a_wrong_setting_is_named_with_its_value(
    workbench: Command, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_THREADS", "many")

    answer = workbench("index", memory)

    assert answer.status == 2 and answer.err.startswith("invalid_argument: ") and "threads" in answer.err


def test_a_model_that_is_not_installed_leaves_lexical_recall(
    workbench: Command, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_ENGINE", "e5-small")

    answer = workbench("activate", "signing key", "--project", memory, "--json").json

    assert answer["fragments"][0]["path"] == "log/2026-11.md"
    assert "dense_unavailable" in {note["code"] for note in answer["degradations"]}


@pytest.mark.spec("D7")
def test_a_history_that_cannot_be_written_is_said_in_one_line(memory: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert finished(workbench_process(home, "index", memory))[0] == 0
    (home / "local.db").write_bytes(b"no database " * 400)

    status, out, err = finished(workbench_process(home, "activate", "RabbitMQ", "--project", memory, "--json"))

    assert (status, json.loads(out)["run_id"]) == (0, None)
    assert err.count("\n") == 1
    assert err.startswith("The history was not written; retrieval goes on without it. ") and "local.db" in err
