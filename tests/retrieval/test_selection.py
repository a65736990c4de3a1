"""Selection: each reason by a case of its own, budgets exact, order never changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.units import a_unit, in_rrf_order
from workbench.core.activation import Ordering
from workbench.core.candidate import ExclusionReason
from workbench.core.deadline import Deadline
from workbench.core.limits import resolve_limits
from workbench.core.resource import Status
from workbench.core.unit import DESCRIPTION_PART
from workbench.retrieval.overlap import Wording, repeats
from workbench.retrieval.rerank import Ordered, rrf_order
from workbench.retrieval.selection import Rules, select
from workbench.storage.index_records import IndexedUnit

PLENTY = Deadline(at=10.0, clock=lambda: 0.0)
RULES = Rules(resolve_limits(), PLENTY)
WORDS = "the quick brown fox jumps over the lazy dog while the slow green turtle sleeps under a shady old tree"


def fates(*units: IndexedUnit, rules: Rules = RULES) -> list[ExclusionReason | None]:
    return select(rrf_order(in_rrf_order(*units)), rules)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("status", [Status.RETRACTED, Status.SUPERSEDED])
def test_what_is_not_current_is_left_out(status: Status) -> None:
    assert select(rrf_order(in_rrf_order(a_unit("a"), status=status)), RULES) == [ExclusionReason.NOT_CURRENT]


@pytest.mark.spec("D5")
def test_text_that_changed_on_disk_is_left_out_where_a_verified_block_was_asked_for() -> None:
    on_disk = {"a": b"still there"}
    rules = replace(RULES, block_reader=lambda unit: on_disk.get(unit.resource_id))
    assert fates(a_unit("a"), a_unit("b"), rules=rules) == [None, ExclusionReason.SNAPSHOT_MISMATCH]


@pytest.mark.spec("D5")
def test_candidates_behind_the_deadline_are_left_out_and_those_before_it_stay() -> None:
    ticks = iter(range(100))
    rules = replace(RULES, deadline=Deadline(at=2, clock=lambda: next(ticks)))
    late = ExclusionReason.DEADLINE
    assert fates(a_unit("a"), a_unit("b"), a_unit("c"), a_unit("d"), rules=rules) == [None, None, late, late]


@pytest.mark.spec("D5")
def test_beyond_the_window_is_left_out_only_when_the_reranker_ran() -> None:
    ranked = in_rrf_order(a_unit("a"), a_unit("b"))
    window = frozenset({ranked[0].unit.unit_key})
    reranked = Ordered(tuple(ranked), Ordering.CROSS_ENCODER, window, ())
    assert select(reranked, RULES) == [None, ExclusionReason.NOT_RERANKED]
    assert select(rrf_order(ranked), RULES) == [None, None]


@pytest.mark.spec("D5")
@pytest.mark.field(89)
def test_relevance_is_judged_by_a_calibrated_threshold_on_rerank_scores_alone() -> None:
    good, poor, unread = in_rrf_order(a_unit("a"), a_unit("b"), a_unit("c"))
    ranked = (replace(good, rerank=(1, 0.5)), replace(poor, rerank=(2, -0.5)), unread)
    ordered = Ordered(ranked, Ordering.CROSS_ENCODER, frozenset(one.unit.unit_key for one in ranked), ())
    assert select(ordered, replace(RULES, threshold=0.0)) == [None, ExclusionReason.BELOW_RELEVANCE, None]
    assert select(ordered, RULES) == [None, None, None]
    assert select(rrf_order([good, poor]), replace(RULES, threshold=0.0)) == [None, None]


@pytest.mark.spec("D5")
def test_half_of_the_smaller_span_is_a_repetition_and_a_byte_less_is_none() -> None:
    first = a_unit("1", "doc", span=(0, 1000))
    half, less = a_unit("2", "doc", span=(900, 1100)), a_unit("2", "doc", span=(901, 1101))
    assert fates(first, half) == [None, ExclusionReason.OVERLAP]
    assert fates(first, less) == [None, None]
    assert fates(a_unit("1", span=(0, 1000)), a_unit("2", span=(0, 1000))) == [None, None]


@pytest.mark.spec("D5")
def test_a_description_repeats_its_resource_only_by_its_words() -> None:
    description = a_unit("d", "doc", part=DESCRIPTION_PART, span=(0, 1000), text="what the whole document is about")
    body = a_unit("1", "doc", span=(100, 900))
    assert fates(description, body) == [None, None]
    assert fates(description, a_unit("1", "doc", text=description.text)) == [None, ExclusionReason.OVERLAP]


@pytest.mark.spec("D5")
def test_the_same_words_in_another_resource_are_a_repetition() -> None:
    spaced = WORDS.upper().replace(" ", "\n ")
    assert fates(a_unit("a", text=WORDS), a_unit("b", text=spaced)) == [None, ExclusionReason.OVERLAP]
    same_hash = a_unit("b", content_hash=a_unit("a").content_hash)
    assert fates(a_unit("a"), same_hash) == [None, ExclusionReason.OVERLAP]
    assert fates(a_unit("a", text=WORDS), a_unit("b", text=WORDS + WORDS[::-1])) == [None, None]


@pytest.mark.field(28)
@pytest.mark.parametrize(
    "text", ["しりとりは言葉の遊びです", "끝말잇기는 말놀이입니다", "我们选择了新的缓存淘汰策略", "雨"]
)
def test_repetitions_are_seen_in_scripts_without_spaces(text: str) -> None:
    assert fates(a_unit("a", text=text), a_unit("b", text=text + " ")) == [None, ExclusionReason.OVERLAP]


@pytest.mark.spec("D5")
def test_a_resource_gives_two_fragments() -> None:
    three = [a_unit(str(part), "doc", span=(100 * part, 100 * part + 100)) for part in range(3)]
    assert fates(*three, a_unit("other")) == [None, None, ExclusionReason.RESOURCE_CAP, None]


@pytest.mark.spec("D5")
def test_twelve_fragments_are_enough() -> None:
    assert fates(*(a_unit(f"n{number}") for number in range(14))) == [None] * 12 + [ExclusionReason.FRAGMENT_CAP] * 2


@pytest.mark.spec("D5")
def test_what_does_not_fit_the_tokens_left_is_passed_over_for_a_smaller_one() -> None:
    sizes = {"a": 2_000, "b": 401, "c": 400, "d": 1}
    units = [a_unit(name, token_count=size) for name, size in sizes.items()]
    assert fates(*units) == [None, ExclusionReason.TOKEN_BUDGET, None, ExclusionReason.TOKEN_BUDGET]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 900), st.integers(0, 30)), max_size=30))
def test_no_budget_is_ever_passed_and_the_first_candidate_that_fits_is_in(made: list[tuple[str, int, int]]) -> None:
    units = [
        a_unit(f"{number}", name, token_count=tokens, span=(start * 10, start * 10 + 40))
        for number, (name, tokens, start) in enumerate(made)
    ]
    reasons = fates(*units)
    selected = [unit for unit, reason in zip(units, reasons, strict=True) if reason is None]
    assert len(selected) <= 12
    assert sum(unit.token_count for unit in selected) <= 2_400
    assert all(sum(one.resource_id == name for one in selected) <= 2 for name in "abcd")
    assert not units or reasons[0] is None
    wordings = [Wording(unit) for unit in selected]
    assert not any(repeats(a, b) for at, a in enumerate(wordings) for b in wordings[:at])


def shingles(text: str) -> set[str]:
    plain = " ".join(text.casefold().split())
    return {plain[at : at + 3] for at in range(max(1, len(plain) - 2))}


@given(st.text(), st.text(max_size=3), st.integers(0, 200), st.integers(0, 200))
def test_wording_is_compared_as_whole_sets_of_shingles_would_be(text: str, other: str, start: int, end: int) -> None:
    edited = text[:start] + other + text[end:]
    one, two = shingles(text), shingles(edited)
    units = (Wording(a_unit(name, text=words)) for name, words in (("a", text), ("b", edited)))
    assert repeats(*units) == (len(one & two) / len(one | two) >= 0.9)
