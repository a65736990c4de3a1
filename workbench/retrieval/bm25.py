"""BM25 over the postings of one revision (Robertson and Zaragoza 2009), exact: no unit that matches is skipped.

Weights of the columns are in the term frequencies already. idf is that of FTS5's `bm25()`: common terms never score
below zero.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.retrieval.ranking import Hit, Mask, Rows, UnitKeys, best_hits
from workbench.storage.index_records import CorpusStatistics, Postings

K1, B = 1.2, 0.75
LEAST_IDF = 1e-6
Floats = npt.NDArray[np.float32]


class WordScorer:
    """Scores rows of one revision. Thread-safe. The score array is reused: to clear it costs the touched rows only.

    lengths: uint16 by unit_rowid, the unweighted number of terms.
    """

    def __init__(self, lengths: npt.NDArray[np.uint16], statistics: CorpusStatistics) -> None:
        self._unit_count = statistics.unit_count
        average = max(1.0, statistics.total_length / max(1, statistics.unit_count))
        self._norms = (K1 * (1 - B) + lengths * np.float32(K1 * B / average)).astype(np.float32)
        self._spare: deque[Floats] = deque()

    def search(self, terms: Sequence[Postings], limit: int, allowed: Mask | None, unit_keys: UnitKeys) -> list[Hit]:
        """The best `limit` rows for an OR of terms, each with distinct rows. allowed: by unit_rowid; None for all."""
        scores = self._spare.pop() if self._spare else np.zeros(len(self._norms), dtype=np.float32)
        for postings in terms:
            self._add(scores, postings)
        rows, values = _drain(scores, terms, limit, allowed)
        self._spare.append(scores)
        return best_hits(rows, values, limit, unit_keys)

    def _add(self, scores: Floats, postings: Postings) -> None:
        weight = np.float32(inverse_frequency(len(postings.rowids), self._unit_count) * (K1 + 1))
        tfs = postings.tfs.astype(np.float32)
        scores[postings.rowids] += weight * tfs / (tfs + self._norms[postings.rowids])


def inverse_frequency(frequency: int, unit_count: int) -> float:
    """idf as FTS5 has it: log((N - n + 0.5) / (n + 0.5)), at least `LEAST_IDF`."""
    return max(LEAST_IDF, math.log((unit_count - frequency + 0.5) / (frequency + 0.5)))


def _drain(scores: Floats, terms: Sequence[Postings], limit: int, allowed: Mask | None) -> tuple[Rows, Floats]:
    """Takes the touched rows out of `scores`, each once, leaving zeros; rows that cannot be among the best are dropped.

    A row is taken by the first term that holds it. Once `limit` rows are in, the least of the best of them is a floor.
    """
    rows: Rows = np.empty(0, dtype=np.int64)
    values: Floats = np.empty(0, dtype=np.float32)
    floor = np.float32(0)
    for postings in terms:
        found = scores[postings.rowids]
        scores[postings.rowids] = 0
        kept = np.flatnonzero(found >= floor if floor else found > 0)
        if allowed is not None:
            kept = kept[allowed[postings.rowids[kept]]]
        rows = np.concatenate((rows, postings.rowids[kept]))
        values = np.concatenate((values, found[kept]))
        if len(values) > limit:
            floor = np.partition(values, len(values) - limit)[len(values) - limit]
    return rows, values
