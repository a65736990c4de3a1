"""`index --watch`: what was there before is indexed, edits of other programs follow, Ctrl-C ends it cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


def _found(workbench: Command, memory: Path, word: str) -> bool:
    answer = workbench("activate", word, "--project", memory, "--no-refresh", "--json")
    fragments = answer.json.get("fragments", ())
    return any(word in (fragment["text"] or "") for fragment in fragments)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.2)
