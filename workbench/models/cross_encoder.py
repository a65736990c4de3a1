"""The reranker: an ONNX cross-encoder that reads query and text together, and knows which scripts it can read."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.core.deadline import Deadline
from workbench.models.batching import one_by_one
from workbench.models.card import ModelCard
from workbench.models.installed import InstalledModel
from workbench.models.loading import translating
from workbench.models.runtime import DEFAULT_LIMIT, TextModel, load_text_model, stoppable

FOREIGN_SHARE = 0.2
"""Share of letters outside the Latin script from which a text counts as another language."""
CANDIDATE_CHARS = 8_000
"""Characters of one candidate that reach the tokenizer; 512 tokens never need more, and a huge text costs no more."""
QUERY_TOKENS = 128
"""Tokens of the query that one pair may hold, so that every candidate keeps the greater part of the room."""


class CrossEncoderReranker(InstalledModel[TextModel]):
    """Scores are the model's logits: unbounded, and the same for the same pair whatever it is scored with."""

    def __init__(self, card: ModelCard, folder: Path, threads: int) -> None:
        super().__init__(card, lambda: load_text_model(folder))
        self._threads, self._limit = threads, card.max_tokens or DEFAULT_LIMIT

    def supports(self, text: str) -> bool:
        return foreign_share(text) < FOREIGN_SHARE

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        deadline.check()
        self.load()
        with translating(self._card.name, "score"), stoppable(deadline) as options:
            first, last = self._frame(query)

            def logit(text: str) -> float:
                return self._logit(options, first, last, text)

            return one_by_one(texts, logit, self._threads, deadline)

    def _frame(self, query: str) -> tuple[list[int], int]:
        """`[CLS] query [SEP]`, and the `[SEP]` that ends the pair."""
        start, *asked, end = self._model.get().ids(query[:CANDIDATE_CHARS])
        return [start, *asked[:QUERY_TOKENS], end], end

    def _logit(self, options: Any, first: list[int], last: int, text: str) -> float:
        """The end of a text that is too long goes; the query keeps its place."""
        model = self._model.get()
        read = model.ids(text[:CANDIDATE_CHARS])[1:-1][: self._limit - len(first) - 1]
        types = [0] * len(first) + [1] * (len(read) + 1)
        return float(model.run(options, [*first, *read, last], types)[0])


def foreign_share(text: str) -> float:
    """The share of letters that are not Latin; 0 for a text without letters. Looks at the first 2,000 characters."""
    letters = [letter for letter in text[:2_000] if letter.isalpha()]
    if not letters:
        return 0.0
    return sum(not _is_latin(letter) for letter in letters) / len(letters)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
