"""The best of many scores, in one deterministic order: falling score, ties by unit key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.floating[Any]]
UnitKeys = Callable[[Sequence[int]], Mapping[int, str]]
"""The unit keys of rows. Asked only for rows whose scores are equal, since a key costs a row read."""


MOST_TIES = 1_000
"""Beyond the limit, so many rows of equal score are put in order by key; of more, the oldest."""


class Hit(NamedTuple):
    """A recalled unit. `score` is null where only its identity was found, never 0."""

    unit_rowid: int
    score: float | None


def best_hits(rows: Rows, scores: Scores, limit: int, unit_keys: UnitKeys) -> list[Hit]:
    """The `limit` greatest scores as hits. rows: distinct; scores: aligned with rows, in any order."""
    if len(rows) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        within = scores >= least
        rows, scores = rows[within], scores[within]
    order = np.lexsort((rows, -scores))[: limit + MOST_TIES]
    found = list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))
    keys = unit_keys(_tied(found))
    found.sort(key=lambda one: (-one[1], keys.get(one[0], "")))
    return [Hit(row, score) for row, score in found[:limit]]


def _tied(found: Sequence[tuple[int, float]]) -> list[int]:
    """The rows that share their score with a neighbour."""
    last = len(found) - 1
    return [
        row
        for place, (row, score) in enumerate(found)
        if (place > 0 and found[place - 1][1] == score) or (place < last and found[place + 1][1] == score)
    ]
