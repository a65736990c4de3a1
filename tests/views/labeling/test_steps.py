"""Labelling without a browser and without a store: whatever a person does in whatever order, nothing said is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.evaluation.recorded import candidate
from workbench.core.case import CaseState, EvidenceRef
from workbench.evaluation.corpus_search import CorpusHit, CorpusSearch
from workbench.views.labeling import steps
from workbench.views.labeling.queue import (
    Filter,
    Order,
    Row,
    Standing,
    candidate_order,
    next_open,
    shown_rows,
    standings,
)
from workbench.views.labeling.queue import standing as standing_of
from workbench.views.labeling.state import Draft, Find, LabelingState, Marks, Open, Sheet, Step, Store, Stored

Event = Callable[[LabelingState], LabelingState]
RUNS = ("run-a", "run-b", "run-c")
HITS = CorpusSearch("tea", tuple(CorpusHit(f"found/{n}.md", f"found/{n}.md", "Found", 1, "…") for n in range(2)), ())
SHEETS = {"run-a": 3, "run-b": 1, "run-c": 0}
"""How many candidates each run has."""


@dataclass
class World:
    """A state, and a store of a few lines. broken: writes fail; made: every decision that the store took."""

    state: LabelingState
    store: dict[str, Stored] = field(default_factory=lambda: dict.fromkeys(RUNS, Stored()))
    broken: bool = False
    made: list[tuple[str, Marks | None]] = field(default_factory=list)

    def do(self, event: Event) -> None:
        self.state = event(self.state)
        while (wanted := self.state.request) is not None:
            match wanted:
                case Open(run_id):
                    candidates = tuple(candidate(rank) for rank in range(1, SHEETS[run_id] + 1))
                    self.state = steps.opened(self.state, Sheet(run_id, candidates, self.store[run_id]))
                case Find():
                    self.state = steps.found(self.state, HITS)
                case Store():
                    self.state = self.write(wanted)

    def write(self, wanted: Store) -> LabelingState:
        if self.broken:
            return steps.failed(self.state, "The disk is full.")
        if self.store[wanted.run_id].version != wanted.expected:
            return steps.conflicted(self.state, self.store[wanted.run_id])
        self.made.append((wanted.run_id, wanted.decision))
        self.decide(wanted.run_id, wanted.decision)
        return steps.stored(self.state, self.store[wanted.run_id])

    def decide(self, run_id: str, decision: Marks | None) -> None:
        """Somebody decides a case."""
        state = CaseState.DRAFT if decision is None else CaseState.READY if decision else CaseState.NEEDS_EVIDENCE
        self.store[run_id] = Stored(self.store[run_id].version + 1, state, decision or ())


def begun(**changes: object) -> World:
    """A queue of three runs, the first on the table."""
    rows = tuple(Row(run_id, "notes", f"question {run_id}", SHEETS[run_id]) for run_id in RUNS)
    world = World(replace(LabelingState(rows), **changes))  # type: ignore[arg-type]
    world.do(lambda state: steps.open_run(state, "run-a"))
    return world


def ref(rank: int, *, whole: bool = False) -> EvidenceRef:
    one = candidate(rank)
    return EvidenceRef(resource_id=one.resource_id, unit_key=None if whole else one.unit_key)


marking: st.SearchStrategy[tuple[str, Event]] = st.one_of(
    st.booleans().map(lambda whole: (f"mark {whole=}", lambda state: steps.mark(state, whole=whole))),
    st.integers(1, 3).map(lambda rank: (f"toggle {rank}", lambda state: steps.toggle(state, ref(rank)))),
)
deciding: st.SearchStrategy[tuple[str, Event]] = st.sampled_from(
    [("confirm", steps.confirm), ("none", steps.none_matched)]
)
looking: st.SearchStrategy[tuple[str, Event]] = st.one_of(
    st.integers(-2, 4).map(lambda by: (f"move {by}", lambda state: steps.move(state, by))),
    st.integers(-1, 9).map(lambda place: (f"point {place}", lambda state: steps.point(state, place))),
    st.sampled_from(RUNS).map(lambda run: (f"open {run}", lambda state: steps.open_run(state, run))),
    st.sampled_from(["tea", ""]).map(lambda text: (f"search {text}", lambda state: steps.search(state, text))),
    st.sampled_from(Order).map(lambda order: (f"order {order}", lambda state: steps.arrange(state, order))),
    st.sampled_from([None, *Standing]).map(
        lambda standing: (f"filter {standing}", lambda state: steps.choose(state, Filter(standing)))
    ),
    st.just(("note", lambda state: steps.note(state, "run-b", "ask Ada"))),
    st.just(("spend", lambda state: steps.spend(state, 2.5))),
)
going_back: st.SearchStrategy[tuple[str, Event]] = st.sampled_from([("skip", steps.skip), ("undo", steps.undo)])
choosing: st.SearchStrategy[tuple[str, Event]] = st.sampled_from(
    [("mine", steps.keep_mine), ("theirs", steps.take_theirs)]
)
elsewhere = st.tuples(st.sampled_from(RUNS), st.sampled_from([(), (ref(1),), (ref(2, whole=True),)]))
events = st.one_of(marking, deciding, looking, going_back, choosing)
"""What a person can do."""


@st.composite
def worlds(draw: st.DrawFn, *, trouble: bool = True) -> World:
    """Where any sequence of events leads; trouble: while writes fail now and then, and others decide too."""
    world = begun(filter=Filter(draw(st.sampled_from([None, Standing.OPEN]))))
    for _ in range(draw(st.integers(0, 12))):
        if trouble:
            world.broken = draw(st.booleans())
            if draw(st.integers(0, 3)) == 0:
                world.decide(*draw(elsewhere))
        world.do(draw(events)[1])
    world.broken = False
    return world


@given(worlds(), events)
def test_the_cursor_is_on_the_list_and_nothing_stays_wanted(world: World, event: tuple[str, Event]) -> None:
    world.do(event[1])

    state = world.state
    shown = state.candidates if state.search is None else state.search.hits
    assert 0 <= state.cursor < max(1, len(shown))
    assert (state.focus is None) == (not shown)
    assert state.request is None


@given(worlds())
def test_the_queue_counts_every_run_once(world: World) -> None:
    rows, drafts = world.state.rows, world.state.drafts

    counted = standings(rows, drafts)

    assert sum(counted.values()) == len(rows) == sum(len(shown_rows(rows, Filter(one), drafts)) for one in Standing)
    assert all(len(shown_rows(rows, Filter(one), drafts)) == count for one, count in counted.items())


@given(worlds(), deciding, st.booleans())
def test_a_decision_is_in_the_store_or_kept_as_not_stored(
    world: World, decision: tuple[str, Event], broken: bool
) -> None:
    run_id, marks = world.state.run_id, world.state.marks
    said = () if decision[0] == "none" else marks
    before = len(world.made)
    assume(world.state.conflict is None)
    assume(decision[0] == "none" or marks or world.state.draft.unsaved)
    assume(decision[0] == "none" or world.state.draft.marks is not None)
    world.broken = broken

    world.do(decision[1])

    draft = world.state.drafts[run_id]
    if world.made[before:]:
        assert world.made[before:] == [(run_id, said)]
        assert world.store[run_id].decision == said
        assert not draft.unsaved
    else:
        assert draft.unsaved and draft.marks == said


@given(worlds(), st.lists(looking, max_size=6), st.booleans())
def test_what_is_not_stored_yet_stays_whatever_the_person_looks_at(
    world: World, looks: list[tuple[str, Event]], broken: bool
) -> None:
    unsaved = {run_id: draft.marks for run_id, draft in world.state.drafts.items() if draft.unsaved}
    world.broken = broken

    for _, look in looks:
        world.do(look)

    for run_id, marks in unsaved.items():
        draft = world.state.drafts[run_id]
        assert (draft.unsaved and draft.marks == marks) or world.store[run_id].decision == marks


@given(worlds(trouble=False), st.one_of(marking, deciding, st.just(("skip", steps.skip))))
def test_undo_inverts_a_step(world: World, step: tuple[str, Event]) -> None:
    before, stood = world.state, dict(world.store)
    world.do(step[1])
    assume(len(world.state.past) > len(before.past))

    world.do(steps.undo)

    after = world.state
    assert {run_id: one.decision for run_id, one in world.store.items()} == {
        run_id: one.decision for run_id, one in stood.items()
    }
    assert (after.run_id, after.marks) == (before.run_id, before.marks)
    assert after.past == tuple(standing_again(one, stood, world.store) for one in before.past)
    assert after.draft.skipped == before.draft.skipped
    assert [row.state for row in after.rows] == [row.state or after_state(row, after) for row in before.rows]


def standing_again(step: Step, stood: dict[str, Stored], store: dict[str, Stored]) -> Step:
    """A step whose decision stood then stands now, under the version that the store gave it when it came back."""
    if step.decided is None or step.decided.version != stood[step.run_id].version:
        return step
    return replace(step, decided=step.decided._replace(version=store[step.run_id].version))


def after_state(row: Row, after: LabelingState) -> CaseState | None:
    """A run that had no case has one or none now, but no decision."""
    state = next(one.state for one in after.rows if one.run_id == row.run_id)
    assert state in (None, CaseState.DRAFT)
    return state


@given(worlds(trouble=False))
def test_undoing_everything_leaves_no_decision(world: World) -> None:
    while world.state.past:
        world.do(steps.undo)

    assert all(one.decision is None for one in world.store.values())
    assert all(not draft.marks and not draft.skipped for draft in world.state.drafts.values())


def contested(world: World) -> Marks:
    """Somebody else decides the first run while the person does; the person's own decision."""
    world.do(lambda state: steps.open_run(state, "run-a"))
    world.do(lambda state: steps.toggle(state, ref(3)))
    mine = world.state.marks
    assume(mine)
    world.decide("run-a", (ref(2, whole=True),))
    world.do(steps.confirm)
    return mine


