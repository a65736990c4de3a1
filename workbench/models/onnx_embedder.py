"""The embedder of every catalogue model that runs on onnxruntime. Imports neither torch nor sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.core.deadline import Deadline
from workbench.models.base import EngineIdentity, LoadState, Vectors
from workbench.models.batching import in_batches, unit_vectors
from workbench.models.card import ModelCard
from workbench.models.loading import Loader, translating
from workbench.models.passage import PassageRule
from workbench.models.runtime import Ids, TextModel, load_text_model

DEFAULT_LIMIT, SPECIAL_TOKENS = 512, 2
"""BERT's positions, and the start and the end that its tokenizer puts around one text."""


class OnnxEmbedder:
    """Mean or CLS pooling over the last hidden state, then length 1."""

    def __init__(self, card: ModelCard, folder: Path, threads: int) -> None:
        self._card = card
        self._identity = card.identity
        self._limit = card.max_tokens or DEFAULT_LIMIT
        self._model: Loader[TextModel] = Loader(card.name, lambda: load_text_model(folder, threads))

    @property
    def identity(self) -> EngineIdentity:
        return self._identity

    @property
    def state(self) -> LoadState:
        return self._model.state

    def load(self) -> None:
        self._model.get()

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        spans_of = self._model.get().spans
        return PassageRule(self._card.passage_prefix, spans_of, self._limit - SPECIAL_TOKENS).fit(
            path, heading_path, text
        )

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        vectors = np.zeros((len(inputs), self._card.dimension), dtype=np.float32)
        with translating(self._card.name, "encode"):
            rows = self._rows(inputs)
            for positions, encoded in in_batches(rows, [len(row) for row in rows], self._encode, deadline):
                vectors[positions] = encoded
        return vectors

    def encode_query(self, query: str) -> Vectors:
        with translating(self._card.name, "encode"):
            vector: Vectors = self._encode(self._rows([self._card.query_prefix + query]))[0]
        return vector

    def _rows(self, texts: Sequence[str]) -> list[Ids]:
        """Token ids of every text; one that is too long loses its end, but keeps the token that closes it."""
        rows = [encoding.ids for encoding in self._model.get().tokenizer.encode_batch_fast(list(texts))]
        return [row if len(row) <= self._limit else [*row[: self._limit - 1], row[-1]] for row in rows]

    def _encode(self, rows: list[Ids]) -> Vectors:
        hidden, mask = self._model.get().run(rows)
        pooled = hidden[:, 0] if self._card.pooling == "cls" else np.einsum("nth,nt->nh", hidden, mask)
        return unit_vectors(pooled, self._card.name)
