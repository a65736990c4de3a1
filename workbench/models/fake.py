"""The shipped fakes: an embedder and a reranker that are quick, deterministic and need no files.

Texts that share words get similar vectors. Everything a caller hands over is recorded, so that a test looks at the real
encoder inputs instead of trusting a count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError
from workbench.core.hashing import digest, sha256_hex
from workbench.core.text import CJK_RUN
from workbench.models.base import EngineIdentity, LoadState, Vectors
from workbench.models.passage import PassageRule

PASSAGE_PREFIX, QUERY_PREFIX = "passage: ", "query: "
_TOKEN = re.compile(rf"{CJK_RUN.pattern[:-1]}|\w+|[^\w\s]")

Scores = Callable[[str, Sequence[str]], Sequence[float]]


def fake_terms(text: str) -> list[str]:
    """Lower-cased words, and single characters where a script has no spaces, in order, with repetition."""
    return [match.group().lower() for match in _TOKEN.finditer(text)]


class FakeEmbedder:
    """A hashed bag of words.

    fail_after: encoder inputs (passages and queries) served before every further one raises `ModelError`.
    inputs, queries: what was encoded, in order.
    """

    def __init__(
        self, dimension: int = 32, name: str = "fake", fail_after: int | None = None, max_tokens: int = 512
    ) -> None:
        self.identity = EngineIdentity(name, digest({"fake": name, "dim": dimension, "max": max_tokens}), dimension)
        self.state = LoadState.ABSENT
        self.inputs: list[str] = []
        self.queries: list[str] = []
        self._fail_after = fail_after
        self._rule = PassageRule(PASSAGE_PREFIX, _spans, max_tokens)

    def load(self) -> None:
        self.state = LoadState.READY

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        return self._rule.fit(path, heading_path, text)

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        self.load()
        vectors = np.zeros((len(inputs), self.identity.dimension), dtype=np.float32)
        for row, text in enumerate(inputs):
            if deadline is not None:
                deadline.check()
            self._serve()
            self.inputs.append(text)
            vectors[row] = self._vector(text.removeprefix(PASSAGE_PREFIX))
        return vectors

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        self.load()
        if deadline is not None:
            deadline.check()
        self._serve()
        self.queries.append(query)
        return self._vector(query)

    def _serve(self) -> None:
        if self._fail_after is not None and len(self.inputs) + len(self.queries) >= self._fail_after:
            self.state = LoadState.FAILED
            raise ModelError("model_invalid", "The fake engine was told to fail here.")

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.identity.dimension, dtype=np.float32)
        for term in fake_terms(text):
            hashed = int(sha256_hex(term)[:12], 16)
            vector[hashed % len(vector)] += 1.0 if (hashed >> 40) & 1 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            vector[0], length = 1.0, 1.0
        return vector / np.float32(length)


class FakeReranker:
    """Scores by shared words, or by `scores(query, texts)`. calls: the queries with their texts, in order."""

    def __init__(self, scores: Scores | None = None, supports: Callable[[str], bool] | None = None) -> None:
        self.identity = EngineIdentity("fake-reranker", digest({"fake": "reranker"}), 0)
        self.state = LoadState.ABSENT
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self._scores, self._supports = scores or _overlap, supports

    def load(self) -> None:
        self.state = LoadState.READY

    def supports(self, text: str) -> bool:
        return self._supports is None or self._supports(text)

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        self.load()
        deadline.check()
        self.calls.append((query, tuple(texts)))
        return list(self._scores(query, texts))


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _TOKEN.finditer(text)]


def _overlap(query: str, texts: Sequence[str]) -> list[float]:
    asked = set(fake_terms(query))
    return [float(len(asked & set(fake_terms(text)))) for text in texts]
