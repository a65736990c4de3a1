"""A history that cannot be written costs no answer, and a process that dies leaves no run open and loses no other."""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluation.recorded import (
    PROJECT,
    Note,
    candidate,
    history,
    record_corpus,
    record_run,
    request,
    result,
    trace,
)
from workbench.core.run import RunState
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore
from workbench.storage.faults import on_step

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import os, signal, sys
from pathlib import Path
from tests.evaluation.recorded import *
from workbench.storage.faults import on_step
home = Path(sys.argv[1])
runs = history(home)
"""


def child(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process with a history of the same home; it says a line when it is ready."""
    command = [sys.executable, "-c", PRELUDE + script, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def nothing_is_recorded(runs: RunHistory, caplog: pytest.LogCaptureFixture) -> bool:
    with caplog.at_level(logging.ERROR):
        run_id = runs.begin(PROJECT, request(), "key-1")
        recorded = runs.succeed(run_id, result(), trace(candidate(1)), 1)
        runs.recover()
        manifest = record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    return (run_id, recorded, manifest) == (None, False, None) and "history was not written" in caplog.text


@pytest.mark.spec("D7")
def test_a_home_that_cannot_be_written_costs_the_run_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    assert nothing_is_recorded(history(tmp_path / "file"), caplog)


@pytest.mark.spec("D7")
def test_a_damaged_store_costs_the_run_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "local.db").write_bytes(b"damaged" * 1_000)
    assert nothing_is_recorded(history(tmp_path), caplog)
    assert (tmp_path / "local.db").read_bytes() == b"damaged" * 1_000


