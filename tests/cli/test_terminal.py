"""On a terminal, what stands in a memory is text: no escape sequence in it is obeyed, and no markup."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08red [bold]ink[/bold]"
SHOWN = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u0008red [bold]ink[/bold]"


def on_terminal(*arguments: object) -> str:
    """What a person sees of a call."""
    ours, theirs = pty.openpty()
    call = [sys.executable, "-m", "workbench", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "400", "TERM": "xterm-256color"}
    with subprocess.Popen(call, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = bytearray()
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            seen += part
        os.close(ours)
        assert process.wait() == 0
    return seen.decode("utf-8")


@pytest.fixture
def hostile(workbench: Command, memory: Path) -> Path:
    """A memory with a page whose text, path and heading would take over a terminal."""
    page = memory / "ink [bold]\x1b[2J.md"
    page.write_text(f"# Ink {HOSTILE}\n\nThe ink is {HOSTILE}\n", encoding="utf-8", newline="")
    workbench("index", memory)
    return memory


def test_no_escape_sequence_of_a_memory_reaches_the_terminal(workbench: Command, hostile: Path) -> None:
    query = f"ink {HOSTILE}"
    for call in (
        ("activate", query),
        ("activate", query, "--json"),
        ("memory", "show", "ink [bold]\x1b[2J.md"),
        ("runs",),
    ):
        seen = on_terminal("--project", hostile, *call)

        assert "ink" in seen
        for harmful in ("\x1b]", "\x1b[2J", "\x9b", "\x07", "\x08"):
            assert harmful not in seen, call
    run_id = workbench("--project", hostile, "runs", "--json").json[0]["run_id"]
    assert "\x1b[2J" not in on_terminal("explain", run_id)


def test_a_terminal_is_shown_control_characters_by_name(hostile: Path) -> None:
    assert f"The ink is {SHOWN}" in on_terminal("--project", hostile, "activate", "ink").replace("\r\n", "\n")


def test_a_pipe_gets_the_text_as_it_is(workbench: Command, hostile: Path) -> None:
    assert f"The ink is {HOSTILE}" in workbench("--project", hostile, "activate", "ink").out