@given(worlds(), choosing)
def test_in_a_conflict_the_chosen_version_stands(world: World, choice: tuple[str, Event]) -> None:
    mine = contested(world)
    assert world.state.conflict is not None
    assert world.state.conflict.wanted.decision == mine
    assert world.state.conflict.theirs.evidence == (ref(2, whole=True),) == world.store["run-a"].decision

    world.do(choice[1])

    assert world.state.conflict is None
    assert world.store["run-a"].decision == (mine if choice[0] == "mine" else (ref(2, whole=True),))


@given(worlds(), st.one_of(marking, deciding, going_back))
def test_while_a_conflict_waits_nothing_on_the_table_changes(world: World, event: tuple[str, Event]) -> None:
    contested(world)
    before, made = world.state, len(world.made)

    world.do(event[1])

    assert world.state == before and len(world.made) == made


@given(worlds(), st.sampled_from(["run-b", "run-c"]))
def test_a_conflict_that_is_left_alone_stays_a_decision_not_stored(world: World, other: str) -> None:
    mine = contested(world)
    assume(mine != world.store["run-a"].decision)  # a draft that says what is stored is done with

    world.do(lambda state: steps.open_run(state, other))
    world.do(lambda state: steps.open_run(state, "run-a"))

    assert world.state.conflict is None
    assert world.state.draft.unsaved and world.state.marks == mine
    world.do(steps.confirm)
    assert world.store["run-a"].decision == mine


