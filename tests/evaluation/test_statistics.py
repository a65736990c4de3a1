"""Intervals and tests against what can be counted by hand, and against scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from workbench.evaluation.statistics import bootstrap_intervals, holm, mean_intervals, paired_p, randomisation_test


def test_five_equal_differences_leave_two_of_thirty_two_sign_patterns() -> None:
    assert randomisation_test(np.ones((5, 1)), seed=0) == pytest.approx([2 / 2**5])


def test_few_cases_are_tested_by_every_sign_pattern() -> None:
    values = np.array([0.5, -0.25, 1.0, 0.0, 0.125, 0.25, -0.5, 1.0])
    by_hand = np.mean([abs(np.dot(signs, values)) >= abs(values.sum()) for signs in product((-1, 1), repeat=8)])
    scipy = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)

    (p,) = randomisation_test(values[:, None], seed=0)

    assert p == pytest.approx(by_hand) == pytest.approx(scipy.pvalue)


def test_many_cases_are_tested_by_drawn_patterns_and_p_is_never_zero() -> None:
    draw = np.random.default_rng(5)
    values = np.column_stack([draw.normal(0.12, 1, 400), np.full(400, 0.3)])
    exact = stats.ttest_1samp(values[:, 0], 0.0).pvalue

    p = randomisation_test(values, seed=1)

    assert p[0] == pytest.approx(exact, abs=0.015)
    assert p[1] == 1 / 10_000


def test_equal_orders_have_p_one() -> None:
    assert randomisation_test(np.zeros((40, 2)), seed=0) == pytest.approx([1.0, 1.0])
    assert randomisation_test(np.zeros((4, 1)), seed=0) == pytest.approx([1.0])


def test_an_interval_holds_ninety_five_of_a_hundred_resampled_means() -> None:
    values = np.random.default_rng(2).random((60, 2))
    scipy = stats.bootstrap(
        (values[:, 1],), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(3)
    )

    low, high = bootstrap_intervals(values, seed=0)

    assert (low[1], high[1]) == pytest.approx(
        (scipy.confidence_interval.low, scipy.confidence_interval.high), abs=0.008
    )


def test_the_interval_of_one_case_is_the_case() -> None:
    interval = mean_intervals({("a",): np.array([0.25])}, seed=0)["a",]

    assert (interval.mean, interval.low, interval.high) == (0.25, 0.25, 0.25)


def test_the_same_seed_draws_the_same_and_another_one_does_not() -> None:
    values = np.random.default_rng(4).random((50, 3))

    assert np.array_equal(bootstrap_intervals(values, seed=7), bootstrap_intervals(values, seed=7))
    assert not np.array_equal(bootstrap_intervals(values, seed=7), bootstrap_intervals(values, seed=8))
    assert np.array_equal(randomisation_test(values - 0.45, seed=7), randomisation_test(values - 0.45, seed=7))


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # sorted: .01 x 4 = .04, .02 x 3 = .06, .03 x 2 = .06, .5 x 1 = .5
    assert holm([0.5, 0.01, 0.03, 0.02]) == pytest.approx((0.5, 0.04, 0.06, 0.06))
    assert holm([0.4, 0.6]) == (0.8, 0.8)
    assert holm([]) == ()


def test_a_family_without_differences_has_no_tests() -> None:
    assert paired_p({}, seed=0) == {}
