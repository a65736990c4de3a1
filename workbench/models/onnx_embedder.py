"""The embedder of every catalogue model that runs on onnxruntime. Imports neither torch nor sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.deadline import Deadline
from workbench.models.base import Vectors
from workbench.models.batching import one_by_one, unit_vectors
from workbench.models.card import ModelCard
from workbench.models.installed import InstalledModel
from workbench.models.loading import translating
from workbench.models.passage import PassageRule
from workbench.models.runtime import DEFAULT_LIMIT, TextModel, load_text_model, stoppable

SPECIAL_TOKENS = 2
"""The start and the end that every BERT tokenizer puts around one text."""


class OnnxEmbedder(InstalledModel[TextModel]):
    """Mean or CLS pooling over the last hidden state, then length 1. The same text always gets the same vector."""

    def __init__(self, card: ModelCard, folder: Path, threads: int) -> None:
        super().__init__(card, lambda: load_text_model(folder))
        self._threads, self._limit = threads, card.max_tokens or DEFAULT_LIMIT

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        rule = PassageRule(self._card.passage_prefix, self._model.get().spans, self._limit - SPECIAL_TOKENS)
        return rule.fit(path, heading_path, text)

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        self.load()
        with translating(self._card.name, "encode"), stoppable(deadline) as options:
            vectors = one_by_one(inputs, lambda text: self._encode(options, text), self._threads, deadline)
        return np.array(vectors, dtype=np.float32).reshape(len(inputs), self._card.dimension)

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        self.load()
        with translating(self._card.name, "encode"), stoppable(deadline) as options:
            return self._encode(options, self._card.query_prefix + query)

    def _encode(self, options: Any, text: str) -> Vectors:
        """A text that is too long loses its end, but keeps the token that closes it."""
        model = self._model.get()
        ids = model.ids(text)
        if len(ids) > self._limit:
            ids = [*ids[: self._limit - 1], ids[-1]]
        hidden = model.run(options, ids)
        return unit_vectors(hidden[0] if self._card.pooling == "cls" else hidden.mean(axis=0), self._card.name)
