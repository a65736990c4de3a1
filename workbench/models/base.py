"""What the engine asks of a model: an identity known without loading, a load state, bounded work under a deadline.

`Embedder` and `Reranker` are the only two roles. Implementations are thread-safe: the first call loads the model under
one lock, every later call finds it loaded, and nothing unloads it while it is in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.core.deadline import Deadline

Vectors = npt.NDArray[np.float32]


class LoadState(StrEnum):
    """Whether a model is in memory. `absent`: nothing has asked for it yet; `failed`: the last attempt did not work."""

    ABSENT = "absent"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """An engine with everything that changes its numbers.

    digest: sha256 (64 hex digits) of model, weights, tokenizer, prefixes, pooling, normalisation, precision, metric and
    adapter version; two engines never share one. dimension: of the vectors; 0 for a reranker.
    """

    name: str
    digest: str
    dimension: int


class Embedder(Protocol):
    """Text to unit vectors, compared by dot product (which is cosine, since every vector has length 1)."""

    @property
    def identity(self) -> EngineIdentity:
        """Known without loading the model."""

    @property
    def state(self) -> LoadState: ...

    def load(self) -> None:
        """Bring the model into memory, once, whoever else asks meanwhile.

        Raises: `ModelError("model_missing" | "model_invalid")`; the state is then `failed`, a later call tries again.
        """

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        """The exact encoder input of a unit: prefix, path, headings and text, within the model's token limit.

        What does not fit is taken from the path and headings first, then from the end of the text. Loads the model.
        """

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        """float32 (len(inputs), dimension), L2-normalised, in the order given; `inputs` come from `fit_passage`.

        Raises: `DeadlinePassed` when the deadline comes first; `ModelError` when the model fails.
        """

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        """float32 (dimension,), L2-normalised. A query longer than the model's limit is cut at its end.

        Raises: as `encode_passages`.
        """


class Reranker(Protocol):
    """How well each text answers a query, by reading both together."""

    @property
    def identity(self) -> EngineIdentity:
        """Known without loading the model."""

    @property
    def state(self) -> LoadState: ...

    def load(self) -> None:
        """As `Embedder.load`."""

    def supports(self, text: str) -> bool:
        """Whether the text is in a language that the model was trained on."""

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """One score per text, in the order given, greater is better; of no meaning beside another model's scores.

        All or nothing: a deadline that comes first raises `DeadlinePassed`, never a partial list.
        """
