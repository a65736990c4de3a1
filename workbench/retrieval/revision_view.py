"""What a process keeps in memory of the revision that it answers from: word norms, scopes and vectors.

A rebuildable copy: made on first use, brought from one revision to the next in proportion to the edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from workbench.core.resource import Scope
from workbench.retrieval.bm25 import WordScorer
from workbench.retrieval.ranking import Mask, Rows
from workbench.retrieval.vector_index import VectorIndex
from workbench.storage.index_reader import IndexReader
from workbench.storage.index_records import DEAD, SCOPE_CODES, Revision

LEAST_ALIVE = 0.5
"""Share of living vectors below which the index is loaded anew, without the dead."""
Scopes = tuple[Scope, ...] | None


class RevisionView:
    """The arrays of one revision; frozen. Masks are kept per set of scopes."""

    def __init__(self, reader: IndexReader) -> None:
        self.codes = reader.scope_codes()
        self._lengths, self._statistics = reader.lengths(), reader.statistics()
        self._masks: dict[Scopes, Mask] = {}
        self._vector_masks: dict[Scopes, tuple[VectorIndex, Mask | None]] = {}

    @cached_property
    def words(self) -> WordScorer:
        """The scorer of the word arm."""
        return WordScorer(np.pad(self._lengths, (0, max(0, len(self.codes) - len(self._lengths)))), self._statistics)

    def allowed(self, scopes: Scopes) -> Mask:
        """bool by unit_rowid: whether a living unit of one of the scopes (of any, when None) stands there."""
        mask = self._masks.get(scopes)
        if mask is None:
            wanted = SCOPE_CODES.values() if scopes is None else [SCOPE_CODES[scope] for scope in scopes]
            mask = self._masks[scopes] = np.isin(self.codes, list(wanted))
        return mask

    def vector_mask(self, vectors: VectorIndex, scopes: Scopes) -> Mask | None:
        """Which rows of this revision's vectors may be answered; None when all may."""
        known, mask = self._vector_masks.get(scopes, (None, None))
        if known is not vectors:
            allowed = self._at(vectors.rowids[: vectors.size], self.allowed(scopes))
            mask = None if allowed.all() else allowed
            self._vector_masks[scopes] = vectors, mask
        return mask

    def alive(self, rowids: Rows) -> Mask:
        """bool, aligned with rowids: whether a unit stands there."""
        return self._at(rowids, self.codes != DEAD)

    @staticmethod
    def _at(rowids: Rows, mask: Mask) -> Mask:
        """The mask at each row; False beyond its end."""
        known = rowids < len(mask)
        at: Mask = known & mask[np.where(known, rowids, 0)]
        return at


@dataclass(frozen=True, slots=True)
class _Held:
    revision: Revision
    vectors: VectorIndex


class RevisionCache:
    """The views of the newest revision asked for. Thread-safe; one thread loads, the others wait for it."""

    def __init__(self) -> None:
        self._view: tuple[Revision, RevisionView] | None = None
        self._held: _Held | None = None
        self._viewing, self._loading = Lock(), Lock()

    def view(self, reader: IndexReader, revision: Revision) -> RevisionView:
        """The arrays of the reader's revision."""
        with self._viewing:
            if self._view is None or self._view[0] != revision:
                self._view = revision, RevisionView(reader)
            return self._view[1]

    def vectors(self, reader: IndexReader, revision: Revision, view: RevisionView) -> VectorIndex:
        """Vectors of every living unit of the reader's revision, and perhaps of dead ones.

        Raises: `DeadlinePassed` when the deadline comes during loading.
        """
        with self._loading:
            held = self._held
            if held is None or held.revision != revision:
                followed = None if held is None else _followed(held, reader, revision, view)
                held = self._held = _Held(revision, _loaded(reader, revision) if followed is None else followed)
            return held.vectors


def _followed(held: _Held, reader: IndexReader, revision: Revision, view: RevisionView) -> VectorIndex | None:
    """The vectors held, plus those of units that are new in `revision`; None when they are no ground to build on.

    The last living vector that is held is read again: in a database that was made anew, rowids mean other units.
    """
    known = held.vectors
    alive = view.alive(known.rowids[: known.size])
    if held.revision.engine_identity != revision.engine_identity or held.revision.revision_id >= revision.revision_id:
        return None
    if np.count_nonzero(alive) < LEAST_ALIVE * known.size or not alive.any():
        return None
    last = int(np.flatnonzero(alive)[-1])
    rowids, vectors = reader.vectors(revision.engine_identity or "", int(known.rowids[last]) - 1)
    if not len(rowids) or rowids[0] != known.rowids[last] or not np.array_equal(vectors[0], known.vectors[last]):
        return None
    new = rowids > known.last_rowid
    followed = known.extended(rowids[new], vectors[new])
    return followed if np.count_nonzero(alive) + np.count_nonzero(new) == revision.unit_count else None


def _loaded(reader: IndexReader, revision: Revision) -> VectorIndex:
    rowids, vectors = reader.vectors(revision.engine_identity or "", 0)
    return VectorIndex.empty(revision.dimension or 0).extended(rowids, vectors)
