"""One person's labelling: carries out what the state wants against the store, and keeps drafts on the way.

Every step is kept before anything is stored, and a failure of the store becomes a message: nothing said is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Protocol

from workbench.core.case import Case, EvidenceRef
from workbench.core.errors import WorkbenchError
from workbench.core.run import RunState
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.corpus_search import search_corpus
from workbench.evaluation.frozen import FrozenCorpus
from workbench.evaluation.runs import RunHistory
from workbench.evaluation.sets import Selection
from workbench.storage.central_store import CentralStore
from workbench.views.labeling import steps
from workbench.views.labeling.drafts import DraftFolder
from workbench.views.labeling.passages import Passage, Passages
from workbench.views.labeling.queue import WAITING, Filter, Order, Row, next_open
from workbench.views.labeling.state import Find, LabelingState, Open, Request, Sheet, Store, Stored

LONGEST_PAUSE_S = 60.0
"""Of a longer pause so much counts as work on a case."""
_ALL_RUNS = 1_000_000
Step = Callable[[LabelingState], LabelingState]


class LabelingHome(Protocol):
    """What is needed of a home."""

    @property
    def folder(self) -> Path: ...
    @property
    def store(self) -> CentralStore: ...
    @property
    def history(self) -> RunHistory: ...
    @property
    def cases(self) -> CaseBook: ...


class LabelingSession:
    """The state of one queue, and the only one who changes it. clock: seconds that only grow."""

    def __init__(
        self,
        home: LabelingHome,
        selection: Selection,
        *,
        order: Order = Order.FINAL,
        seed: int = 0,
        chosen: Filter = WAITING,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._cases, self._history, self._clock = home.cases, home.history, clock
        self._drafts, self._passages = DraftFolder(home.folder), Passages()
        rows = queue_rows(self._history, self._cases, selection)
        drafts = self._drafts.read(row.run_id for row in rows)
        self.state = LabelingState(rows, drafts, chosen, order, seed)
        self._corpus: FrozenCorpus | None = None
        self._seen = clock()
        first = next_open(rows, self.state.filter, self.state.drafts, "")
        if first is not None:
            self.do(lambda state: steps.open_run(state, first.run_id))

    def do(self, step: Step) -> bool:
        """Take a step, keep what it changed, and carry out what it wants; whether a decision was to be stored."""
        now = self._clock()
        spent, self._seen = min(now - self._seen, LONGEST_PAUSE_S), now
        self._keep(step(steps.spend(self.state, spent)))
        deciding = isinstance(self.state.request, Store)
        while self.state.request is not None:
            self._keep(self._carried_out(self.state, self.state.request))
        return deciding

    def passage(self) -> Passage | None:
        """What the cursor is on; None for nothing, or for a text that cannot be read, which the state then says."""
        return None if self.state.focus is None else self._read(self.state.focus)

    def read_ahead(self) -> None:
        """Cut the next candidate's text, so that it is there when it is asked for."""
        following = steps.move(self.state, 1).focus
        if following is not None:
            self._read(following)

    def _read(self, ref: EvidenceRef) -> Passage:
        assert self._corpus is not None
        try:
            return self._passages.read(self._corpus, ref)
        except KeyError:
            return Passage(ref.resource_id, "", "", missing="This resource is not in the frozen corpus.")
        except WorkbenchError as error:
            return Passage(ref.resource_id, "", "", missing=error.message)

    def _keep(self, state: LabelingState) -> None:
        before, self.state = self.state.drafts, state
        try:
            for run_id, draft in state.drafts.items():
                if before.get(run_id) != draft:
                    self._drafts.write(run_id, draft)
        except WorkbenchError as error:
            self.state = replace(state, message=f"What is not confirmed cannot be kept: {error.message}")

    def _carried_out(self, state: LabelingState, wanted: Request) -> LabelingState:
        try:
            match wanted:
                case Open(run_id):
                    return steps.opened(state, self._sheet(run_id))
                case Find(text):
                    assert self._corpus is not None
                    return steps.found(state, search_corpus(self._corpus, text))
                case Store():
                    return steps.stored(state, _as_stored(self._store(wanted)))
        except WorkbenchError as error:
            if error.code == "evaluation_case_conflict":
                return steps.conflicted(state, _as_stored(Case.model_validate(error.detail)))
            if error.code == "run_not_found" and not isinstance(wanted, Find):
                return steps.gone(state, wanted.run_id)
            return steps.failed(state, error.message)

    def _sheet(self, run_id: str) -> Sheet:
        record, case = self._history.get(run_id), self._cases.of_run(run_id)
        self._corpus = self._cases.searched(record)
        return Sheet(run_id, record.trace.candidates, Stored() if case is None else _as_stored(case))

    def _store(self, wanted: Store) -> Case:
        case = self._cases.create(wanted.run_id)
        if wanted.decision is None:
            return self._cases.reopen(case.case_id, wanted.expected)
        return self._cases.resolve(case.case_id, wanted.expected, wanted.decision, not wanted.decision)


def queue_rows(history: RunHistory, cases: CaseBook, selection: Selection) -> tuple[Row, ...]:
    """The succeeded runs of a selection, each project's newest first; of chosen cases, their runs in that order."""
    known = {case.run_id: case for case in cases.list(selection.project_ids)}
    rows = {}
    for project_id in selection.project_ids:
        arms = history.arms(project_id)
        for run in history.list(project_id, _ALL_RUNS):
            if run.state is RunState.SUCCEEDED:
                case, hits = known.get(run.run_id), arms.get(run.run_id)
                rows[run.run_id] = Row(
                    run.run_id,
                    project_id,
                    run.query,
                    run.candidate_count,
                    None if hits is None else hits.disagreement,
                    None if case is None else case.state,
                )
    if selection.case_ids is None:
        return tuple(rows.values())
    run_of = {case.case_id: case.run_id for case in known.values()}
    return tuple(rows[run_of[case_id]] for case_id in selection.case_ids if case_id in run_of)


def _as_stored(case: Case) -> Stored:
    evidence = (EvidenceRef(resource_id=one.resource_id, unit_key=one.unit_key) for one in case.evidence)
    return Stored(case.version, case.state, tuple(evidence))
