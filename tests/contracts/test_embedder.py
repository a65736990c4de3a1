"""What every embedder keeps, the shipped fake included."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.index.borrowing import BorrowingEmbedder
from workbench.models.base import Embedder, LoadState
from workbench.models.fake import FakeEmbedder
from workbench.models.open import open_embedder

REAL = [pytest.param(name, marks=pytest.mark.model) for name in ("e5-small", "minilm-l6", "bge-small-en", "use-m3")]
SENTENCE_TRANSFORMERS = pytest.param(
    "folder:minilm-l6",
    marks=[pytest.mark.model, pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")],
)
TEXTS = ("the sky is blue today", "a train leaves at noon", "数据库迁移推迟到下周", "x", "word " * 2_000)

_opened: dict[str, Embedder] = {}


@pytest.fixture(params=["fake", "borrowing", *REAL, SENTENCE_TRANSFORMERS])
def fresh(
    request: pytest.FixtureRequest, installed_model: Callable[[str], Path], models_folder: Path
) -> Callable[[], Embedder]:
    """Opens the embedder anew at each call."""
    if request.param == "borrowing":
        return lambda: BorrowingEmbedder(FakeEmbedder(), Path("no index"))
    kind, _, name = request.param.rpartition(":")
    folder = installed_model(name) if name != "fake" else None
    return lambda: open_embedder(str(folder) if kind else name, models_folder, 2)


@pytest.fixture
def embedder(fresh: Callable[[], Embedder], request: pytest.FixtureRequest) -> Embedder:
    """One loaded embedder for all tests of the suite."""
    return _opened.setdefault(request.node.callspec.params["fresh"], fresh())


def fitted(embedder: Embedder, texts: tuple[str, ...] = TEXTS) -> list[str]:
    return [embedder.fit_passage("notes/a.md", ("Travel",), text) for text in texts]


@pytest.mark.field(79)
def test_identity_is_stable_and_known_before_loading(fresh: Callable[[], Embedder]) -> None:
    first, second = fresh(), fresh()
    assert first.state is LoadState.ABSENT
    assert first.identity == second.identity
    assert len(first.identity.digest) == 64
    assert first.state is LoadState.ABSENT


@pytest.mark.field(80)
def test_vectors_are_float32_of_the_stated_dimension_and_length_one(embedder: Embedder) -> None:
    vectors = embedder.encode_passages(fitted(embedder))
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.identity.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    query = embedder.encode_query("the sky")
    assert (query.dtype, query.shape) == (np.float32, (embedder.identity.dimension,))
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
    assert embedder.state is LoadState.READY


def test_no_input_gives_no_vectors(embedder: Embedder) -> None:
    assert embedder.encode_passages([]).shape == (0, embedder.identity.dimension)


def test_order_is_kept_and_company_changes_next_to_nothing(embedder: Embedder) -> None:
    inputs = fitted(embedder)
    together = embedder.encode_passages(inputs)
    alone = np.concatenate([embedder.encode_passages([text]) for text in inputs])
    assert np.allclose(np.sum(together * alone, axis=1), 1, atol=1e-4)


def test_the_nearer_text_is_nearer(embedder: Embedder) -> None:
    vectors = embedder.encode_passages(fitted(embedder, TEXTS[:2]))
    near, far = vectors @ embedder.encode_query("what is blue, the sky?")
    assert near > far


def test_any_text_can_be_encoded(embedder: Embedder) -> None:
    odd = ("", " ", "\n\n", "🐘", "a\u0301", "\ufffd", "<s></s>", "-" * 5_000, "字" * 3_000)
    vectors = embedder.encode_passages(fitted(embedder, odd))
    assert np.isfinite(vectors).all()
    assert all(np.isfinite(embedder.encode_query(text)).all() for text in odd)


def test_a_passage_that_fits_keeps_every_word_of_it(embedder: Embedder) -> None:
    fitted_text = embedder.fit_passage("notes/a.md", ("Travel", "By train"), "a train leaves at noon")
    for part in ("notes/a.md", "Travel > By train", "a train leaves at noon"):
        assert part in fitted_text


def test_threads_get_the_vectors_that_one_caller_gets(embedder: Embedder) -> None:
    inputs = fitted(embedder, TEXTS[:4])
    expected = embedder.encode_passages(inputs)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(embedder.encode_passages, [inputs] * 4):
            assert np.allclose(np.sum(found * expected, axis=1), 1, atol=1e-4)


@pytest.mark.field(85)
def test_a_cold_model_can_be_asked_by_several_threads(fresh: Callable[[], Embedder]) -> None:
    cold = fresh()
    with ThreadPoolExecutor(4) as pool:
        queries = list(pool.map(cold.encode_query, ["the sky"] * 4))
    assert all(np.allclose(query, queries[0], atol=1e-5) for query in queries)
    assert cold.state is LoadState.READY


def test_a_passed_deadline_stops_the_work(embedder: Embedder) -> None:
    with pytest.raises(DeadlinePassed):
        embedder.encode_passages(fitted(embedder), Deadline.after_ms(0))
    with pytest.raises(DeadlinePassed):
        embedder.encode_query("the sky", Deadline.after_ms(0))
