"""`index`, `activate`, `runs` and `explain`, from the first build to the question why something was lost."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_indexing_twice_encodes_nothing_the_second_time(workbench: Command, memory: Path) -> None:
    first = workbench("index", memory, "--json").json
    second = workbench("index", memory, "--json").json

    assert first["sources_new"] == 4
    assert first["encoded"] == first["units"] > 0
    assert (second["encoded"], second["units_added"], second["revision"]) == (0, 0, first["revision"])


def test_an_edit_is_answered_at_once_and_only_it_is_encoded(workbench: Command, memory: Path) -> None:
    workbench("index", memory)
    (memory / "decisions/queue.md").write_text("# Queue choice\n\nKafka came back, with three brokers.\n", "utf-8")

    answer = workbench("activate", "three brokers", "--project", memory, "--json").json

    assert "Kafka came back" in answer["fragments"][0]["text"]
    assert workbench("index", memory, "--json").json["encoded"] == 0


def test_english_chinese_and_identifiers_find_their_page(workbench: Command, memory: Path) -> None:
    for query, path in {
        "what replaced RabbitMQ?": "decisions/queue.md",
        "发布之前要做什么": "runbooks/release.md",
        "DEC-0054": "log/2026-11.md",
    }.items():
        assert workbench("activate", query, "--project", memory, "--json").json["fragments"][0]["path"] == path


def test_options_may_stand_before_the_command(workbench: Command, memory: Path) -> None:
    before = workbench("--project", memory, "--json", "activate", "signing key")
    after = workbench("activate", "signing key", "--project", memory, "--json")

    assert [one["unit_key"] for one in before.json["fragments"]] == [one["unit_key"] for one in after.json["fragments"]]


def test_a_kept_state_sends_nothing_twice(workbench: Command, memory: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    asked = ("activate", "signing key", "--project", memory, "--state", state, "--json")

    first, second = workbench(*asked).json, workbench(*asked).json

    assert {one["delta_action"] for one in first["fragments"]} == {"add"}
    assert {one["delta_action"] for one in second["fragments"]} == {"reuse"}
    assert all(one["text"] is None for one in second["fragments"])


def test_every_activation_is_a_run_that_explains_itself(workbench: Command, memory: Path) -> None:
    answer = workbench("activate", "object storage", "--project", memory, "--json").json
    runs = workbench("runs", "--project", memory, "--json").json
    record = workbench("explain", answer["run_id"][:8], "--json").json
    shown = workbench("explain", answer["run_id"])

    assert [run["run_id"] for run in runs] == [answer["run_id"]]
    assert record["trace"]["candidates"][0]["resource_id"] == answer["fragments"][0]["resource_id"]
    assert "selected" in shown.out


def test_a_lost_resource_is_told_where_it_was_lost(workbench: Command, memory: Path) -> None:
    answer = workbench("activate", "object storage", "--project", memory, "--json").json

    kept = workbench("explain", answer["run_id"], "--why", "decisions/storage.md")
    unknown = workbench("explain", answer["run_id"], "--why", "nowhere.md")

    assert kept.status == 0 and "selected" in kept.out
    assert unknown.status == 0 and "corpus" in unknown.out


def test_clearing_forgets_runs_but_not_the_memory(workbench: Command, memory: Path) -> None:
    workbench("activate", "key", "--project", memory)

    assert workbench("runs", "clear", "--project", memory, "--json").json == {"removed": 1}
    assert workbench("runs", "--project", memory, "--json").json == []
    assert workbench("activate", "signing key", "--project", memory, "--json").json["fragments"]


def test_doctor_names_what_could_not_be_read(workbench: Command, memory: Path) -> None:
    (memory / "broken.md").write_bytes(b"caf\xe9 \xe2\x80")
    workbench("index", memory)

    health = workbench("doctor", "--project", memory, "--json").json

    assert [one["source_ref"] for one in health["project"]["unreadable"]] == ["broken.md"]
    assert {one["name"]: one["origin"] for one in health["settings"]}["engine"] == "environment"
    assert "broken.md" in workbench("doctor", "--project", memory).err
