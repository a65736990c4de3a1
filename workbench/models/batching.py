"""How work on many texts is bounded: one at a time or by length, with a look at the deadline before each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError
from workbench.models.base import Vectors

T = TypeVar("T")
R = TypeVar("R")
BATCH_CHARS = 8_000


def one_by_one(items: Sequence[T], run: Callable[[T], R], threads: int, deadline: Deadline | None) -> list[R]:
    """The result of every item, in order; up to `threads` items are worked on at once.

    Raises: `DeadlinePassed` before an item for which no time is left; items not begun are then dropped.
    """

    def step(item: T) -> R:
        if deadline is not None:
            deadline.check()
        return run(item)

    if threads == 1 or len(items) < 2:
        return [step(item) for item in items]
    pool = ThreadPoolExecutor(min(threads, len(items)))
    try:
        return list(pool.map(step, items))
    finally:
        pool.shutdown(cancel_futures=True)


def by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """The positions of all texts, longest first so that little is padded, ties in the order given.

    No batch holds more than `batch_size`, its shorter texts padded to the longest; a longer text is alone.
    """
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    start = 0
    while start < len(order):
        size = max(1, batch_size // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def in_batches(
    texts: Sequence[str], dimension: int, run: Callable[[list[str]], Vectors], deadline: Deadline | None
) -> Vectors:
    """The vector of every text, in order. Raises: `DeadlinePassed` before a batch for which no time is left."""
    vectors = np.zeros((len(texts), dimension), dtype=np.float32)
    for positions in by_length([len(text) for text in texts], BATCH_CHARS):
        if deadline is not None:
            deadline.check()
        vectors[positions] = run([texts[position] for position in positions])
    return vectors


def unit_vectors(vectors: Vectors, name: str) -> Vectors:
    """The same directions with length 1. Raises: `ModelError("model_invalid")` for a vector without a direction."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ModelError("model_invalid", f"{name} gave a vector without a direction; verify or reinstall it.")
    return np.asarray(vectors / lengths, dtype=np.float32)
