"""What a person has said so far, as one frozen value. Pure; `steps` has the way from one such value to the next.

What has to be written or read stands in `request`; whoever carries it out reports what came of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.core.candidate import Candidate
from workbench.core.case import CaseState, EvidenceRef
from workbench.core.wire import Wire
from workbench.evaluation.corpus_search import CorpusSearch
from workbench.views.labeling.queue import WAITING, Filter, Order, Row, candidate_order

Marks = tuple[EvidenceRef, ...]


class Draft(Wire):
    """What a person did about one run and the store does not know.

    marks: None: as stored. unsaved: the marks (none: "none matched") are a decision that is not stored yet.
    """

    marks: Marks | None = None
    unsaved: bool = False
    skipped: bool = False
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A case as it was last seen in the store."""

    version: int = 1
    state: CaseState = CaseState.DRAFT
    evidence: Marks = ()

    @property
    def decision(self) -> Marks | None:
        """What was decided: evidence, or none of it for "none matched"; None for a draft."""
        return None if self.state is CaseState.DRAFT else self.evidence


@dataclass(frozen=True, slots=True)
class Sheet:
    """The run on the table. stored: its case, or what a new one would be."""

    run_id: str
    candidates: tuple[Candidate, ...]
    stored: Stored


@dataclass(frozen=True, slots=True)
class Open:
    """Wanted: the sheet of this run."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Find:
    """Wanted: a search in the frozen corpus of the run on the table."""

    text: str


@dataclass(frozen=True, slots=True)
class Store:
    """Wanted: this decision (None: no decision, a draft again) in place of the version that the person saw."""

    run_id: str
    decision: Marks | None
    expected: int
    undoing: bool = False


Request = Open | Find | Store


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else decided meanwhile: what was to be stored, and what stands."""

    wanted: Store
    theirs: Stored


class Decided(NamedTuple):
    """A decision that was stored: what stood before it, at which version, and the version that it made."""

    before: Marks | None
    from_version: int
    version: int


@dataclass(frozen=True, slots=True)
class Step:
    """What one undo takes back: the draft as it was; decided: what was stored with it, if it was."""

    run_id: str
    draft: Draft
    decided: Decided | None = None


@dataclass(frozen=True, slots=True)
class LabelingState:
    """rows: the whole queue. cursor: a place among the candidates as shown, or among the hits of an open search."""

    rows: tuple[Row, ...]
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    filter: Filter = WAITING
    order: Order = Order.FINAL
    seed: int = 0
    sheet: Sheet | None = None
    cursor: int = 0
    search: CorpusSearch | None = None
    conflict: Conflict | None = None
    past: tuple[Step, ...] = ()
    request: Request | None = None
    message: str = ""

    @property
    def run_id(self) -> str:
        """The run on the table; empty for none."""
        return self.sheet.run_id if self.sheet else ""

    @property
    def draft(self) -> Draft:
        """The draft of the run on the table."""
        return self.drafts.get(self.run_id, Draft())

    @property
    def marks(self) -> Marks:
        """What is marked on the table: the draft's marks, else the stored evidence."""
        if self.draft.marks is not None:
            return self.draft.marks
        return self.sheet.stored.evidence if self.sheet else ()

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates on the table as they are shown."""
        return candidate_order(self.sheet.candidates, self.order, self.seed, self.run_id) if self.sheet else ()

    @property
    def focus(self) -> EvidenceRef | None:
        """What the cursor is on: a candidate's unit, or a whole resource that was searched for."""
        if self.search is not None:
            hits = self.search.hits
            return EvidenceRef(resource_id=hits[self.cursor].resource_id) if hits else None
        shown = self.candidates
        if not shown:
            return None
        return EvidenceRef(resource_id=shown[self.cursor].resource_id, unit_key=shown[self.cursor].unit_key)
