"""`workbench memory`, as a person types it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from workbench.core.hashing import sha256_hex

STORAGE = "decisions/storage.md"

Typed = Callable[[str], None]
"""Says what the command reads from stdin."""


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.mark.spec("T1-3")
@pytest.mark.field(122)
def test_a_memory_is_written_corrected_taken_back_and_looked_at(workbench: Command, memory: Path, typed: Typed) -> None:
    def ask() -> list[str]:
        answer = workbench("activate", "kiosk colour", "--project", memory, "--json").json
        return [one["path"] for one in answer["fragments"] if "kiosk" in one["text"].lower()]

    typed("# Kiosk\n\nThe kiosk is blue.\n")
    assert workbench("memory", "write", "notes/kiosk.md", "--project", memory, "--reason", "told").status == 0
    assert ask() == ["notes/kiosk.md"]
    typed("# Kiosk\n\nThe kiosk is green.\n")
    assert (
        "superseded by notes/kiosk-2.md" in workbench("memory", "supersede", "notes/kiosk.md", "--project", memory).out
    )
    assert ask() == ["notes/kiosk-2.md"]
    done = workbench("memory", "retract", "notes/kiosk-2.md", "--reason", "sold", "--project", memory, "--json").json
    assert (done["ok"], done["record_state_version"], done["written"]) == (True, 2, [])
    assert ask() == []
    assert workbench("memory", "restore", "notes/kiosk.md", "--project", memory).status == 0
    assert ask() == ["notes/kiosk.md"]
    log = workbench("memory", "log", "--project", memory, "--json").json["transactions"]
    assert [one["reason"] for one in log] == ["", "sold", "", "told"]
    assert {one["actor"] for one in log} == {"user"}
    shown = workbench("memory", "show", "notes/kiosk-2.md", "--project", memory).out
    assert ("retracted" in shown, "sold" in shown, "green" in shown) == (True, True, True)


@pytest.mark.field(127)
def test_a_replaced_text_is_shown_with_its_history(workbench: Command, memory: Path, typed: Typed) -> None:
    old = (memory / STORAGE).read_bytes()
    typed("# Storage\n\nEverything goes to tape.\n")
    replaced = workbench("memory", "write", STORAGE, "--expect", sha256_hex(old), "--project", memory, "--json").json
    assert replaced["written"] == [STORAGE]
    found = workbench("memory", "show", STORAGE, "--history", "--project", memory, "--json").json
    assert ["object storage" in one["text"] for one in found["versions"]] == [True, False]
    assert found["versions"][0]["replaced_by"] == replaced["tx_id"]


def test_a_refusal_is_one_sentence_and_changes_nothing(workbench: Command, memory: Path, typed: Typed) -> None:
    before = (memory / STORAGE).read_bytes()
    typed("Other.\n")
    refused = workbench("memory", "write", STORAGE, "--project", memory)
    assert (refused.status, refused.err.splitlines()[0].startswith("digest_conflict: ")) == (2, True)
    assert workbench("memory", "retract", "nobody", "--reason", "x", "--project", memory).status == 2
    typed("  \n")
    assert "empty" in workbench("memory", "write", "notes/x.md", "--project", memory).err
    assert (memory / STORAGE).read_bytes() == before
    assert not (memory / "notes").exists()


def test_a_text_from_a_file_is_written_byte_for_byte(workbench: Command, memory: Path, tmp_path: Path) -> None:
    for name, data in (("dos", b"# A\r\n\r\nText.\r\n"), ("bom", b"\xef\xbb\xbf# A\n\rText."), ("unix", b"# A\n")):
        (tmp_path / "text").write_bytes(data)
        arguments = (f"notes/{name}.md", "--file", tmp_path / "text", "--project", memory)
        assert workbench("memory", "write", *arguments).status == 0
        assert (memory / f"notes/{name}.md").read_bytes() == data


def test_appending_twice_under_one_tx_writes_once(workbench: Command, memory: Path, typed: Typed) -> None:
    for _ in range(2):
        typed("Rotated again.\n")
        arguments = ("log/2026-11.md", "--append", "--title", "Keys", "--tx", "tx-1", "--project", memory)
        assert workbench("memory", "write", *arguments).status == 0
    assert (memory / "log/2026-11.md").read_text(encoding="utf-8").count("Rotated again.") == 1


def test_a_memory_that_is_read_only_refuses_and_still_answers(
    workbench: Command, memory: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_MEMORY_MUTATION_MODE", "readonly")
    typed("Text.\n")
    assert workbench("memory", "write", "notes/x.md", "--project", memory).err.startswith("read_only: ")
    assert workbench("activate", "storage", "--project", memory, "--json").json["fragments"]
    assert workbench("memory", "log", "--project", memory, "--json").json["transactions"] == []
    settings = workbench("doctor", "--project", memory, "--json").json["settings"]
    assert {"name": "memory_mutation_mode", "value": "readonly", "origin": "environment"} in settings


def test_a_conflict_is_reported_by_the_log_and_the_doctor(workbench: Command, memory: Path) -> None:
    (memory / ".memory/conflicts").mkdir(parents=True)
    (memory / ".memory/conflicts/x.json").write_text("{")
    assert ".memory/conflicts/x.json" in workbench("memory", "log", "--project", memory).err
    assert ".memory/conflicts/x.json" in workbench("doctor", "--project", memory).err
