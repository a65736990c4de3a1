"""A run becomes a case, and a person's evidence replaces what stood there, or nothing changes at all."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.evaluation.recorded import (
    PROJECT,
    Note,
    candidate,
    case_book,
    case_draft,
    notes,
    record_corpus,
    record_run,
    request,
    resource,
    unit,
)
from workbench.core.case import Case, CaseState, EvidenceRef
from workbench.core.errors import WorkbenchError
from workbench.core.run import RecalledUnit, RunError
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore


@pytest.fixture
def book(tmp_path: Path, runs: RunHistory) -> CaseBook:
    return case_book(tmp_path, runs)


@pytest.fixture
def case(tmp_path: Path, runs: RunHistory) -> Case:
    """A draft whose run has four candidates, one of each note."""
    return case_draft(tmp_path, runs)


def body_file(home: Path, note: Note) -> Path:
    return BlobStore(home / "evaluation-corpora").folder / note.content_hash[:2] / note.content_hash


def refusal(book: CaseBook, case: Case, evidence: Sequence[EvidenceRef], none_matched: bool = False) -> WorkbenchError:
    """The error of a resolution that has to change nothing."""
    before = book.get(case.case_id)
    with pytest.raises(WorkbenchError) as refused:
        book.resolve(case.case_id, before.version, evidence, none_matched)
    assert book.get(case.case_id) == before
    return refused.value


def uncreated(book: CaseBook, run_id: str) -> WorkbenchError:
    with pytest.raises(WorkbenchError) as refused:
        book.create(run_id)
    assert book.list([PROJECT]) == ()
    return refused.value


def test_a_new_case_is_a_draft_of_the_first_version(case: Case, book: CaseBook, runs: RunHistory) -> None:
    run = runs.get(case.run_id).summary
    assert (case.state, case.version, case.evidence) == (CaseState.DRAFT, 1, ())
    assert (case.query, case.project_id, case.request_key) == (run.query, PROJECT, run.request_key)
    assert run.pinned
    assert [one.resource_id for one in book.frozen(case).entries] == sorted(notes(4))


def test_a_run_has_one_case_however_many_create_it_at_once(tmp_path: Path, runs: RunHistory) -> None:
    record_corpus(runs, "miv-1", notes(3))
    run_id = record_run(runs, candidate(1))
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: case_book(tmp_path, runs, patience_ms=30_000).create(run_id), range(16)))
    assert len({one.case_id for one in made}) == 1
    assert case_book(tmp_path, runs).create(run_id[:9]) == made[0]


def test_a_run_that_did_not_succeed_gets_no_case(book: CaseBook, runs: RunHistory) -> None:
    running, failed = (runs.begin(PROJECT, request(), "key") or "" for _ in range(2))
    runs.fail(failed, RunError(stage="dense", code="internal", summary="gone"))
    assert [uncreated(book, run_id).code for run_id in (running, failed)] == ["run_not_succeeded"] * 2
    assert uncreated(book, "nothing").code == "run_not_found"


def test_a_run_whose_corpus_was_not_recorded_gets_no_case(book: CaseBook, runs: RunHistory) -> None:
    assert uncreated(book, record_run(runs, candidate(1))).code == "run_corpus_incomplete"


def test_a_run_over_an_empty_memory_can_become_a_case(book: CaseBook, runs: RunHistory) -> None:
    record_corpus(runs, "miv-1", {})
    case = book.create(record_run(runs))
    assert book.resolve(case.case_id, 1, (), True).state is CaseState.NEEDS_EVIDENCE


def test_missing_and_damaged_bodies_are_named_and_come_back_with_the_next_index(
    tmp_path: Path, book: CaseBook, runs: RunHistory
) -> None:
    corpus = notes(4)
    record_corpus(runs, "miv-1", corpus)
    run_id = record_run(runs, candidate(1))
    body_file(tmp_path, corpus["notes/2.md"]).unlink()
    damaged = body_file(tmp_path, corpus["notes/4.md"])
    damaged.write_bytes(damaged.read_bytes().replace(b"Text", b"Test"))

    error = uncreated(book, run_id)

    assert error.code == "run_corpus_incomplete"
    assert [finding.split(":")[0] for finding in error.detail] == ["notes/2.md", "notes/4.md"]
    record_corpus(runs, "miv-1", corpus)
    assert book.frozen(book.create(run_id)).read("notes/4.md").body == corpus["notes/4.md"].body


def test_a_body_lost_between_two_cases_of_one_process_is_noticed(
    tmp_path: Path, book: CaseBook, case: Case, runs: RunHistory
) -> None:
    book.create(record_run(runs, candidate(1)))
    body_file(tmp_path, notes(4)["notes/3.md"]).unlink()
    with pytest.raises(WorkbenchError) as refused:
        book.create(record_run(runs, candidate(2)))
    assert refused.value.detail[0].startswith("notes/3.md")


@pytest.mark.spec("D8")
def test_evidence_is_replaced_whole_and_each_success_is_a_version(book: CaseBook, case: Case) -> None:
    first = book.resolve(case.case_id, 1, [unit(3), resource(1)], False)
    second = book.resolve(case.case_id, 2, [unit(2)], False)
    none = book.resolve(case.case_id, 3, [], True)

    assert [(one.resource_id, one.unit_key) for one in first.evidence] == [
        ("notes/3.md", "notes/3.md#Fusion@0"),
        ("notes/1.md", None),
    ]
    assert [one.unit_key for one in second.evidence] == ["notes/2.md#Fusion@0"]
    assert none.evidence == ()
    assert [one.state for one in (first, second, none)] == ["ready", "ready", "needs_evidence"]
    assert [one.version for one in (first, second, none)] == [2, 3, 4]
    assert book.get(case.case_id[:8]) == none


@pytest.mark.spec("D8")
def test_excerpts_come_from_the_candidate_or_the_frozen_body_and_never_from_a_client(
    book: CaseBook, case: Case
) -> None:
    claimed = [
        EvidenceRef.model_validate(ref.model_dump() | {"excerpt": "what a client says"})
        for ref in (unit(1), resource(2))
    ]
    resolved = book.resolve(case.case_id, 1, claimed, False)
    assert [one.excerpt for one in resolved.evidence] == ["Ranks are summed.", "# Fusion Text of 2."]


def test_an_excerpt_of_a_long_body_is_bounded(tmp_path: Path, book: CaseBook, runs: RunHistory) -> None:
    record_corpus(runs, "miv-1", {"notes/1.md": Note("Long", "混合检索 words " * 5_000)})
    case = book.create(record_run(runs, candidate(1)))
    assert len(book.resolve(case.case_id, 1, [resource(1)], False).evidence[0].excerpt) <= 240


@pytest.mark.spec("D8")
@pytest.mark.parametrize(("evidence", "none_matched"), [([unit(1)], True), ([], False)])
def test_evidence_and_none_matched_exclude_each_other(
    book: CaseBook, case: Case, evidence: list[EvidenceRef], none_matched: bool
) -> None:
    assert refusal(book, case, evidence, none_matched).code == "resolution_invalid"


@pytest.mark.spec("D8")
def test_the_same_identity_twice_is_refused_and_a_unit_beside_its_resource_is_not(book: CaseBook, case: Case) -> None:
    twice = refusal(book, case, [unit(1), resource(1), unit(1), resource(1)])
    assert (twice.code, twice.detail) == (
        "evidence_duplicate",
        ["evidence[2]: the same as evidence[0]", "evidence[3]: the same as evidence[1]"],
    )
    assert book.resolve(case.case_id, 1, [unit(1), resource(1)], False).evidence_count == 2


@pytest.mark.spec("D8")
def test_every_finding_is_reported_at_once_with_its_place(book: CaseBook, case: Case) -> None:
    error = refusal(
        book,
        case,
        [
            EvidenceRef(resource_id="nowhere.md"),
            unit(1),
            EvidenceRef(resource_id="notes/1.md", unit_key="notes/1.md#Other@root"),
            EvidenceRef(resource_id="notes/2.md", unit_key=unit(1).unit_key),
            unit(1),
            EvidenceRef(resource_id="notes/1.md", unit_key=""),
        ],
    )
    assert error.code == "evidence_invalid"
    assert sorted(finding.split(":")[0] for finding in error.detail) == [f"evidence[{at}]" for at in (0, 2, 3, 4, 5)]


def test_a_unit_that_fusion_left_out_is_no_candidate(tmp_path: Path, book: CaseBook, runs: RunHistory) -> None:
    record_corpus(runs, "miv-1", notes(2))
    left_out = RecalledUnit(unit_key="notes/2.md#Fusion@0", resource_id="notes/2.md", bm25_rank=59)
    case = book.create(record_run(runs, candidate(1), fused_out=(left_out,)))
    assert refusal(book, case, [unit(2)]).code == "evidence_invalid"


@pytest.mark.spec("D8")
def test_a_stale_version_is_refused_with_what_stands_now(book: CaseBook, case: Case) -> None:
    now = book.resolve(case.case_id, 1, [unit(1)], False)
    for version in (1, 0, 3, -1, 2**80):
        with pytest.raises(WorkbenchError) as refused:
            book.resolve(case.case_id, version, [], True)
        assert (refused.value.code, refused.value.detail) == (
            "evaluation_case_conflict",
            now.model_dump(mode="json"),
        )
    assert book.get(case.case_id) == now


def test_importers_confirm_units_that_no_arm_recalled(tmp_path: Path, book: CaseBook, runs: RunHistory) -> None:
    body = f"# A\n\n{'first ' * 300}\n\n## B\n\n{'second ' * 300}\n"
    record_corpus(runs, "miv-1", {"a.md": Note("A", body)})
    draft = book.create(record_run(runs, candidate(1)))
    judged = EvidenceRef(resource_id="a.md", unit_key="a.md#A/B@1")

    assert refusal(book, draft, [judged]).code == "evidence_invalid"
    with pytest.raises(WorkbenchError) as unknown:
        book.confirm(draft.case_id, [EvidenceRef(resource_id="a.md", unit_key="a.md#C@1")])
    confirmed = book.confirm(draft.case_id, [judged])
    with pytest.raises(WorkbenchError) as again:
        book.confirm(draft.case_id, [judged])

    assert (confirmed.state, confirmed.version) == (CaseState.READY, 2)
    assert "second" in confirmed.evidence[0].excerpt
    assert (unknown.value.code, again.value.code) == ("evidence_invalid", "evaluation_case_conflict")


def test_a_reopened_case_is_a_draft_of_the_next_version_that_can_be_decided_again(book: CaseBook, case: Case) -> None:
    ready = book.resolve(case.case_id, 1, [unit(1)], False)

    reopened = book.reopen(case.case_id, ready.version)

    assert (reopened.state, reopened.version, reopened.evidence) == (CaseState.DRAFT, 3, ())
    assert book.get(case.case_id) == reopened
    with pytest.raises(WorkbenchError) as refused:
        book.reopen(case.case_id, ready.version)
    assert refused.value.code == "evaluation_case_conflict"
    assert book.confirm(case.case_id, [resource(2)]).state is CaseState.READY


def test_ids_may_be_shortened_until_several_fit(book: CaseBook, case: Case, runs: RunHistory) -> None:
    others = [book.create(record_run(runs, candidate(1))) for _ in range(20)]
    ids = {case.case_id, *(one.case_id for one in others)}
    shared = next(digit for digit in "0123456789abcdef" if sum(one.startswith(digit) for one in ids) > 1)
    for prefix, code in ((shared, "invalid_argument"), ("", "case_not_found"), ("xyz", "case_not_found")):
        with pytest.raises(WorkbenchError) as refused:
            book.get(prefix)
        assert refused.value.code == code
    assert book.get(case.case_id.upper()) == case


def test_cases_are_listed_by_project_and_state_the_oldest_first(book: CaseBook, runs: RunHistory) -> None:
    for project in ("one", "two"):
        record_corpus(runs, "miv-1", notes(1), project=project)
    made = [book.create(record_run(runs, candidate(1), project=project)) for project in ("one", "two", "one", "one")]
    book.resolve(made[2].case_id, 1, [unit(1)], False)

    def listed(*projects: str, **filters: set[CaseState]) -> list[str]:
        return [one.case_id for one in book.list(projects, **filters)]

    ids = [one.case_id for one in made]
    assert listed("one") == [ids[0], ids[2], ids[3]]
    assert listed("two", "one") == ids
    assert listed("one", states={CaseState.READY}) == [ids[2]]
    assert listed("one", states=set()) == listed("three") == listed() == []


def test_cases_are_counted_by_state_of_projects_or_of_chosen_ones(book: CaseBook, runs: RunHistory) -> None:
    for project in ("one", "two"):
        record_corpus(runs, "miv-1", notes(1), project=project)
    ids = [book.create(record_run(runs, candidate(1), project=one)).case_id for one in ("one", "two", "one", "one")]
    book.resolve(ids[0], 1, [unit(1)], False)
    book.resolve(ids[2], 1, (), True)

    def counted(*projects: str, case_ids: list[str] | None = None) -> tuple[int, int, int]:
        counts = book.counts(projects, case_ids)
        return counts[CaseState.DRAFT], counts[CaseState.READY], counts[CaseState.NEEDS_EVIDENCE]

    assert counted("one") == (1, 1, 1)
    assert counted("one", "two") == (2, 1, 1)
    assert counted("one", "two", case_ids=ids[:2]) == (1, 1, 0)
    assert counted("one", case_ids=[]) == counted("three") == counted() == (0, 0, 0)


def test_frozen_bodies_are_checked_at_every_read(tmp_path: Path, book: CaseBook, case: Case) -> None:
    frozen = book.frozen(case)
    note = notes(4)["notes/1.md"]
    read = frozen.read("notes/1.md")
    assert (read.title, read.description, read.body) == (note.title, note.description, note.body)
    body_file(tmp_path, note).write_bytes(b'["Note 1","","other"]')
    with pytest.raises(WorkbenchError) as changed:
        frozen.read("notes/1.md")
    assert changed.value.code == "run_corpus_incomplete"


@pytest.mark.spec("D10")
def test_a_case_keeps_what_it_froze_whatever_is_indexed_and_cleared_later(
    tmp_path: Path, book: CaseBook, case: Case, runs: RunHistory
) -> None:
    for number in range(5):
        record_corpus(runs, f"later-{number}", {"new.md": Note("new", str(number))})
        record_run(runs, miv=f"later-{number}")
    runs.clear(PROJECT)

    frozen = book.frozen(case)
    assert {one.resource_id: frozen.read(one.resource_id).body for one in frozen.entries} == {
        resource_id: note.body for resource_id, note in notes(4).items()
    }
    assert len(runs.get(case.run_id).trace.candidates) == 4
    assert not body_file(tmp_path, Note("new", "0")).exists()
