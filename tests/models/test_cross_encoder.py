"""The reranker's languages and its bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.models.cross_encoder import foreign_share
from workbench.models.open import open_embedder, open_reranker
from workbench.models.runtime import load_text_model, stoppable


@pytest.mark.parametrize(
    ("text", "share"),
    [("plain English, 42", 0.0), ("naïve café", 0.0), ("数据库", 1.0), ("ab 数据", 0.5), ("1 + 1", 0.0), ("", 0.0)],
)
def test_the_share_of_other_scripts_is_counted_over_letters(text: str, share: float) -> None:
    assert foreign_share(text) == share


@pytest.mark.model
@pytest.mark.field(30, 84)
def test_one_huge_candidate_costs_no_more_than_its_share(
    installed_model: Callable[[str], Path], models_folder: Path
) -> None:
    installed_model("minilm-l12-ce")
    reranker = open_reranker("minilm-l12-ce", models_folder, 1)
    huge = ["the sky is blue " * 100_000, "混合检索的权重 " * 50_000]
    deadline = Deadline.after_ms(600_000)
    scores = reranker.score("what colour is the sky", [*huge, "the sky is blue"], deadline)
    assert len(scores) == 3
    assert scores[1] < scores[2]
    assert len(reranker.score("what colour is the sky " * 5_000, ["blue"], deadline)) == 1


@pytest.mark.model
@pytest.mark.field(83)
def test_a_passed_deadline_gives_no_scores(installed_model: Callable[[str], Path], models_folder: Path) -> None:
    installed_model("minilm-l12-ce")
    reranker = open_reranker("minilm-l12-ce", models_folder, 1)
    with pytest.raises(DeadlinePassed):
        reranker.score("what", ["a", "b"], Deadline.after_ms(0))


@pytest.mark.model
@pytest.mark.field(107)
def test_cancelling_stops_a_pair_in_the_middle_and_spoils_nothing(
    installed_model: Callable[[str], Path], models_folder: Path
) -> None:
    installed_model("minilm-l12-ce")
    reranker = open_reranker("minilm-l12-ce", models_folder, 2)
    texts = ["the sky is blue over the harbour " * 80] * 400
    before = reranker.score("what colour", texts[:1], Deadline.after_ms(600_000))
    deadline = Deadline.after_ms(600_000)
    canceller = Timer(0.05, deadline.cancel)
    canceller.start()
    with pytest.raises(DeadlinePassed):
        reranker.score("what colour", texts, deadline)
    canceller.join()
    assert reranker.score("what colour", texts[:1], Deadline.after_ms(600_000)) == before


@pytest.mark.model
def test_a_model_run_that_was_cancelled_already_computes_nothing(installed_model: Callable[[str], Path]) -> None:
    model = load_text_model(installed_model("minilm-l12-ce"))
    deadline = Deadline.after_ms(600_000)
    with stoppable(deadline) as options:
        expected = model.run(options, [101, 102])
    deadline.cancel()
    with pytest.raises(DeadlinePassed), stoppable(deadline) as options:
        model.run(options, [101, 102])
    with stoppable(None) as options:
        assert model.run(options, [101, 102]) == pytest.approx(expected)


@pytest.mark.model
@pytest.mark.field(107)
def test_time_that_runs_out_within_a_text_is_noticed_there(
    installed_model: Callable[[str], Path], models_folder: Path
) -> None:
    """One text of 512 tokens takes much longer than these milliseconds."""
    text = "the sky is blue over the harbour " * 80
    installed_model("minilm-l12-ce")
    installed_model("e5-small")
    reranker, embedder = open_reranker("minilm-l12-ce", models_folder, 1), open_embedder("e5-small", models_folder, 1)
    scores, vector = reranker.score("sky", [text], Deadline.after_ms(600_000)), embedder.encode_query(text)
    with pytest.raises(DeadlinePassed):
        reranker.score("sky", [text], Deadline.after_ms(10))
    with pytest.raises(DeadlinePassed):
        embedder.encode_query(text, Deadline.after_ms(10))
    assert reranker.score("sky", [text], Deadline.after_ms(600_000)) == scores
    assert (embedder.encode_query(text) == vector).all()


@pytest.mark.model
def test_a_pair_scores_the_same_in_any_company(installed_model: Callable[[str], Path], models_folder: Path) -> None:
    installed_model("minilm-l12-ce")
    reranker = open_reranker("minilm-l12-ce", models_folder, 2)
    deadline = Deadline.after_ms(600_000)
    alone = reranker.score("what colour is the sky", ["the sky is blue"], deadline)
    among = reranker.score("what colour is the sky", ["a train leaves at noon " * 30, "the sky is blue"], deadline)
    assert alone[0] == pytest.approx(among[1], abs=1e-6)
