"""The reranker may only reorder: whatever it does wrong, the RRF order stands and says why."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.units import a_unit, in_rrf_order
from workbench.core.activation import Ordering
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import ModelError
from workbench.core.resource import Status
from workbench.models.fake import FakeReranker
from workbench.retrieval.candidates import Ranked
from workbench.retrieval.rerank import Ordered, rerank

PLENTY = Deadline(at=10.0, clock=lambda: 0.0)
NAMES = "abcdef"
RANKED = in_rrf_order(*(a_unit(name) for name in NAMES))


def order(ordered: Ordered) -> str:
    return "".join(one.unit.resource_id for one in ordered.ranked)


def codes(ordered: Ordered) -> list[str]:
    return [note.code for note in ordered.notes]


def by(reranker: FakeReranker, ranked: Sequence[Ranked] = RANKED, window: int = 24, **how: Deadline) -> Ordered:
    return rerank(reranker, "a question", ranked, window, how.get("deadline", PLENTY), patient=True)


def scoring(*scores: float) -> FakeReranker:
    return FakeReranker(lambda query, texts: scores[: len(texts)])


@pytest.mark.spec("D5")
def test_the_window_is_reordered_and_the_rest_stays_behind_in_rrf_order() -> None:
    ordered = by(scoring(0.1, 0.9, 0.5), window=3)
    assert order(ordered) == "bcadef"
    assert ordered.ordering is Ordering.CROSS_ENCODER
    assert [one.rerank for one in ordered.ranked[:4]] == [(1, 0.9), (2, 0.5), (3, 0.1), None]


@pytest.mark.spec("D5")
def test_twenty_four_texts_are_read_and_equal_scores_keep_the_rrf_order() -> None:
    reranker = scoring(*[0.0] * 40)
    ranked = in_rrf_order(*(a_unit(f"n{number:02}") for number in range(40)))
    assert by(reranker, ranked).ranked[30:] == tuple(ranked[30:])
    assert [one.unit for one in by(reranker, ranked).ranked] == [one.unit for one in ranked]
    assert len(reranker.calls[0][1]) == 24


def raising(error: Exception) -> FakeReranker:
    def fail(query: str, texts: Sequence[str]) -> list[float]:
        raise error

    return FakeReranker(fail)


@pytest.mark.spec("D5")
@pytest.mark.spec("T3-2")
@pytest.mark.field(83)
@pytest.mark.parametrize(
    ("reranker", "code"),
    [
        (scoring(0.1, 0.9), "rerank_invalid"),
        (scoring(0.1, math.nan, 0.3, 0.4, 0.5, 0.6), "rerank_invalid"),
        (scoring(0.1, math.inf, 0.3, 0.4, 0.5, 0.6), "rerank_invalid"),
        (FakeReranker(lambda query, texts: [1.0] * (len(texts) + 1)), "rerank_invalid"),
        (raising(DeadlinePassed()), "rerank_timeout"),
        (raising(ModelError("model_invalid", "Install it again.")), "rerank_unavailable"),
        (FakeReranker(supports=lambda text: "question" not in text), "rerank_language"),
        (FakeReranker(supports=lambda text: "question" in text), "rerank_language"),
    ],
)
def test_a_reranker_that_fails_leaves_the_rrf_order(reranker: FakeReranker, code: str) -> None:
    ordered = by(reranker)
    assert (order(ordered), ordered.ordering, codes(ordered)) == (NAMES, Ordering.RRF, [code])
    assert all(one.rerank is None for one in ordered.ranked)


@pytest.mark.field(83)
def test_a_deadline_that_came_already_leaves_the_rrf_order() -> None:
    ordered = by(scoring(*range(6)), deadline=Deadline(at=0.0, clock=lambda: 1.0))
    assert (order(ordered), codes(ordered)) == (NAMES, ["rerank_timeout"])


def test_a_candidate_in_another_language_keeps_its_place() -> None:
    reranker = FakeReranker(lambda query, texts: range(len(texts)), lambda text: not text.startswith("b says"))
    ordered = by(reranker)
    assert order(ordered) == "fbedca"
    assert codes(ordered) == ["rerank_language"]


def test_what_is_not_current_is_never_read() -> None:
    reranker = scoring(1.0, 2.0)
    ranked = [*in_rrf_order(a_unit("old"), status=Status.RETRACTED), *in_rrf_order(a_unit("a"), a_unit("b"))]
    assert order(by(reranker, ranked, window=2)) == "baold"
    assert not any("old" in text for text in reranker.calls[0][1])


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6), st.integers(1, 6))
def test_nothing_is_added_and_nothing_is_lost(scores: list[float], window: int) -> None:
    ordered = by(scoring(*scores), window=window)
    assert sorted(order(ordered)) == sorted(NAMES)
    assert order(ordered)[window:] == NAMES[window:]
