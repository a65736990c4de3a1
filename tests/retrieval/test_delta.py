"""Deltas: previous state + delta = new state, for every history."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.units import a_unit
from workbench.core.candidate import DeltaAction
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Status
from workbench.retrieval.delta import Delta, Known, delta
from workbench.storage.index_records import IndexedUnit

A, B, C = a_unit("a"), a_unit("b"), a_unit("c")


def holding(*units: IndexedUnit) -> dict[str, str]:
    return {unit.unit_key: unit.content_hash for unit in units}


def unchanged(*units: IndexedUnit) -> dict[str, Known]:
    return {unit.unit_key: Known(Status.CURRENT, unit.content_hash) for unit in units}


def removed(change: Delta) -> dict[str, str]:
    return {one.unit_key: one.reason for one in change.remove}


@dataclass
class Client:
    """What a client does with a delta, and nothing more."""

    context: dict[str, str] = field(default_factory=dict)

    def apply(self, change: Delta, fragments: list[IndexedUnit]) -> None:
        for one in change.remove:
            assert self.context.pop(one.unit_key) == one.content_hash
        for unit in fragments:
            match change.actions[unit.unit_key]:
                case DeltaAction.ADD:
                    assert unit.unit_key not in self.context
                case DeltaAction.REPLACE:
                    assert self.context[unit.unit_key] != unit.content_hash
                case DeltaAction.REUSE:
                    assert self.context[unit.unit_key] == unit.content_hash
            self.context[unit.unit_key] = unit.content_hash


@pytest.mark.spec("D14")
@pytest.mark.field(116)
def test_without_a_state_everything_is_added() -> None:
    change = delta({}, {}, [A, B], 96)
    assert set(change.actions.values()) == {DeltaAction.ADD}
    assert not change.remove


@pytest.mark.spec("D14")
@pytest.mark.field(114)
@pytest.mark.field(115)
def test_the_same_units_again_are_reused() -> None:
    change = delta(holding(A, B), unchanged(A, B), [A, B], 96)
    assert set(change.actions.values()) == {DeltaAction.REUSE}
    assert not change.remove


@pytest.mark.spec("D14")
@pytest.mark.field(116)
def test_a_unit_whose_text_changed_is_replaced() -> None:
    edited = a_unit("a", text="now it says something else")
    change = delta(holding(A), unchanged(edited), [edited], 96)
    assert change.actions == {A.unit_key: DeltaAction.REPLACE}
    assert change.units == holding(edited)


@pytest.mark.spec("D14")
@pytest.mark.field(116)
@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (Known(Status.RETRACTED, A.content_hash), "not_current"),
        (Known(Status.SUPERSEDED, None), "not_current"),
        (Known(Status.CURRENT, None), "gone"),
        (Known(Status.CURRENT, sha256_hex("edited")), "changed"),
    ],
)
def test_what_no_longer_holds_is_withdrawn_with_its_reason(known: Known, reason: str) -> None:
    change = delta(holding(A, B), {**unchanged(B), A.unit_key: known}, [C], 96)
    assert removed(change) == {A.unit_key: reason}
    assert change.units == holding(B, C)


@pytest.mark.field(118)
def test_a_full_state_withdraws_what_was_used_longest_ago() -> None:
    change = delta(holding(A, B), unchanged(A, B), [A, C], 2)
    assert removed(change) == {B.unit_key: "evicted"}
    assert list(change.units) == [A.unit_key, C.unit_key]


contents = st.sampled_from("xyz")
worlds = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(contents, st.sampled_from(Status)), max_size=8)


@pytest.mark.spec("D14")
@given(st.lists(st.tuples(worlds, st.sets(st.sampled_from("abcdefgh"), max_size=4)), max_size=6), st.integers(4, 6))
def test_previous_state_and_delta_give_the_new_state(steps: list[tuple[dict, set[str]]], most_units: int) -> None:
    client, state = Client(), {}
    for world, wanted in steps:
        units = {name: a_unit(name, text=content) for name, (content, _) in world.items()}
        current = {name for name, (_, status) in world.items() if status is Status.CURRENT}
        by_key = {unit.unit_key: (unit, world[name][1]) for name, unit in units.items()}
        gone = Known(Status.CURRENT, None)
        now = {key: Known(by_key[key][1], by_key[key][0].content_hash) if key in by_key else gone for key in state}
        fragments = [units[name] for name in sorted(wanted & current)]
        change = delta(state, now, fragments, most_units)
        client.apply(change, fragments)
        state = change.units
        assert client.context == state
        assert len(state) <= most_units
