"""BM25 over the postings of one revision (Robertson and Zaragoza 2009), exact: only what cannot be best is skipped.

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
ROUNDING = 1 + 1e-4
"""More than the float32 rounding of any sum of terms: bounds leave so much room that no equal score is lost."""
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
        """The best `limit` rows for an OR of terms, each with distinct rows. allowed: by unit_rowid; None for all.

        The rarest terms should come first: once the others together cannot lift a row among the best, only rows found
        already are looked up in them (MaxScore, Turtle and Flood 1995).
        """
        weights = [self._weight(postings) for postings in terms]
        rests = [float(sum(weights[place:])) for place in range(len(terms) + 1)]
        scores = self._spare.pop() if self._spare else np.zeros(len(self._norms), dtype=np.float32)
        floor, read = 0.0, 0
        while read < len(terms) and floor <= rests[read]:
            found = self._add(scores, terms[read], weights[read])
            read += 1
            if rests[read] < rests[0] - rests[read]:
                floor = max(floor, _least_of_best(_within(found, terms[read - 1].rowids, allowed), limit))
        rows, values = _drain(scores, terms[:read], floor - rests[read], allowed)
        self._spare.append(scores)
        for postings, weight, rest in zip(terms[read:], weights[read:], rests[read:-1], strict=True):
            near = values >= _least_of_best(values, limit) - rest
            rows, values = rows[near], values[near]
            self._look_up(rows, values, postings, weight)
        return best_hits(rows, values, limit, unit_keys)

    def _weight(self, postings: Postings) -> np.float32:
        """More than the term can give to any row."""
        return np.float32(inverse_frequency(len(postings.rowids), self._unit_count) * (K1 + 1))

    def _gain(self, rowids: Rows, tfs: npt.NDArray[np.uint8], weight: np.float32) -> Floats:
        counts = tfs.astype(np.float32)
        return weight * counts / (counts + self._norms.take(rowids))

    def _add(self, scores: Floats, postings: Postings, weight: np.float32) -> Floats:
        """Adds what a term gives; returns the scores of its rows."""
        found = self._gain(*postings, weight)
        found += scores.take(postings.rowids)
        scores[postings.rowids] = found
        return found

    def _look_up(self, rows: Rows, values: Floats, postings: Postings, weight: np.float32) -> None:
        places = np.searchsorted(postings.rowids, rows)
        places[places == len(postings.rowids)] = 0
        held = np.flatnonzero(postings.rowids[places] == rows)
        values[held] += self._gain(rows[held], postings.tfs[places[held]], weight)


def inverse_frequency(frequency: int, unit_count: int) -> float:
    """idf as FTS5 has it: log((N - n + 0.5) / (n + 0.5)), at least `LEAST_IDF`."""
    return max(LEAST_IDF, math.log((unit_count - frequency + 0.5) / (frequency + 0.5)))


def _within(found: Floats, rowids: Rows, allowed: Mask | None) -> Floats:
    return found if allowed is None else found[allowed[rowids]]


def _least_of_best(found: Floats, limit: int) -> float:
    """A bound just below the least of the best `limit`; 0 when there are fewer."""
    if len(found) < limit:
        return 0.0
    return float(np.partition(found, len(found) - limit)[len(found) - limit]) / ROUNDING


def _drain(scores: Floats, terms: Sequence[Postings], floor: float, allowed: Mask | None) -> tuple[Rows, Floats]:
    """Takes the touched rows out of `scores`, each once, leaving zeros; rows below `floor` are dropped."""
    kept = []
    for rowids, _ in terms:
        found = scores.take(rowids)
        scores[rowids] = 0
        near = np.flatnonzero(found >= floor if floor > 0 else found > 0)
        if allowed is not None:
            near = near[allowed[rowids[near]]]
        kept.append((rowids[near], found[near]))
    if not kept:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    rows, values = map(np.concatenate, zip(*kept, strict=True))
    return rows, values