@pytest.mark.spec("D7")
def test_a_store_that_stays_locked_costs_the_run_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record_run(history(tmp_path))
    holder = sqlite3.connect(tmp_path / "local.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert nothing_is_recorded(history(tmp_path, patience_ms=20), caplog)
    holder.close()


@pytest.mark.spec("D7")
@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_costs_the_run_only(tmp_path: Path) -> None:
    script = """
import resource
record_run(runs)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
outcomes = [True]
while outcomes[-1] and len(outcomes) < 1_000:
    run_id = runs.begin(PROJECT, request(), "key")
    outcomes.append(runs.succeed(run_id, result(), trace(*map(candidate, range(1, 40))), 1))
print(outcomes[1], outcomes[-1], flush=True)
"""
    assert child(script, tmp_path).communicate()[0].strip() == "True False"
    runs = history(tmp_path)
    runs.recover()
    assert {run.state for run in runs.list(PROJECT, 1_000)} <= {RunState.SUCCEEDED, RunState.FAILED}
    assert record_run(runs)


@pytest.mark.spec("D7")
def test_a_run_whose_end_could_not_be_written_is_ended_with_the_next_one(runs: RunHistory) -> None:
    def full(name: str) -> None:
        if name == "central.succeed_run":
            raise OSError("disk full")

    lost = runs.begin(PROJECT, request(), "key-1")
    with on_step(full):
        assert not runs.succeed(lost, result(), trace(), 1)
    assert runs.get(lost or "").summary.state is RunState.RUNNING
    record_run(runs)
    error = runs.get(lost or "").summary.error
    assert error is not None and error.code == "retrieval_interrupted"


@pytest.mark.spec("D7")
def test_only_the_runs_of_dead_processes_become_interrupted(tmp_path: Path) -> None:
    script = "print(runs.begin(PROJECT, request(), 'key'), flush=True)\nsys.stdin.readline()\n"
    dead, living = child(script, tmp_path), child(script, tmp_path)
    of_dead, of_living = says(dead), says(living)
    dead.kill()
    dead.communicate()

    runs = history(tmp_path)
    own = runs.begin(PROJECT, request(), "key-1")
    assert runs.recover() == 1
    assert runs.recover() == 0
    error = runs.get(of_dead).summary.error
    assert error is not None and error.code == "retrieval_interrupted"
    assert runs.get(of_living).summary.state is RunState.RUNNING
    assert runs.get(own or "").summary.state is RunState.RUNNING
    living.communicate("\n")
    assert runs.recover() == 1


@pytest.mark.field(96)
@pytest.mark.field(97)
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    script = """
import threading
runs.recover()
sys.stdin.readline()
def work():
    for _ in range(10):
        sys.stdout.write(record_run(runs, *map(candidate, range(1, 5))) + "\\n")
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    processes = [child(script, tmp_path) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    written = [run for process in processes for run in process.communicate()[0].split()]
    runs = history(tmp_path)
    assert len(written) == 90
    assert {run.run_id for run in runs.list(PROJECT, 500)} == set(written)
    assert all(len(runs.get(run_id).trace.candidates) == 4 for run_id in written)


STEPS = ("begin_run", "begin_run.commit", "succeed_run", "succeed_run.commit", "add_manifest", "add_manifest.commit")
STEPS += ("archive_bodies", "archive_bodies.commit", "complete_manifest", "collect", "collect.commit")
STEPS += ("collect_bodies", "collect_bodies.commit")


@pytest.mark.field(99)
@pytest.mark.spec("D7")
@pytest.mark.parametrize("step", [*(f"central.{name}" for name in STEPS), "blobs.write", "blobs.remove"])
def test_a_process_killed_at_any_step_leaves_whole_runs_and_no_stray_body(tmp_path: Path, step: str) -> None:
    script = """
kept = record_run(runs, candidate(1), miv="never recorded")
for number in range(4):
    record_corpus(runs, f"miv-{number}", {"a": Note("a", str(number))})
print(kept, flush=True)
def die(name):
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
with on_step(die):
    record_corpus(runs, "miv-4", {"a": Note("a", "4"), "b": Note("b", "new")})
    record_run(runs, candidate(1), miv="miv-4")
"""
    process = child(script, tmp_path, step)
    kept = process.communicate()[0].strip()
    assert process.returncode == -signal.SIGKILL

    assert claimed(tmp_path) <= stored(tmp_path)
    runs = history(tmp_path)
    runs.recover()
    assert len(runs.get(kept).trace.candidates) == 1
    assert not [run for run in runs.list(PROJECT, 10) if run.state is RunState.RUNNING]
    record_corpus(runs, "miv-4", {"a": Note("a", "4"), "b": Note("b", "new")})
    record_corpus(runs, "miv-5", {"a": Note("a", "5")})
    record_corpus(runs, "miv-6", {"a": Note("a", "6")})
    assert stored(tmp_path) == {Note("a", "5").content_hash, Note("a", "6").content_hash}
    assert claimed(tmp_path) == stored(tmp_path)
    assert record_run(runs, miv="miv-6")


@pytest.mark.field(59)
def test_looking_back_writes_nothing(runs: RunHistory, tmp_path: Path) -> None:
    record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    run_id = record_run(runs, candidate(1))
    steps: list[str] = []
    with on_step(steps.append):
        for _ in range(3):
            runs.list(PROJECT, 10)
            runs.why(runs.get(run_id), "a")
    assert steps == []


def test_marks_of_processes_that_ended_are_swept(tmp_path: Path) -> None:
    dead = child("runs.begin(PROJECT, request(), 'key')\nos._exit(0)\n", tmp_path)
    dead.communicate()
    assert len(list((tmp_path / "running").iterdir())) == 1
    history(tmp_path).recover()
    assert not list((tmp_path / "running").iterdir())


def claimed(home: Path) -> set[str]:
    """The bodies that the store takes for archived."""
    connection = sqlite3.connect(home / "local.db")
    rows = connection.execute("SELECT sha256 FROM retrieval_corpus_blobs WHERE byte_size IS NOT NULL").fetchall()
    connection.close()
    return {sha256 for (sha256,) in rows}


def stored(home: Path) -> set[str]:
    return {file.name for file in BlobStore(home / "evaluation-corpora").folder.glob("*/*")}
