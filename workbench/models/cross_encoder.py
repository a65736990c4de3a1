"""The reranker: an ONNX cross-encoder that reads query and text together, and knows which scripts it can read."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.core.deadline import Deadline
from workbench.models.base import EngineIdentity, LoadState, Vectors
from workbench.models.batching import in_batches
from workbench.models.card import ModelCard
from workbench.models.loading import Loader, translating
from workbench.models.runtime import TextModel, load_text_model

FOREIGN_SHARE = 0.2
"""Share of letters outside the Latin script from which a text counts as another language."""
CANDIDATE_CHARS = 8_000
"""Characters of one candidate that reach the tokenizer; 512 tokens never need more, and a huge text costs no more."""
QUERY_TOKENS = 128
"""Tokens of the query that one pair may hold, so that every candidate keeps the greater part of the room."""
_SPECIAL_TOKENS = 3

Pair = tuple[list[int], list[int]]


class CrossEncoderReranker:
    """Scores are the model's logits. They move a little with the batch, so they order one call and nothing else."""

    def __init__(self, card: ModelCard, folder: Path, threads: int) -> None:
        self._card = card
        self._identity = card.identity
        self._limit = card.max_tokens or 512
        self._model: Loader[TextModel] = Loader(card.name, lambda: load_text_model(folder, threads))

    @property
    def identity(self) -> EngineIdentity:
        return self._identity

    @property
    def state(self) -> LoadState:
        return self._model.state

    def load(self) -> None:
        self._model.get()

    def supports(self, text: str) -> bool:
        return foreign_share(text) < FOREIGN_SHARE

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        deadline.check()
        scores = np.zeros(len(texts), dtype=np.float32)
        with translating(self._card.name, "score"):
            pairs = self._pairs(query, texts)
            lengths = [len(ids) for ids, _ in pairs]
            for positions, scored in in_batches(pairs, lengths, self._logits, deadline):
                scores[positions] = scored
        return [float(score) for score in scores]

    def _pairs(self, query: str, texts: Sequence[str]) -> list[Pair]:
        """`[CLS] query [SEP] text [SEP]` within the limit: the end of the text goes, and of an over-long query."""
        tokenizer = self._model.get().tokenizer
        start, *asked, end = tokenizer.encode(query[:CANDIDATE_CHARS]).ids
        asked = asked[:QUERY_TOKENS]
        room = self._limit - len(asked) - _SPECIAL_TOKENS
        heads = [text[:CANDIDATE_CHARS] for text in texts]
        read = [row.ids[:room] for row in tokenizer.encode_batch_fast(heads, add_special_tokens=False)]
        first = [start, *asked, end]
        return [([*first, *ids, end], [0] * len(first) + [1] * (len(ids) + 1)) for ids in read]

    def _logits(self, pairs: list[Pair]) -> Vectors:
        output, _ = self._model.get().run([ids for ids, _ in pairs], [types for _, types in pairs])
        return np.asarray(output, dtype=np.float32).reshape(-1)


def foreign_share(text: str) -> float:
    """The share of letters that are not Latin; 0 for a text without letters. Looks at the first 2,000 characters."""
    letters = [letter for letter in text[:2_000] if letter.isalpha()]
    if not letters:
        return 0.0
    return sum(not _is_latin(letter) for letter in letters) / len(letters)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
