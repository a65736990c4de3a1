"""A watched memory of ten thousand sources: the first look, an edit until its head answers, and what rest costs.

The engine is the shipped fake: what encoding costs depends on the edit and is measured elsewhere.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from threading import Event

from benchmarks.product import append
from benchmarks.report import Report
from workbench.app import Home, Project
from workbench.app.live import LiveIndex
from workbench.storage.faults import on_step

SOURCES, IN_A_FOLDER = 10_000, 50
EDITS, REST_S, SETTLE_S = 7, 60.0, 2.5
PATIENCE_S = 120.0


def live(report: Report) -> None:
    """Index once, then watch in the same process as a new one would: everything is looked at again."""
    with tempfile.TemporaryDirectory(prefix="workbench-live-") as scratch:
        root = _write(Path(scratch) / "memory")
        Home.open(Path(scratch) / "home", engine="fake").project(root).refresh()
        time.sleep(SETTLE_S)  # the newest files are hashed again until then
        project = Home.open(Path(scratch) / "home", engine="fake").project(root)
        looked = Event()
        index = LiveIndex(project.home, lambda project, outcome: looked.set())
        index.add(project)
        start_s = _until(looked, index.start)
        try:
            edits = [_edit(project, root / f"{number}/{number * IN_A_FOLDER}.md") for number in range(EDITS)]
            time.sleep(SETTLE_S)
            cpu_start = time.process_time()
            time.sleep(REST_S)
            rest_s = time.process_time() - cpu_start
        finally:
            index.stop()
    rows = [
        {"watched": "first look at unchanged sources", "wall s": start_s},
        {"watched": "edit of one file until its head, p50", "wall s": median(edits)},
        {"watched": "edit of one file until its head, longest", "wall s": max(edits)},
        {"watched": f"CPU over {REST_S:.0f} s at rest", "wall s": rest_s},
    ]
    report.table(f"Live index, {SOURCES:,} sources, without encoding", rows)
    report.mark("first look at 10,000 watched sources", start_s, 3, "s")
    report.mark("edit of one file until its head, 10,000 sources, p50", median(edits), 1, "s")
    report.mark("CPU time at rest ÷ wall time", rest_s / REST_S, 0.005, "of 1")


def _write(root: Path) -> Path:
    for number in range(SOURCES):
        page = root / f"{number // IN_A_FOLDER}/{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\nWhat page {number} says of topic {number % 997}.\n", encoding="utf-8")
    return root


def _edit(project: Project, page: Path) -> float:
    """Seconds from the write to the committed head."""
    time.sleep(SETTLE_S)
    moved = Event()
    with on_step(lambda step: moved.set() if step.startswith("index.tidy") else None):
        return _until(moved, lambda: append(page, "One more sentence."))


def _until(happened: Event, begin: Callable[[], object]) -> float:
    started = time.perf_counter()
    begin()
    if not happened.wait(PATIENCE_S):
        raise TimeoutError("the live index did nothing")
    return time.perf_counter() - started
