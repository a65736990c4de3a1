"""Brings the vectors of units into the cache, batch by batch, so that a killed build has lost one batch at most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError, WorkbenchError
from workbench.index.plan import EmbeddingDelta, plan_embedding_delta
from workbench.models.base import Embedder, Vectors
from workbench.storage.vector_cache import VectorCache

INPUT_VERSION = "input-1"
"""Names the rule of an encoder input: the path, then title and headings, then the text."""
BATCH = 256
_LENGTH_TOLERANCE = 1e-3


class Passage(NamedTuple):
    """What an encoder input is made of. headings: the unit's place in its resource, from the title down."""

    unit_key: str
    path: str
    headings: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, unit_key: str, path: str, title: str, heading_path: tuple[str, ...], text: str) -> Passage:
        """A title that is no heading of the text leads the headings: a unit without it is found worse."""
        return cls(unit_key, path, heading_path if heading_path[:1] == (title,) else (title, *heading_path), text)


class Encoding:
    """The encoding side of one build. reuse: whether vectors of earlier builds count. deadline: the engine's, too.

    inputs: unit_key -> hash of its encoder input, of every unit seen. encoded, reused: as in `BuildReport`.
    """

    def __init__(self, embedder: Embedder, cache: VectorCache, reuse: bool, deadline: Deadline | None = None) -> None:
        self._embedder, self._cache, self._reuse, self._deadline = embedder, cache, reuse, deadline
        self._waiting: list[Passage] = []
        self._fresh: set[bytes] = set()
        self.inputs: dict[str, bytes] = {}
        self.reused = 0

    @property
    def encoded(self) -> int:
        return len(self._fresh)

    def add(self, passages: Iterable[Passage]) -> None:
        """Take units in; a full batch is encoded at once."""
        self._waiting += passages
        while len(self._waiting) >= BATCH:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            self._encode(batch)

    def finish(self) -> None:
        """Encode what is left."""
        self._encode(self._waiting)
        self._waiting = []

    def _encode(self, passages: Sequence[Passage]) -> None:
        if self._deadline is not None:
            self._deadline.check()
        try:
            delta = self._plan(passages)
            missing = list(delta.missing_inputs.values())
            vectors = self._embedder.encode_passages(missing, self._deadline) if missing else None
        except ModelError as error:
            if error.code == "model_missing":
                raise
            raise _failed(error.message) from error
        if vectors is not None:
            self._check(vectors, len(delta.missing_inputs))
            self._cache.remember(list(delta.missing_inputs), vectors)
        self._fresh.update(delta.missing_inputs)
        self.inputs.update(delta.aliases)
        self.reused += delta.stats.reused

    def _plan(self, passages: Sequence[Passage]) -> EmbeddingDelta:
        units = [(one.unit_key, self._embedder.fit_passage(one.path, one.headings, one.text)) for one in passages]
        return plan_embedding_delta(units, self._known)

    def _known(self, hashes: Collection[bytes]) -> Collection[bytes]:
        return self._cache.known(hashes) if self._reuse else self._fresh.intersection(hashes)

    def _check(self, vectors: Vectors, expected: int) -> None:
        """An engine that breaks its promise must not reach the head."""
        dimension = self._embedder.identity.dimension
        if vectors.shape != (expected, dimension):
            raise _failed(f"it gave vectors of shape {vectors.shape} instead of {(expected, dimension)}")
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.all(np.abs(lengths - 1.0) < _LENGTH_TOLERANCE):
            raise _failed("its vectors are not of length 1")


def _failed(reason: str) -> WorkbenchError:
    message = f"The embedding engine failed, the last index keeps answering; see `workbench doctor`: {reason}"
    return WorkbenchError("index_build_failed", message, stage="encode")
