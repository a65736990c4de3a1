"""Reciprocal rank fusion: hand-worked sums, and the laws that hold for any lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.retrieval.fusion import fuse_queries, fuse_ranked_lists

ids = st.text("abcdefgh", min_size=1, max_size=2)
ranked_lists = st.lists(st.lists(ids, max_size=12), max_size=4)


def keys(fused: list) -> list[str]:
    return [one.key for one in fused]


@pytest.mark.spec("D5")
def test_scores_are_sums_of_reciprocal_ranks_over_sixty_plus_rank() -> None:
    fused = fuse_ranked_lists([["a", "b"], ["c", "b", "a"]])
    assert [(one.key, one.score) for one in fused] == [
        ("a", pytest.approx(1 / 61 + 1 / 63)),
        ("b", pytest.approx(1 / 62 + 1 / 62)),
        ("c", pytest.approx(1 / 61)),
    ]


@pytest.mark.spec("D5")
def test_equal_scores_go_by_better_best_rank_and_then_by_key() -> None:
    assert keys(fuse_ranked_lists([["b", "x"], ["a", "y"]])) == ["a", "b", "x", "y"]
    first_and_last = fuse_ranked_lists([["p"], ["q"], ["r"]])
    assert [one.best_rank for one in first_and_last] == [1, 1, 1]


@pytest.mark.spec("T3-7")
def test_a_repeated_id_adds_nothing_and_takes_no_place() -> None:
    assert fuse_ranked_lists([["a", "a", "a", "b"]]) == fuse_ranked_lists([["a", "b"]])


@pytest.mark.spec("T3-7")
def test_an_original_and_two_rewrites_can_be_worked_out_by_hand() -> None:
    lexical = [["a", "b"], ["b", "c"], ["b"]]  # b: 1/62 + 1/61 + 1/61, a: 1/61, c: 1/62
    dense = [["c"], ["c", "a"], []]  # c: 2/61, a: 1/62
    fused = fuse_queries([lexical, dense])
    assert [(one.key, one.score) for one in fused] == [
        ("c", pytest.approx(1 / 63 + 1 / 61)),
        ("a", pytest.approx(1 / 62 + 1 / 62)),
        ("b", pytest.approx(1 / 61)),
    ]


@pytest.mark.field(86)
def test_many_rewrites_of_one_arm_weigh_no_more_than_the_other_arm() -> None:
    fused = fuse_queries([[["a"], ["a"], ["a"], ["a"]], [["b"]]])
    assert fused[0].score == fused[1].score == 1 / 61


@given(ranked_lists)
def test_the_order_of_the_arms_does_not_matter(lists: list[list[str]]) -> None:
    assert fuse_ranked_lists(lists) == fuse_ranked_lists(lists[::-1])


@given(ranked_lists)
def test_every_id_comes_out_exactly_once(lists: list[list[str]]) -> None:
    fused = keys(fuse_ranked_lists(lists))
    assert sorted(fused) == sorted({key for ranked in lists for key in ranked})


@given(st.lists(ids, unique=True, max_size=20))
def test_a_single_list_keeps_its_order(ranked: list[str]) -> None:
    assert keys(fuse_ranked_lists([ranked])) == ranked
    assert keys(fuse_queries([[ranked], [[]]])) == ranked
