"""Vector search against brute force, whatever the vectors look like and however the index came to hold them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.models.base import Vectors
from workbench.retrieval.ranking import best_hits
from workbench.retrieval.vector_index import VectorIndex, greatest

PLENTY = Deadline(at=10.0, clock=lambda: 0.0)


def in_a_narrow_cone(count: int, seed: int = 0, dimension: int = 64) -> Vectors:
    """Unit vectors as e5 makes them: similarities between 0.8 and 0.9, with one outlying dimension."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, dimension)) + 2.5
    vectors[:, 3] += 8
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def holding(vectors: Vectors) -> VectorIndex:
    return VectorIndex.empty(vectors.shape[1]).extended(np.arange(1, len(vectors) + 1), vectors)


def best(index: VectorIndex, query: Vectors, count: int = 60, **how: np.ndarray) -> list[int]:
    rows, cosines = index.search(query, count, how.get("allowed"), PLENTY)
    return [hit.unit_rowid for hit in best_hits(rows, cosines, count, lambda _: {})]


def brute_force(vectors: Vectors, query: Vectors, count: int = 60) -> list[int]:
    return (np.argsort(-(vectors.astype(np.float64) @ query), kind="stable")[:count] + 1).tolist()


@pytest.mark.spec("D4")
def test_the_best_sixty_are_those_of_brute_force() -> None:
    vectors, queries = in_a_narrow_cone(20_000), in_a_narrow_cone(20, seed=1)
    index = holding(vectors)
    found = [len(set(best(index, query)) & set(brute_force(vectors, query))) / 60 for query in queries]
    assert np.mean(found) >= 0.999


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 5))
def test_an_index_grown_by_steps_finds_what_one_made_at_once_finds(steps: list[int], seed: int) -> None:
    vectors = in_a_narrow_cone(sum(steps), seed)
    grown = VectorIndex.empty(vectors.shape[1])
    for step in steps:
        start = grown.size
        grown = grown.extended(np.arange(start + 1, start + step + 1), vectors[start : start + step])
    query = in_a_narrow_cone(1, seed + 100)[0]
    assert best(grown, query) == best(holding(vectors), query) == brute_force(vectors, query)


def test_an_older_index_still_answers_as_before_after_it_was_extended() -> None:
    vectors, query = in_a_narrow_cone(300), in_a_narrow_cone(1, seed=9)[0]
    older = holding(vectors[:100]).extended(np.arange(101, 151), vectors[100:150])
    before = best(older, query)
    older.extended(np.arange(151, 301), vectors[150:])
    assert best(older, query) == before == brute_force(vectors[:150], query)


@pytest.mark.field(64)
def test_a_scope_is_applied_before_the_best_are_taken() -> None:
    vectors, query = in_a_narrow_cone(5_000), in_a_narrow_cone(1, seed=2)[0]
    allowed = np.zeros(5_000, dtype=bool)
    allowed[brute_force(vectors, query, 5_000)[-1] - 1] = True
    assert best(holding(vectors), query, allowed=allowed) == [brute_force(vectors, query, 5_000)[-1]]


def test_equal_vectors_get_equal_scores_wherever_they_stand() -> None:
    vectors = np.repeat(in_a_narrow_cone(1), 1_000, axis=0)
    _, cosines = holding(vectors).search(in_a_narrow_cone(1, seed=3)[0], 60, None, PLENTY)
    assert len(set(cosines.tolist())) == 1


def test_an_empty_index_and_an_empty_scope_find_nothing() -> None:
    query = in_a_narrow_cone(1)[0]
    assert best(VectorIndex.empty(64), query) == []
    assert best(holding(in_a_narrow_cone(10)), query, allowed=np.zeros(10, dtype=bool)) == []


def test_a_scan_stops_at_the_deadline() -> None:
    with pytest.raises(DeadlinePassed):
        holding(in_a_narrow_cone(10)).search(in_a_narrow_cone(1)[0], 60, None, Deadline(at=0.0, clock=lambda: 1.0))


@given(st.integers(1, 20_000), st.integers(1, 300), st.integers(0, 3))
def test_the_greatest_scores_are_found_whatever_the_sample_says(size: int, count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 50, size).astype(np.float32)
    scores[:: max(1, size // 1_024)] = 100 * seed
    found = greatest(scores, count)
    assert sorted(scores[found]) == sorted(scores)[-count:]
