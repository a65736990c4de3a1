"""`index --watch` and `watch`: what was there before is indexed, edits of other programs follow, Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

PATIENCE_S = 30.0


@pytest.mark.field(43)
@pytest.mark.field(46)
def test_edits_and_deletions_are_followed_until_interrupted(workbench: Command, memory: Path) -> None:
    call = [sys.executable, "-m", "workbench", "index", str(memory), "--watch"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ.copy()) as process:
        try:
            _until(lambda: _found(workbench, memory, "signing"))
            (memory / "new.md").write_text("# Pelican\n\nA new page about pelicans.\n", encoding="utf-8")
            _until(lambda: _found(workbench, memory, "pelicans"))
            (memory / "new.md").unlink()
            _until(lambda: not _found(workbench, memory, "pelicans"))
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert b"Traceback" not in err


def test_several_roots_are_watched_and_every_build_is_one_document(
    workbench: Command, memory: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.md").write_text("# Alpaca\n\nThe alpaca eats.\n", encoding="utf-8")
    call = [sys.executable, "-m", "workbench", "watch", str(memory), str(second), "--json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ.copy()) as process:
        try:
            _until(lambda: _found(workbench, memory, "signing") and _found(workbench, second, "alpaca"))
            (second / "b.md").write_text("# Bison\n\nThe bison grazes.\n", encoding="utf-8")
            _until(lambda: _found(workbench, second, "bison"))
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, b"Traceback" in err) == (130, False)
    documents = list(_documents(out.decode()))
    assert [Path(one["root"]) for one in documents].count(memory.resolve()) == 1
    sources = [one["report"]["sources"] for one in documents if Path(one["root"]) == second.resolve()]
    assert (sources[0], sources[-1]) == (1, 2)


@pytest.mark.field(47)
def test_why_a_refresh_failed_stands_in_the_answer(workbench: Command, memory: Path) -> None:
    workbench("index", memory)
    (memory / ".memory").mkdir()
    (memory / ".memory/state.json").write_text("no manifest", encoding="utf-8")
    unanswerable = workbench("activate", "signing key", "--project", memory, "--json")
    for page in memory.rglob("*.md"):
        page.unlink()
    (memory / ".memory/state.json").unlink()

    answer = workbench("activate", "signing key", "--project", memory, "--json")

    assert unanswerable.json["error"]["code"] == "state_damaged"
    assert answer.status == 0 and answer.json["fragments"]
    assert [one["code"] for one in answer.json["degradations"]] == ["index_refresh_failed"]
    assert "project_unreadable" in answer.json["degradations"][0]["detail"]


def _documents(text: str) -> Iterator[Any]:
    decoder, place = json.JSONDecoder(), 0
    while text[place:].strip():
        document, place = decoder.raw_decode(text, place + len(text[place:]) - len(text[place:].lstrip()))
        yield document


def _found(workbench: Command, memory: Path, word: str) -> bool:
    answer = workbench("activate", word, "--project", memory, "--no-refresh", "--json")
    fragments = answer.json.get("fragments", ())
    return any(word in (fragment["text"] or "") for fragment in fragments)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.2)
