"""How texts become batches and batches become unit vectors: by length, within a size, one look at the deadline each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError
from workbench.models.base import Vectors

T = TypeVar("T")
BATCH_TOKENS = 1_024
"""Tokens of one batch, padding included; bigger ones fall out of the processor's cache and are slower."""


def by_length(lengths: Sequence[int], batch_tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """The positions of all texts, in batches of falling length, so that little is padded; ties in the order given."""
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def in_batches(
    items: Sequence[T], lengths: Sequence[int], run: Callable[[list[T]], Vectors], deadline: Deadline | None
) -> Iterator[tuple[list[int], Vectors]]:
    """Positions and results of every batch. Raises: `DeadlinePassed` before a batch for which no time is left."""
    for positions in by_length(lengths):
        if deadline is not None:
            deadline.check()
        yield positions, run([items[position] for position in positions])


def unit_vectors(vectors: Vectors, name: str) -> Vectors:
    """The same directions with length 1. Raises: `ModelError("model_invalid")` for a vector without a direction."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ModelError(
            "model_invalid", f"The model {name} gave a vector that has no direction; verify or reinstall it."
        )
    return np.asarray(vectors / lengths, dtype=np.float32)
