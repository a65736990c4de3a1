"""Leaving in the middle: Ctrl-C is said and loses nothing, and a reader that has seen enough is no failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.app.sets import beir_set
from tests.cli.conftest import Command
from workbench.storage.faults import on_step


def test_an_import_that_was_interrupted_says_so_and_goes_on_the_next_time(workbench: Command, tmp_path: Path) -> None:
    folder, steps = beir_set(tmp_path / "tea"), list[str]()

    def interrupt(name: str) -> None:
        steps.append(name)
        if steps.count("central.create_case") == 2:
            raise KeyboardInterrupt

    with on_step(interrupt):
        stopped = workbench("import", "beir", folder)

    assert (stopped.status, stopped.out) == (130, "")
    assert stopped.err.startswith("interrupted: ")
    assert len(workbench("import", "beir", folder, "--json").json["cases"]) == 3


def test_a_reader_that_leaves_early_is_no_failure(workbench: Command, tmp_path: Path) -> None:
    workbench("import", "beir", beir_set(tmp_path / "tea"))
    call = [sys.executable, "-m", "workbench", "report", "--set", "tea", "--json"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ.copy()) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")