def test_confirming_nothing_is_no_decision() -> None:
    world = begun()

    world.do(steps.confirm)

    assert not world.made and "none matched" in world.state.message
    assert world.state.run_id == "run-a"


def test_confirming_what_is_stored_already_writes_nothing_and_goes_on() -> None:
    world = begun(filter=Filter(None))
    world.decide("run-a", (ref(1),))
    world.do(lambda state: steps.open_run(state, "run-a"))

    world.do(steps.confirm)

    assert not world.made and world.state.run_id == "run-b"


def test_after_a_decision_the_next_waiting_run_is_on_the_table() -> None:
    world = begun()
    world.do(steps.none_matched)
    assert world.state.run_id == "run-b"
    world.do(steps.skip)
    assert world.state.run_id == "run-c"

    world.do(steps.none_matched)

    assert world.state.run_id == "run-c" and "Nothing is left" in world.state.message
    assert standings(world.state.rows, world.state.drafts) == {
        Standing.OPEN: 0,
        Standing.SKIPPED: 1,
        Standing.READY: 0,
        Standing.NEEDS_EVIDENCE: 2,
    }


def test_evidence_that_was_searched_for_is_a_whole_resource() -> None:
    world = begun()
    world.do(lambda state: steps.search(state, "tea"))
    world.do(lambda state: steps.move(state, 1))

    world.do(lambda state: steps.mark(state, whole=False))

    assert world.state.marks == (EvidenceRef(resource_id="found/1.md"),)


