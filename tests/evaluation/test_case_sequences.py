"""Whatever sequence of resolutions a case sees, it is what a model of a few lines says it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.recorded import case_book, case_draft, history, resource, unit
from workbench.core.case import CaseState, EvidenceRef
from workbench.core.errors import InputError
from workbench.evaluation.cases import CaseBook

VALID = [*(unit(rank) for rank in range(1, 5)), *(resource(rank) for rank in range(1, 5))]
INVALID = [resource(9), EvidenceRef(resource_id="notes/1.md", unit_key=unit(2).unit_key)]


@dataclass
class Model:
    """What a case has to be."""

    state: CaseState = CaseState.DRAFT
    version: int = 1
    evidence: list[EvidenceRef] = field(default_factory=list)

    def resolve(self, version: int, evidence: list[EvidenceRef], none_matched: bool) -> str | None:
        """The error code, or None and the new state."""
        if bool(evidence) == none_matched:
            return "resolution_invalid"
        if version != self.version:
            return "evaluation_case_conflict"
        if any(one in INVALID for one in evidence):
            return "evidence_invalid"
        if len(set(evidence)) < len(evidence):
            return "evidence_duplicate"
        self.state = CaseState.READY if evidence else CaseState.NEEDS_EVIDENCE
        self.version, self.evidence = self.version + 1, evidence
        return None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sequences")


def code(book: CaseBook, case_id: str, version: int, evidence: list[EvidenceRef], none_matched: bool) -> str | None:
    try:
        book.resolve(case_id, version, evidence, none_matched)
    except InputError as error:
        return error.code
    return None


resolutions = st.tuples(
    st.sampled_from([0, 0, 0, -1, 1]),
    st.lists(st.sampled_from(VALID + INVALID), max_size=3) | st.lists(st.sampled_from(VALID), max_size=6, unique=True),
    st.booleans(),
)


@pytest.mark.spec("D8")
@given(steps=st.lists(resolutions, max_size=12))
@settings(max_examples=60)
def test_a_case_is_what_its_resolutions_made_of_it(
    home: Path, steps: list[tuple[int, list[EvidenceRef], bool]]
) -> None:
    runs = history(home)
    case, book, model = case_draft(home, runs), case_book(home, runs), Model()
    for late, evidence, none_matched in steps:
        version = model.version + late
        assert code(book, case.case_id, version, evidence, none_matched) == model.resolve(
            version, evidence, none_matched
        )
        stands = book.get(case.case_id)
        identities = [EvidenceRef(resource_id=one.resource_id, unit_key=one.unit_key) for one in stands.evidence]
        assert (stands.state, stands.version, identities) == (model.state, model.version, model.evidence)
        assert stands.evidence_count == len(stands.evidence)
    runs.close()
