"""How sure a mean or a difference is: bootstrap intervals, paired randomisation tests, Holm's correction.

Cases are what is drawn, all columns of a case together. The same seed and values give the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.core.progress import Progress, no_progress
from workbench.evaluation.figures import CONFIDENCE, Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

RESAMPLES, PERMUTATIONS = 2_000, 9_999
_DRAWN_AT_ONCE = 2_000_000
_EQUAL = 1e-9
DIGITS = 9
"""Decimals of what is told: the ones behind depend on how a machine sums."""

Name = tuple[str, ...]


def mean_intervals(columns: Mapping[Name, Values], seed: int, progress: Progress = no_progress) -> dict[Name, Interval]:
    """Each column's mean with its bootstrap interval. Columns: (n_cases,), all over the same cases."""
    import numpy as np

    values = np.column_stack(list(columns.values()))
    figures = (
        np.vstack([values.mean(axis=0), bootstrap_intervals(values, seed=seed, progress=progress)])
        .round(DIGITS)
        .T.tolist()
    )
    return {
        name: Interval(mean=mean, low=low, high=high) for name, (mean, low, high) in zip(columns, figures, strict=True)
    }


def paired_p(
    differences: Mapping[Name, Values], seed: int, progress: Progress = no_progress
) -> dict[Name, tuple[float, float]]:
    """Each column's p by paired randomisation, and the same corrected by Holm over all columns as one family."""
    import numpy as np

    if not differences:
        return {}
    values = np.column_stack(list(differences.values()))
    p_values = randomisation_test(values, seed=seed, progress=progress).round(DIGITS).tolist()
    return dict(zip(differences, zip(p_values, holm(p_values), strict=True), strict=True))


def bootstrap_intervals(values: Values, *, seed: int, progress: Progress = no_progress) -> Values:
    """float64 (2, n_columns): the lower and upper end of the 95 % percentile interval of each column's mean.

    values: (n_cases, n_columns), at least one case. progress: phase `intervals` in resamples.
    """
    import numpy as np

    draw, count = np.random.default_rng(seed), len(values)
    means = np.empty((RESAMPLES, values.shape[1]))
    for start, stop in _chunks(RESAMPLES, count):
        size = stop - start
        drawn = draw.integers(count, size=(size, count)) + np.arange(size)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        means[start:stop] = times @ values / count
        progress("intervals", stop, RESAMPLES)
    return np.quantile(means, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2), axis=0)


def randomisation_test(differences: Values, *, seed: int, progress: Progress = no_progress) -> Values:
    """float64 (n_columns,): two-sided p of each column's mean difference being 0, by flipping the signs of cases.

    differences: (n_cases, n_columns). All sign patterns are tried where there are no more of them than
    `PERMUTATIONS`, which is exact; else so many are drawn, and the pattern that happened counts as one more. progress:
    phase `tests` in patterns.
    """
    import numpy as np

    count, patterns = len(differences), 2 ** min(len(differences), 60)
    exact = patterns <= PERMUTATIONS
    total = patterns if exact else PERMUTATIONS
    draw, whole = np.random.default_rng(seed), differences.sum(axis=0)
    observed = np.abs(whole) - _EQUAL
    reached = np.zeros(differences.shape[1])
    for start, stop in _chunks(total, count):
        if exact:
            bits = (np.arange(start, stop)[:, None] >> np.arange(count)) & 1
        else:
            bits = draw.integers(0, 2, size=(stop - start, count), dtype=np.int8)
        reached += (np.abs(whole - 2 * (bits @ differences)) >= observed).sum(axis=0)
        progress("tests", stop, total)
    return reached / patterns if exact else (reached + 1) / (PERMUTATIONS + 1)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values of one family, corrected by Holm's step-down method (1979), in the order given."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for tried, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - tried)))
        adjusted[place] = highest
    return tuple(adjusted)


def _chunks(total: int, width: int) -> Iterator[tuple[int, int]]:
    """Slices of `total` rows that hold at most `_DRAWN_AT_ONCE` values of `width` a row, at least one row each."""
    size = max(1, _DRAWN_AT_ONCE // max(width, 1))
    for start in range(0, total, size):
        yield start, min(start + size, total)
