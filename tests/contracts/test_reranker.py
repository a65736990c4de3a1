"""What every reranker keeps, the shipped fake included."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.models.base import LoadState, Reranker
from workbench.models.open import open_reranker

QUERY = "what colour is the sky"
TEXTS = ("a train leaves at noon", "the colour of the sky is blue", "bread needs flour")


@pytest.fixture(params=["fake", pytest.param("minilm-l12-ce", marks=pytest.mark.model)])
def reranker(request: pytest.FixtureRequest, installed_model: Callable[[str], Path], models_folder: Path) -> Reranker:
    if request.param != "fake":
        installed_model(request.param)
    return open_reranker(request.param, models_folder, 2)


def soon() -> Deadline:
    return Deadline.after_ms(600_000)


def test_identity_is_known_before_loading(reranker: Reranker) -> None:
    assert reranker.state is LoadState.ABSENT
    assert len(reranker.identity.digest) == 64
    assert reranker.identity.dimension == 0


def test_there_is_one_finite_score_for_each_text_and_the_answer_has_the_greatest(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, TEXTS, soon())
    assert len(scores) == len(TEXTS)
    assert all(map(math.isfinite, scores))
    assert scores.index(max(scores)) == 1
    assert reranker.state is LoadState.READY


def test_scores_follow_the_order_of_the_texts(reranker: Reranker) -> None:
    forwards, backwards = reranker.score(QUERY, TEXTS, soon()), reranker.score(QUERY, TEXTS[::-1], soon())
    assert backwards[::-1] == pytest.approx(forwards, abs=1e-6)


def test_no_text_gives_no_score(reranker: Reranker) -> None:
    assert reranker.score(QUERY, [], soon()) == []


@pytest.mark.field(30)
def test_any_text_can_be_scored(reranker: Reranker) -> None:
    odd = ["", " ", "🐘", "混合检索 " * 900, "-" * 5_000]
    assert all(map(math.isfinite, reranker.score(QUERY, odd, soon())))
    assert all(map(math.isfinite, reranker.score("字" * 4_000, odd, soon())))


@pytest.mark.field(83)
def test_a_passed_deadline_gives_no_partial_list(reranker: Reranker) -> None:
    with pytest.raises(DeadlinePassed):
        reranker.score(QUERY, TEXTS, Deadline.after_ms(0))


@pytest.mark.field(85)
def test_a_cold_model_can_be_asked_by_several_threads(reranker: Reranker) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: reranker.score(QUERY, TEXTS, soon()), range(4)))
    assert all(answer == pytest.approx(answers[0], abs=1e-6) for answer in answers)
    assert reranker.state is LoadState.READY


@pytest.mark.parametrize("text", ["plain English", "naïve café, 20.04", "", "`code()` -> 3"])
def test_english_and_code_are_supported(reranker: Reranker, text: str) -> None:
    assert reranker.supports(text)


@pytest.mark.model
@pytest.mark.parametrize(
    "text", ["混合检索的权重应该如何设置", "Зоны ответственности", "しりとり", "the 混合检索 of 权重 weights"]
)
def test_scripts_that_the_model_cannot_read_are_not(
    installed_model: Callable[[str], Path], models_folder: Path, text: str
) -> None:
    installed_model("minilm-l12-ce")
    assert not open_reranker("minilm-l12-ce", models_folder, 1).supports(text)