@pytest.mark.parametrize("decision", [(), (ref(1),)])
def test_a_draft_that_says_what_the_store_says_is_done_with(decision: Marks) -> None:
    """A kernel may end after the store took a decision and before the draft knew."""
    world = begun(drafts={"run-b": Draft(marks=decision, unsaved=True, note="keep")})
    world.decide("run-b", decision)

    world.do(lambda state: steps.open_run(state, "run-b"))

    assert world.state.draft == Draft(note="keep")


@given(st.permutations(range(1, 9)), st.integers(0, 5), st.sampled_from(RUNS))
def test_blind_order_is_a_permutation_that_knows_no_rank(ranks: list[int], seed: int, run_id: str) -> None:
    as_ranked = tuple(candidate(rank) for rank in range(1, 9))
    otherwise = tuple(as_ranked[rank - 1] for rank in ranks)

    shuffled = candidate_order(as_ranked, Order.BLIND, seed, run_id)

    assert sorted(one.final_rank for one in shuffled) == list(range(1, 9))
    assert candidate_order(otherwise, Order.BLIND, seed, run_id) == shuffled


def test_blind_order_differs_by_seed_and_by_run() -> None:
    units = tuple(candidate(rank) for rank in range(1, 9))
    orders = {candidate_order(units, Order.BLIND, seed, run_id) for seed in range(3) for run_id in RUNS}

    assert len(orders) == 9 and units not in orders


@given(st.permutations(range(1, 7)), st.sets(st.integers(1, 6)))
def test_an_order_has_every_candidate_the_unranked_behind(dense: list[int], unranked: set[int]) -> None:
    units = tuple(
        candidate(rank, vector_rank=None if rank in unranked else dense[rank - 1], vector_score=0.5)
        for rank in range(1, 7)
    )

    shown = candidate_order(units, Order.VECTOR, 0, "run")

    ranked = [one.vector_rank for one in shown if one.vector_rank is not None]
    assert ranked == sorted(ranked)
    assert [one.final_rank for one in shown[len(ranked) :]] == sorted(unranked)


rows = st.lists(
    st.builds(
        Row,
        run_id=st.uuids().map(str),
        project_id=st.sampled_from(["one", "two"]),
        query=st.just("?"),
        candidates=st.integers(0, 2),
        disagreement=st.none() | st.floats(0, 1),
        state=st.none() | st.sampled_from(CaseState),
    ),
    max_size=8,
)
filters = st.builds(
    Filter,
    standing=st.none() | st.sampled_from(Standing),
    project=st.sampled_from(["", "one"]),
    zero_hits=st.booleans(),
    disagreeing=st.booleans(),
)


@given(rows, filters, st.data())
def test_the_next_run_is_a_shown_one_and_another(queue: list[Row], chosen: Filter, data: st.DataObject) -> None:
    after = data.draw(st.sampled_from([row.run_id for row in queue])) if queue else ""
    drafts = {row.run_id: Draft(skipped=data.draw(st.booleans())) for row in queue}
    shown = shown_rows(queue, chosen, drafts)

    following = next_open(queue, chosen, drafts, after)

    if chosen.standing in (None, Standing.OPEN):
        waiting = [row for row in shown if row.run_id != after and standing_of(row, drafts) is Standing.OPEN]
        assert (following is None) == (not waiting) and (following is None or following in waiting)
    else:
        place = next((place for place, row in enumerate(queue) if row.run_id == after), -1)
        assert following == next((row for row in queue[place + 1 :] if row in shown), None)
    assert all(row.candidates == 0 for row in shown) or not chosen.zero_hits
    assert all((row.disagreement or 0) >= 0.5 for row in shown) or not chosen.disagreeing
