"""What a person waits for: an edit until it is answered, an answer during a build, the first answer of a process."""

from __future__ import annotations

import itertools
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median, quantiles

from benchmarks import product
from benchmarks.sections import Bench

ROUNDS = 5


def edits(bench: Bench) -> None:
    """Wall time from the edit of one file to its answer from the new head, encoding included."""
    project = product.open_project(bench.home, bench.root, stand_in=not bench.encode)
    product.ask(project, "warm")
    times = [_seconds(partial(product.edit_one, project, round_)) for round_ in range(ROUNDS)]
    table = [{"edit of one file": "until answered", "wall p50 s": median(times), "longest s": max(times)}]
    bench.report.table(f"Edit, {bench.units:,} units", table)
    bench.mark("edit of one file until it is answered, wall p50", median(times), 1.5, "s")


def readers(bench: Bench) -> None:
    """Answers while another process builds a revision with one file in ten changed, beside answers in peace."""
    project = product.open_project(bench.home, bench.root, stand_in=not bench.encode)
    asked = itertools.cycle(query.text for query in bench.queries)

    def answered_in() -> float:
        return _seconds(partial(product.ask, project, next(asked)))

    answered_in()
    idle = [answered_in() for _ in range(2 * len(bench.queries))]
    for source in sorted(bench.root.rglob("*.md"))[::10]:
        product.append(source, "This file was changed, and so was every tenth.")
    context = multiprocessing.get_context("spawn")
    builder = context.Process(target=product.build, args=(bench.home, bench.root, not bench.encode))
    builder.start()
    busy = []
    while builder.is_alive():
        busy.append(answered_in())
    table = [
        {"warm query": name, "p50 ms": 1e3 * median(times), "p95 ms": 1e3 * _p95(times), "calls": len(times)}
        for name, times in (("idle", idle), ("while another process builds", busy))
    ]
    bench.report.table(f"Reading during a build, {bench.units:,} units", table)
    bench.mark("reader p95 during a build ÷ idle", _p95(busy) / _p95(idle), 5)


def processes(bench: Bench) -> None:
    """Wall time of new processes, taking turns with one that only imports sentence_transformers."""
    question = bench.texts("question")[0]
    starts: dict[str, Callable[[], None]] = {
        "full answer": lambda: product.command(bench.home, bench.root, question),
        "lexical answer": lambda: product.command(bench.home, bench.root, question, WORKBENCH_ENGINE="none"),
        "import sentence_transformers": _import_sentence_transformers,
    }
    times: dict[str, list[float]] = {name: [] for name in starts}
    for round_ in range(ROUNDS + 1):
        for name, start in starts.items():
            elapsed = _seconds(start)
            if round_:
                times[name].append(elapsed)
    middle = {name: median(values) for name, values in times.items()}
    imported = middle["import sentence_transformers"]
    table = [
        {"new process": name, "wall p50 s": value, "÷ import sentence_transformers": value / imported}
        for name, value in middle.items()
    ]
    bench.report.table(f"New processes, {bench.units:,} units", table)
    for name, ratio, seconds in (("full answer", 0.4, 2.5), ("lexical answer", 0.1, 0.6)):
        bench.mark(f"new process to a {name} ÷ import sentence_transformers", middle[name] / imported, ratio)
        bench.mark(f"new process to a {name}, wall p50", middle[name], seconds, "s")


def _import_sentence_transformers() -> None:
    subprocess.run([sys.executable, "-c", "import sentence_transformers"], check=True)


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
