"""Evidence that did not come through is listed with the place where it was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.recorded import PROJECT, Note, candidate, dropped, history, record_corpus, record_run
from workbench.core.candidate import ExclusionReason
from workbench.core.case import EvidenceRef
from workbench.core.run import RecalledUnit
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.judged import judged_runs, ready_cases
from workbench.evaluation.misses import Miss, worst_misses
from workbench.evaluation.report import build_report
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore

NOTES = {f"notes/{number}.md": Note(f"Note {number}", "Text.") for number in range(1, 7)}
LOST = (
    candidate(1),
    candidate(2, resource_id="notes/1.md"),
    dropped(3, ExclusionReason.TOKEN_BUDGET),
    dropped(4, ExclusionReason.OVERLAP, resource_id="notes/1.md"),
)
FUSED_OUT = (RecalledUnit(unit_key="notes/5.md#Late@0", resource_id="notes/5.md", vector_rank=60),)


def misses(home: Path, *cases: list[EvidenceRef], limit: int = 20) -> tuple[Miss, ...]:
    """The misses of one case for each list of evidence, all over the same trace."""
    runs, store = history(home), CentralStore(home / "local.db")
    book = CaseBook(store, BlobStore(home / "evaluation-corpora"), runs)
    record_corpus(runs, "miv-1", NOTES)
    for evidence in cases:
        case = book.create(record_run(runs, *LOST, fused_out=FUSED_OUT))
        book.resolve(case.case_id, case.version, evidence, none_matched=False)
    report = build_report(judged_runs(store, ready_cases(store, [PROJECT])), origin="made by hand")
    return worst_misses(report, book, runs, limit)


@pytest.mark.field(145)
def test_each_missed_piece_of_evidence_has_the_place_where_it_was_lost(tmp_path: Path) -> None:
    evidence = [EvidenceRef(resource_id=f"notes/{number}.md") for number in (1, 3, 5, 6)]

    found = misses(tmp_path, evidence)

    assert [(one.resource_id, one.reason) for one in found] == [
        ("notes/3.md", "token_budget"),
        ("notes/5.md", "fused_out"),
        ("notes/6.md", "not_recalled"),
    ]
    assert "did not fit the tokens" in found[0].sentence


@pytest.mark.field(145)
def test_another_unit_of_the_resource_does_not_answer_for_a_missed_unit(tmp_path: Path) -> None:
    lost = EvidenceRef(resource_id="notes/1.md", unit_key="notes/4.md#Fusion@0")

    (found,) = misses(tmp_path, [lost])

    assert (found.unit_key, found.reason) == (lost.unit_key, "overlap")


def test_the_worst_cases_come_first_and_the_list_is_bounded(tmp_path: Path) -> None:
    half = [EvidenceRef(resource_id="notes/1.md"), EvidenceRef(resource_id="notes/5.md")]
    nothing = [EvidenceRef(resource_id="notes/6.md")]

    assert [one.resource_id for one in misses(tmp_path / "a", half, nothing)] == ["notes/6.md", "notes/5.md"]
    assert [one.resource_id for one in misses(tmp_path / "b", half, nothing, limit=1)] == ["notes/6.md"]


def test_nothing_missed_is_an_empty_list(tmp_path: Path) -> None:
    assert misses(tmp_path, [EvidenceRef(resource_id="notes/1.md")]) == ()
