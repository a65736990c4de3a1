"""Exact vector search at 100 thousand and a million vectors, beside numpy, faiss and the speed of memory itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.measure import interleaved
from benchmarks.peers import FLOATS, WIDTH, SearchVector, faiss_flat, numpy_scan
from benchmarks.product import CLUSTERS, vector_arm
from benchmarks.report import Report

SIZES, DIMENSION = (100_000, 1_000_000), 384
QUERIES = 10
WORKBENCH, NUMPY, MEMORY = "workbench", "numpy float32", "reading the int8 codes"


def vectors(report: Report, rounds: int) -> None:
    """CPU time and recall of each, and the marks."""
    for size in SIZES:
        stored, asked = _clustered(size)
        engines = {WORKBENCH: vector_arm(stored), NUMPY: numpy_scan(stored), "faiss flat": faiss_flat(stored)}
        recall = _recall(engines[WORKBENCH], engines[NUMPY], asked)
        passes: dict[str, Callable[[FLOATS], object]] = {**engines, MEMORY: _memory_pass(size)}
        timings = interleaved(passes, asked, rounds)
        report.timings(f"Exact vector search, {size:,} × {DIMENSION}, best {WIDTH}", timings, NUMPY)
        cpu = {name: timing.cpu_p50 for name, timing in timings.items()}
        report.mark(f"exact vector search ÷ numpy float32, {size:,}", cpu[WORKBENCH] / cpu[NUMPY], 0.2)
        report.mark(f"missed of the best {WIDTH}, {size:,}", 1 - recall, 0.001, "of 1")
        if size == max(SIZES):
            report.mark(f"exact vector search ÷ memory bound, {size:,}", cpu[WORKBENCH] / cpu[MEMORY], 1.6)


def _clustered(size: int) -> tuple[FLOATS, list[FLOATS]]:
    """Unit vectors around common centres, as embeddings lie, and queries near some of them."""
    chance = np.random.default_rng(size)
    centres = chance.standard_normal((CLUSTERS, DIMENSION), dtype=np.float32)
    stored = chance.standard_normal((size, DIMENSION), dtype=np.float32)
    stored += centres[chance.integers(CLUSTERS, size=size)]
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    asked = stored[chance.integers(size, size=QUERIES)] + 0.02 * chance.standard_normal(
        (QUERIES, DIMENSION), dtype=np.float32
    )
    return stored, list(asked / np.linalg.norm(asked, axis=1, keepdims=True))


def _recall(search: SearchVector, oracle: SearchVector, asked: list[FLOATS]) -> float:
    return float(np.mean([len({*search(query)} & {*oracle(query)}) / WIDTH for query in asked]))


def _memory_pass(size: int) -> Callable[[FLOATS], object]:
    """One pass over as many bytes as the int8 codes have, doing next to nothing with them."""
    words = np.ones(size * DIMENSION // 8, dtype=np.int64)
    return lambda query: words.max()
