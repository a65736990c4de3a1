"""An embedder that first looks whether another index has the vector already: the same engine, the very same input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.core.deadline import Deadline
from workbench.index.plan import input_hash
from workbench.models.base import Embedder, EngineIdentity, LoadState, Vectors
from workbench.storage.vector_cache import lent_vectors


class BorrowingEmbedder:
    """The engine itself in everything but this: passages that the lender's cache holds are not encoded.

    lender: an index database; it is only read, and may be missing or damaged, which lends nothing.
    """

    def __init__(self, embedder: Embedder, lender: Path) -> None:
        self._embedder, self._lender = embedder, lender

    @property
    def identity(self) -> EngineIdentity:
        return self._embedder.identity

    @property
    def state(self) -> LoadState:
        return self._embedder.state

    def load(self) -> None:
        self._embedder.load()

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        return self._embedder.fit_passage(path, heading_path, text)

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        identity = self.identity
        hashes = [input_hash(one) for one in inputs]
        lent = lent_vectors(self._lender, identity.digest, identity.dimension, hashes)
        missing = [place for place, one in enumerate(hashes) if one not in lent]
        vectors = np.zeros((len(inputs), identity.dimension), np.float32)
        for place, one in enumerate(hashes):
            if one in lent:
                vectors[place] = lent[one]
        if missing:
            vectors[missing] = self._embedder.encode_passages([inputs[place] for place in missing], deadline)
        return vectors

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        return self._embedder.encode_query(query, deadline)
