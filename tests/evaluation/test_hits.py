"""How ranked units meet evidence, and what is counted beside the ranking metrics."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.evaluation.judging import CORPUS, fused, part, runs, unit, whole
from workbench.evaluation.hits import BESIDE, OrderFigures, hit_places, order_figures, survival
from workbench.evaluation.judged import JudgedRun
from workbench.evaluation.metrics import MISS


def beside(figures: OrderFigures, name: str) -> float:
    return figures.beside[BESIDE.index(name)]


@pytest.mark.spec("D9")
def test_unit_evidence_is_met_by_that_unit_alone() -> None:
    units = (unit(1, 0), unit(1, 1), unit(1, 2))

    assert hit_places(units, [part(1, 1)]) == (MISS, 0, MISS)


@pytest.mark.spec("D9")
def test_resource_evidence_is_met_by_the_first_unit_and_counts_once() -> None:
    units = (unit(2), unit(1, 4), unit(1, 0), unit(3))

    assert hit_places(units, [whole(1), whole(3)]) == (MISS, 0, MISS, 1)


@pytest.mark.spec("D9")
def test_a_unit_that_meets_its_own_and_its_resources_evidence_is_both_hits() -> None:
    units = (unit(2), unit(1, 0), unit(3))

    assert hit_places(units, [whole(1), part(1, 0)]) == (MISS, 1, 0, MISS)


def test_nothing_is_looked_at_beyond_the_depth() -> None:
    units = fused(*range(1, 26))

    assert hit_places(units, [whole(20), whole(21)])[19:] == (0,)


@given(run=runs())
def test_each_piece_of_evidence_is_met_at_most_once_and_exactly_when_something_meets_it(run: JudgedRun) -> None:
    met = [place for place in hit_places(run.ranked, run.evidence, depth=1_000) if place != MISS]

    assert len(met) == len(set(met))
    names = {(one.resource_id, one.unit_key) for one in run.ranked} | {(one.resource_id, None) for one in run.ranked}
    assert {(one.resource_id, one.unit_key) for one in run.evidence} & names == {
        (run.evidence[number].resource_id, run.evidence[number].unit_key) for number in met
    }


@pytest.mark.spec("D12")
def test_a_scope_violation_occurs_without_a_stale_result() -> None:
    figures = order_figures((unit(1), unit(99)), [whole(1)], CORPUS)

    assert (figures.scope_violations, figures.stale_results) == (1, 0)
    assert (beside(figures, "scope_violation@20"), beside(figures, "stale_result@20")) == (0.5, 0.0)


@pytest.mark.spec("D12")
def test_a_stale_result_occurs_without_a_scope_violation() -> None:
    figures = order_figures((unit(1), unit(2, resource_hash="older")), [whole(1)], CORPUS)

    assert (figures.scope_violations, figures.stale_results) == (0, 1)
    assert (beside(figures, "scope_violation@20"), beside(figures, "stale_result@20")) == (0.0, 0.5)


@pytest.mark.spec("D12")
def test_both_are_counted_in_the_first_twenty_units_only() -> None:
    order = (*fused(*range(1, 21)), unit(99), unit(21, resource_hash="older"))

    figures = order_figures(order, [whole(1)], CORPUS)

    assert (figures.scope_violations, figures.stale_results) == (0, 0)


def test_a_unit_whose_hash_was_not_recorded_is_not_called_stale() -> None:
    assert order_figures((unit(1, resource_hash=None),), [whole(1)], CORPUS).stale_results == 0


def test_shares_are_of_what_was_returned() -> None:
    order = (unit(1, 0), unit(1, 1), unit(2), unit(3))

    figures = order_figures(order, [whole(1), part(3)], CORPUS)

    assert beside(figures, "resource_diversity@20") == 3 / 4
    assert beside(figures, "judged@10") == 3 / 4, "two units of a confirmed resource and a confirmed unit"


@pytest.mark.parametrize(
    ("resources", "any_hit", "all_hit"),
    [((9, 8, 7, 6, 1, 2), 1, 0), ((1, 9, 8, 7, 2), 1, 1), ((9, 8, 7, 6, 5, 1), 0, 0)],
)
def test_recall_any_and_all_look_at_the_first_five(resources: tuple[int, ...], any_hit: int, all_hit: int) -> None:
    figures = order_figures(fused(*resources), [whole(1), whole(2)], CORPUS)

    assert (beside(figures, "recall_any@5"), beside(figures, "recall_all@5")) == (any_hit, all_hit)


@pytest.mark.field(136)
def test_an_order_without_units_scores_zero_in_everything_but_the_zero_hits() -> None:
    figures = order_figures((), [whole(1)], CORPUS)

    assert figures.places == ()
    assert dict(zip(BESIDE, figures.beside, strict=True)) == {**dict.fromkeys(BESIDE, 0.0), "zero_hit": 1.0}


def test_survival_is_the_share_of_evidence_that_a_fragment_holds() -> None:
    evidence = [whole(1), part(2, 0), part(2, 1), whole(3)]

    assert survival(evidence, [("u1.7", "r1"), ("u2.1", "r2")]) == 2 / 4
    assert survival(evidence, []) == 0.0
