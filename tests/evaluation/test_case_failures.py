"""A case is whole or not there, and its evidence all old or all new, wherever a write is broken off."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluation.recorded import (
    PROJECT,
    candidate,
    case_book,
    case_draft,
    history,
    notes,
    record_corpus,
    record_run,
    resource,
    unit,
)
from tests.evaluation.test_history_failures import child
from workbench.core.case import Case, CaseState
from workbench.core.errors import StorageError
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CENTRAL_SCHEMA
from workbench.storage.connection import open_writer
from workbench.storage.faults import on_step

CREATING = ("blobs.secure", "central.create_case", "central.create_case.commit")
RESOLVING = ("central.resolve_case", "central.resolve_case.evidence", "central.resolve_case.commit")
FORGETTING = ("central.forget_bodies", "central.forget_bodies.commit")


class Broken(Exception):
    """What a test raises at a step."""


def breaking(broken: str) -> Callable[[str], None]:
    def handler(name: str) -> None:
        if name == broken:
            raise Broken

    return handler


def passed(act: Callable[[], object]) -> tuple[str, ...]:
    """The steps of an act, in order."""
    names: list[str] = []
    with on_step(names.append):
        act()
    return tuple(names)


def run_over_notes(runs: RunHistory) -> str:
    record_corpus(runs, "miv-1", notes(4))
    return record_run(runs, *map(candidate, range(1, 5)))


def test_these_are_all_the_steps_of_a_case_and_bodies_are_safe_before_it_is(tmp_path: Path, runs: RunHistory) -> None:
    run_id, book = run_over_notes(runs), case_book(tmp_path, runs)
    book.list([PROJECT])
    assert passed(lambda: book.create(run_id)) == CREATING
    assert passed(lambda: book.create(run_id)) == ()
    case_id = book.create(run_id).case_id
    assert passed(lambda: book.resolve(case_id, 1, [unit(1)], False)) == RESOLVING
    assert passed(lambda: (book.get(case_id), book.frozen(book.get(case_id)).read("notes/1.md"))) == ()


@pytest.mark.field(99)
@pytest.mark.parametrize("step", CREATING)
def test_a_creation_that_breaks_at_any_step_makes_nothing_and_succeeds_the_next_time(
    tmp_path: Path, runs: RunHistory, step: str
) -> None:
    run_id, book = run_over_notes(runs), case_book(tmp_path, runs)
    with pytest.raises(Broken), on_step(breaking(step)):
        book.create(run_id)
    assert book.list([PROJECT]) == ()
    assert not runs.get(run_id).summary.pinned
    assert book.create(run_id).version == 1


@pytest.mark.spec("D8")
@pytest.mark.parametrize("step", RESOLVING)
def test_a_resolution_that_breaks_at_any_step_changes_nothing_and_succeeds_the_next_time(
    tmp_path: Path, runs: RunHistory, step: str
) -> None:
    case, book = case_draft(tmp_path, runs), case_book(tmp_path, runs)
    before = book.resolve(case.case_id, 1, [unit(1), resource(2)], False)
    with pytest.raises(Broken), on_step(breaking(step)):
        book.resolve(case.case_id, 2, [unit(3)], False)
    assert book.get(case.case_id) == before
    assert book.resolve(case.case_id, 2, [unit(3)], False).version == 3


@pytest.mark.parametrize("step", FORGETTING)
def test_a_lost_body_is_still_archived_again_when_noting_its_loss_was_broken_off(
    tmp_path: Path, runs: RunHistory, step: str
) -> None:
    run_id, book = run_over_notes(runs), case_book(tmp_path, runs)
    lost = BlobStore(tmp_path / "evaluation-corpora").folder
    next(lost.glob("*/*")).unlink()
    with pytest.raises(Broken), on_step(breaking(step)):
        book.create(run_id)
    with pytest.raises(StorageError):
        book.create(run_id)
    record_corpus(runs, "miv-1", notes(4))
    assert book.create(run_id).state is CaseState.DRAFT


KILLED = """
run_id, case_id = sys.argv[3:]
def die(name):
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
book = case_book(home, runs)
with on_step(die):
    book.create(run_id)
    book.resolve(case_id, 2, [unit(3)], False)
