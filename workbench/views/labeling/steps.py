"""Every step of labelling, from one state to the next. Pure.

A decision leaves the drafts only when the store has it: until then it is marked `unsaved` and nothing takes it away
but the person.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.case import EvidenceRef
from workbench.core.text import one_line
from workbench.evaluation.corpus_search import CorpusSearch
from workbench.views.labeling.queue import Filter, Order, next_open
from workbench.views.labeling.state import (
    Conflict,
    Decided,
    Draft,
    Find,
    LabelingState,
    Marks,
    Open,
    Sheet,
    Step,
    Store,
    Stored,
)


def open_run(state: LabelingState, run_id: str) -> LabelingState:
    """Ask for another run, if it is in the queue; what is marked on this one stays in its draft."""
    if not any(row.run_id == run_id for row in state.rows):
        return state
    return replace(state, request=Open(run_id), message="")


def opened(state: LabelingState, sheet: Sheet) -> LabelingState:
    """The run is on the table. A draft that says what is stored already is done with."""
    state = replace(state, sheet=sheet, cursor=0, search=None, conflict=None, request=None)
    state = _know(state, sheet.run_id, sheet.stored)
    if state.draft.marks is not None and state.draft.marks == sheet.stored.decision:
        return _drafted(state, marks=None, unsaved=False)
    return state


def failed(state: LabelingState, message: str) -> LabelingState:
    """What was wanted did not work, and is not stored; it can be asked for again."""
    return replace(state, request=None, message=message)


def gone(state: LabelingState, run_id: str) -> LabelingState:
    """A run was removed from the history: it leaves the queue with all that was said of it, and the next one comes."""
    rows, place = state.rows, [row.run_id for row in state.rows].index(run_id)
    left = replace(
        state,
        rows=(*rows[:place], *rows[place + 1 :]),
        drafts={one: draft for one, draft in state.drafts.items() if one != run_id},
        past=tuple(step for step in state.past if step.run_id != run_id),
        request=None,
    )
    if state.run_id == run_id:
        left = replace(left, sheet=None, cursor=0, search=None, conflict=None)
    following = next_open(rows, state.filter, state.drafts, run_id)
    wanted = Open(following.run_id) if following else None
    said = f"“{one_line(rows[place].query, 60)}” was removed from the history meanwhile."
    return replace(left, request=wanted, message=said)


def move(state: LabelingState, by: int) -> LabelingState:
    """Move the cursor, as far as the list goes."""
    return point(state, state.cursor + by)


def point(state: LabelingState, place: int) -> LabelingState:
    """Put the cursor on a place of the list, or on the nearest there is."""
    shown = state.candidates if state.search is None else state.search.hits
    return replace(state, cursor=max(0, min(place, len(shown) - 1)), message="")


def mark(state: LabelingState, *, whole: bool) -> LabelingState:
    """Mark what the cursor is on, or take its mark away. whole: the resource instead of the unit."""
    ref = state.focus
    if ref is None:
        return state
    return toggle(state, EvidenceRef(resource_id=ref.resource_id) if whole else ref)


def toggle(state: LabelingState, ref: EvidenceRef) -> LabelingState:
    """Mark this on the table, or take its mark away. While a conflict waits, nothing on the table is changed."""
    if state.sheet is None or state.conflict is not None:
        return state
    marks = tuple(one for one in state.marks if one != ref) if ref in state.marks else (*state.marks, ref)
    return _drafted(_remember(state), marks=marks, unsaved=False)


def confirm(state: LabelingState) -> LabelingState:
    """Decide for what is marked, and go on; a decision that could not be stored is tried again as it was."""
    if state.sheet is None or state.conflict is not None:
        return state
    if state.draft.marks is None and state.sheet.stored.decision is not None:
        return _go_on(state)
    if not state.marks and not state.draft.unsaved:
        return replace(state, message="Mark what is relevant, or press n for “none matched”.")
    return _decide(state, state.marks)


def none_matched(state: LabelingState) -> LabelingState:
    """Decide that nothing in the frozen corpus was confirmed."""
    return state if state.sheet is None or state.conflict is not None else _decide(state, ())


def skip(state: LabelingState) -> LabelingState:
    """Leave this run for later and go on; its marks stay in its draft."""
    if state.sheet is None or state.conflict is not None:
        return state
    return _go_on(_drafted(_remember(state), skipped=True))


def undo(state: LabelingState) -> LabelingState:
    """Take the last step back: a mark, a skip, or a decision, which is taken back in the store first."""
    if state.conflict is not None:
        return state
    if not state.past:
        return replace(state, message="There is nothing to undo.")
    step = state.past[-1]
    if step.decided is not None:
        wanted = Store(step.run_id, step.decided.before, step.decided.version, undoing=True)
        return replace(state, request=wanted, message="")
    return _taken_back(state)


def stored(state: LabelingState, now: Stored) -> LabelingState:
    """The store has what was wanted, as this version; on to the next open run, or to the one that was undone."""
    wanted = state.request
    assert isinstance(wanted, Store)
    before = state.sheet.stored.decision if state.sheet and state.run_id == wanted.run_id else None
    state = replace(_know(state, wanted.run_id, now), request=None, conflict=None)
    if wanted.undoing:
        return _taken_back(replace(state, past=_restored(state.past, now.version)))
    decided = Decided(before, wanted.expected, now.version)
    state = replace(state, past=_decided(state, wanted.run_id, decided))
    return _go_on(_drafted(state, marks=None, unsaved=False, skipped=False))


def conflicted(state: LabelingState, theirs: Stored) -> LabelingState:
    """Another version stands in the store: nothing was written, and the person chooses."""
    assert isinstance(state.request, Store)
    state = replace(state, conflict=Conflict(state.request, theirs), request=None)
    return _know(state, state.conflict.wanted.run_id, theirs) if state.conflict else state


def keep_mine(state: LabelingState) -> LabelingState:
    """Store what was wanted over the version that was shown."""
    if state.conflict is None:
        return state
    return replace(state, request=replace(state.conflict.wanted, expected=state.conflict.theirs.version))


def take_theirs(state: LabelingState) -> LabelingState:
    """Let what stands stand, and go on as after an own decision, which is given up."""
    if state.conflict is None:
        return state
    wanted = state.conflict.wanted
    past = tuple(step for step in state.past if step.run_id != wanted.run_id)
    state = replace(state, conflict=None, past=past, message="")
    draft = state.drafts.get(wanted.run_id, Draft())
    state = _with_draft(state, wanted.run_id, draft.model_copy(update={"marks": None, "unsaved": False}))
    return _go_on(state) if state.run_id == wanted.run_id else state


def search(state: LabelingState, text: str) -> LabelingState:
    """Ask for a search in the frozen corpus of the run on the table; no words close it."""
    if not text.strip() or state.sheet is None:
        return replace(state, search=None, cursor=0, message="")
    return replace(state, request=Find(text.strip()), message="")


def found(state: LabelingState, result: CorpusSearch) -> LabelingState:
    """The search is open, its cursor on the best hit."""
    return replace(state, search=result, cursor=0, request=None)


def choose(state: LabelingState, chosen: Filter) -> LabelingState:
    """Filter the queue; the run on the table stays there unless nothing is."""
    state = replace(state, filter=chosen, message="")
    return state if state.sheet else _go_on(state)


def arrange(state: LabelingState, order: Order) -> LabelingState:
    """Show the candidates in another order, the cursor on the first."""
    return replace(state, order=order, cursor=0, search=None)


def note(state: LabelingState, run_id: str, text: str) -> LabelingState:
    """Keep a note on a run."""
    draft = state.drafts.get(run_id, Draft())
    return _with_draft(state, run_id, draft.model_copy(update={"note": text}))


def spend(state: LabelingState, seconds: float) -> LabelingState:
    """Count time for the run on the table."""
    return _drafted(state, seconds=state.draft.seconds + seconds) if state.sheet else state


def _decide(state: LabelingState, decision: Marks) -> LabelingState:
    """Ask for a decision to be stored. One that is tried again is one step with its first try."""
    expected = state.sheet.stored.version if state.sheet else 1
    again = state.draft.unsaved and state.draft.marks == decision
    state = _drafted(state if again else _remember(state), marks=decision, unsaved=True)
    return replace(state, request=Store(state.run_id, decision, expected))


def _decided(state: LabelingState, run_id: str, decided: Decided) -> tuple[Step, ...]:
    """The step that asked for the decision is stored now, and the latest of all.

    There is none when the decision was asked for before the kernel ended.
    """
    past = state.past
    places = (place for place, step in enumerate(past) if step.run_id == run_id and step.decided is None)
    place = max(places, default=None)
    if place is None:
        draft = state.drafts.get(run_id, Draft()).model_copy(update={"unsaved": False})
        return (*past, Step(run_id, draft, decided))
    return (*past[:place], *past[place + 1 :], replace(past[place], decided=decided))


def _restored(past: tuple[Step, ...], version: int) -> tuple[Step, ...]:
    """What the last step had replaced stands again, under a new version: an earlier step may have made it."""
    last = past[-1]

    def renewed(step: Step) -> Step:
        if step.run_id != last.run_id or step.decided is None or last.decided is None:
            return step
        if step.decided.version != last.decided.from_version:
            return step
        return replace(step, decided=step.decided._replace(version=version))

    return tuple(map(renewed, past))


def _remember(state: LabelingState) -> LabelingState:
    return replace(state, past=(*state.past, Step(state.run_id, state.draft)), message="")


def _taken_back(state: LabelingState) -> LabelingState:
    """The draft of the last step again, and its run on the table; notes and time are not taken back."""
    step, now = state.past[-1], state.drafts.get(state.past[-1].run_id, Draft())
    draft = step.draft.model_copy(update={"note": now.note, "seconds": now.seconds})
    state = _with_draft(replace(state, past=state.past[:-1], message=""), step.run_id, draft)
    return state if state.run_id == step.run_id and step.decided is None else open_run(state, step.run_id)


def _know(state: LabelingState, run_id: str, now: Stored) -> LabelingState:
    """What stands in the store, in the queue and on the table."""
    rows = tuple(replace(row, state=now.state) if row.run_id == run_id else row for row in state.rows)
    sheet = state.sheet
    if sheet is not None and sheet.run_id == run_id:
        sheet = replace(sheet, stored=now)
    return replace(state, rows=rows, sheet=sheet)


def _drafted(state: LabelingState, **changes: object) -> LabelingState:
    return _with_draft(state, state.run_id, state.draft.model_copy(update=changes))


def _with_draft(state: LabelingState, run_id: str, draft: Draft) -> LabelingState:
    return replace(state, drafts={**state.drafts, run_id: draft})


def _go_on(state: LabelingState) -> LabelingState:
    """Ask for the next run that waits, as the queue is filtered; stay when there is none."""
    found = next_open(state.rows, state.filter, state.drafts, state.run_id)
    if found is None:
        return replace(state, message="Nothing is left to decide in this queue.")
    return open_run(state, found.run_id)
