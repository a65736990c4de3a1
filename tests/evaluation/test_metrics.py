"""Metrics against hand-worked numbers and a second library."""

from __future__ import annotations

from math import log2

import ir_measures
import pytest

from workbench.evaluation.metrics import score_orders

RELEVANT = {"q1": {"a", "b"}, "q2": {"c"}, "q3": {"d"}}
ORDERS = {"q1": ["x", "a", "y"], "q2": ["c"]}


def test_scores_equal_numbers_worked_by_hand() -> None:
    scores = score_orders(RELEVANT, ORDERS)

    assert scores["recall@20"] == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    assert scores["mrr@10"] == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    assert scores["ndcg@10"]["q1"] == pytest.approx((1 / log2(3)) / (1 / log2(2) + 1 / log2(3)))
    assert scores["ndcg@10"]["q2"] == 1.0


@pytest.mark.field(130)
@pytest.mark.field(134)
def test_a_query_without_results_scores_zero_and_counts() -> None:
    scores = score_orders(RELEVANT, {})

    assert all(set(values) == set(RELEVANT) and set(values.values()) == {0.0} for values in scores.values())


@pytest.mark.field(135)
def test_the_ideal_uses_all_evidence_and_not_what_was_returned() -> None:
    assert score_orders({"q": {"a", "b"}}, {"q": ["a"]})["ndcg@10"]["q"] == pytest.approx(0.613, abs=0.001)


def test_a_second_library_gives_the_same_scores() -> None:
    relevant = {f"q{n}": {f"d{n}", f"d{n + 2}", f"d{n * 3}"} for n in range(12)}
    orders = {f"q{n}": [f"d{(n * 7 + place * 5) % 31}" for place in range(25)] for n in range(11)}
    measures = [ir_measures.R @ 20, ir_measures.nDCG @ 10, ir_measures.RR @ 10]
    qrels = [ir_measures.Qrel(query, one, 1) for query, ids in relevant.items() for one in ids]
    run = [
        ir_measures.ScoredDoc(query, one, 100.0 - place)
        for query, ids in orders.items()
        for place, one in enumerate(ids)
    ]
    names = dict(zip(map(str, measures), ("recall@20", "ndcg@10", "mrr@10"), strict=True))
    second = {
        (names[str(value.measure)], value.query_id): value.value
        for value in ir_measures.iter_calc(measures, qrels, run)
    }

    scores = score_orders(relevant, orders)

    for metric, values in scores.items():
        for query, value in values.items():
            assert value == pytest.approx(second.get((metric, query), 0.0), abs=1e-6)


def test_no_queries_give_no_scores() -> None:
    assert score_orders({}, {}) == {"recall@20": {}, "ndcg@10": {}, "mrr@10": {}}