"""


@pytest.mark.spec("D8")
@pytest.mark.field(98)
@pytest.mark.parametrize("step", [*CREATING, *RESOLVING])
def test_a_process_killed_at_any_step_leaves_whole_cases(tmp_path: Path, runs: RunHistory, step: str) -> None:
    case, book = case_draft(tmp_path, runs), case_book(tmp_path, runs)
    before = book.resolve(case.case_id, 1, [unit(1), resource(2)], False)
    run_id = record_run(runs, candidate(1))

    process = child(KILLED, tmp_path, step, run_id, case.case_id)
    process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert book.get(case.case_id) == before
    assert len(book.list([PROJECT])) == (2 if step in RESOLVING else 1)
    assert book.create(run_id).version == 1
    assert book.resolve(case.case_id, 2, [unit(3)], False).evidence_count == 1


def test_a_run_removed_while_its_corpus_is_checked_gets_no_case(tmp_path: Path, runs: RunHistory) -> None:
    run_id, book = run_over_notes(runs), case_book(tmp_path, runs)

    def clear(name: str) -> None:
        if name == "blobs.secure":
            runs.clear(PROJECT)

    with pytest.raises(Exception, match="removed") as refused, on_step(clear):
        book.create(run_id)
    assert refused.value.code == "run_not_found"
    assert book.list([PROJECT]) == ()


@pytest.mark.spec("D16")
@pytest.mark.parametrize("earlier", [40, 41])
def test_runs_of_an_earlier_schema_become_cases(tmp_path: Path, earlier: int) -> None:
    connection = open_writer(tmp_path / "local.db", replace(CENTRAL_SCHEMA, version=earlier))
    connection.execute(
        "INSERT INTO retrieval_runs (run_id, project_id, request_key, query, request, state, started_at, miv)"
        " VALUES ('f00d', ?, 'k', 'q', '{}', 'succeeded', 'then', 'miv-1')",
        (PROJECT,),
    )
    connection.close()
    runs = history(tmp_path)
    record_corpus(runs, "miv-1", notes(2))
    book = case_book(tmp_path, runs)
    assert book.resolve(book.create("f00d").case_id, 1, [resource(1)], False).query == "q"


@pytest.mark.spec("D16")
@pytest.mark.parametrize("damage", ["header", "newer", "case page"])
def test_a_damaged_or_newer_store_is_refused_and_its_cases_are_left_alone(tmp_path: Path, damage: str) -> None:
    runs = history(tmp_path)
    case = case_draft(tmp_path, runs)
    runs.close()
    path = tmp_path / "local.db"
    spoil(path, damage)
    before = path.read_bytes()

    book: CaseBook = case_book(tmp_path, history(tmp_path))
    for act in (lambda: book.get(case.case_id), lambda: book.create(case.run_id), lambda: resolve(book, case)):
        with pytest.raises(StorageError) as refused:
            act()
        assert refused.value.code == ("schema_too_new" if damage == "newer" else "store_damaged")
    assert path.read_bytes() == before


def resolve(book: CaseBook, case: Case) -> Case:
    return book.resolve(case.case_id, 1, [unit(1)], False)


def spoil(path: Path, damage: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'evaluation_cases'").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    if damage == "newer":
        connection.execute("PRAGMA user_version = 43")
    connection.close()
    data = path.read_bytes()
    if damage == "header":
        path.write_bytes(b"\x00" * 16 + data[16:])
    elif damage == "case page":
        start = (page - 1) * size
        path.write_bytes(data[:start] + b"\xff" * size + data[start + size :])
