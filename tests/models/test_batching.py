"""Bounded work: order, batches, the deadline between two steps, and vectors that have a length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import ModelError
from workbench.models.base import Vectors
from workbench.models.batching import by_length, in_batches, one_by_one, unit_vectors


def ticking(steps: int) -> Deadline:
    """A deadline that has passed at its look number `steps`."""
    clock = iter(range(1_000))
    return Deadline(at=float(steps), clock=lambda: float(next(clock)))


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 100))
def test_batches_hold_every_text_once_and_stay_within_their_size(lengths: list[int], size: int) -> None:
    batches = list(by_length(lengths, size))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert (
            len(batch) == 1
            or len(batch) * max(lengths[position] for position in batch) <= size
            or not any(lengths[position] for position in batch)
        )


@pytest.mark.parametrize("threads", [1, 3])
def test_results_keep_the_order_of_the_items(threads: int) -> None:
    assert one_by_one(range(20), lambda number: number * number, threads, None) == [n * n for n in range(20)]
    assert one_by_one([], lambda number: number, threads, None) == []


@pytest.mark.field(83)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_deadline_stops_between_two_items(threads: int) -> None:
    done: list[int] = []
    with pytest.raises(DeadlinePassed):
        one_by_one(range(100), done.append, threads, ticking(5))
    assert len(done) <= 5


def test_a_deadline_stops_between_two_batches() -> None:
    seen: list[int] = []

    def run(texts: list[str]) -> Vectors:
        seen.append(len(texts))
        return np.ones((len(texts), 2), dtype=np.float32)

    with pytest.raises(DeadlinePassed):
        in_batches(["x" * 8_000] * 10, 2, run, ticking(3))
    assert seen == [1, 1, 1]


@pytest.mark.field(80)
def test_vectors_come_out_with_length_one_whatever_the_model_gives() -> None:
    vectors = unit_vectors(np.array([[3.0, 4.0], [0.0, 0.1]], dtype=np.float32), "m")
    assert np.allclose(vectors, [[0.6, 0.8], [0.0, 1.0]])


@pytest.mark.field(80)
@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_a_direction_is_refused(bad: list[float]) -> None:
    with pytest.raises(ModelError) as raised:
        unit_vectors(np.array([bad], dtype=np.float32), "m")
    assert raised.value.code == "model_invalid"
