"""The whiteboard of a project: what is kept on it is recalled and read back, and what is switched off is only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import ask, paths, write
from tests.conftest import ROOT
from tests.memory.whiteboard.pages import card
from workbench.app import Home, Project
from workbench.core.errors import InputError
from workbench.core.resource import Status
from workbench.memory.snapshot import read_verified_block
from workbench.memory.whiteboard.contract import PageEdit
from workbench.memory.writing.answers import Answer
from workbench.memory.writing.values import AnswerTarget

QUERY = "why did the importer stall on leap seconds"
CONCLUSION = "The importer stalled because leap seconds repeat a timestamp; it now orders by sequence number."


@pytest.mark.spec("T4-6")
@pytest.mark.parametrize("target", AnswerTarget)
def test_a_kept_answer_is_recalled_first_and_can_be_expanded_with_its_evidence(
    project: Project, target: AnswerTarget
) -> None:
    evidence = ("decisions/queue.md", "decisions/storage.md")
    given = Answer("r-1", target, "Importer and leap seconds", CONCLUSION, evidence)
    kept = project.whiteboard.archive_answer(given)
    assert project.whiteboard.archive_answer(given) == kept
    project.refresh()
    fragment = ask(project, QUERY).fragments[0]
    assert (fragment.resource_id, fragment.path) == (kept.resource_id, kept.page)
    snapshot = project.capture()
    units = {unit.unit_key: unit for _, units in snapshot.read(kept.page) for unit in units}
    block = (read_verified_block(snapshot, units[fragment.unit_key]) or b"").decode()
    assert CONCLUSION in block
    assert "Evidence: [[decisions/queue.md]], [[decisions/storage.md]]" in block


@pytest.mark.spec("T4-2")
def test_after_a_rename_only_the_new_card_is_recalled_even_before_the_next_build(home: Home, memory: Path) -> None:
    write(memory, {"whiteboard/board.md": card("depots", "Depots", "Silence alarms in depots ring at six.")})
    project = home.project(memory)
    project.refresh()
    assert "whiteboard/board.md" in paths(ask(project, "silence alarms in depots"))
    page = project.whiteboard.check()[0]
    renamed = card("alarms", "Alarms", "Silence alarms in depots ring at seven.").encode()
    project.whiteboard.write(page.page, renamed, page.digest, PageEdit(renamed={"depots": "alarms"}))
    assert "whiteboard/board.md" not in paths(ask(project, "silence alarms in depots"))
    project.refresh()
    fragments = ask(project, "silence alarms in depots").fragments
    assert [one.resource_id for one in fragments if one.path == page.page] == ["alarms"]


def test_an_archived_card_is_still_recalled_from_its_archive_page(home: Home, memory: Path) -> None:
    write(
        memory,
        {"whiteboard/board.md": card("depots", "Depots", "Silence alarms in depots ring at six.") + card("b", "B")},
    )
    project = home.project(memory)
    page = project.whiteboard.check()[0]
    project.whiteboard.write(page.page, card("b", "B").encode(), page.digest, PageEdit(archived={"depots": "done"}))
    project.refresh()
    assert paths(ask(project, "silence alarms in depots"))[0] == "whiteboard/archive/board.md"


def test_with_whiteboard_write_off_pages_are_read_and_linted_and_never_written(tmp_path: Path, memory: Path) -> None:
    write(memory, {"whiteboard/board.md": card("depots", "Depots")})
    board = Home.open(tmp_path / "other", engine="fake", whiteboard_write=False).project(memory).whiteboard
    page = board.check()[0]
    assert [one.card for one in board.lint().findings] == ["depots"]
    with pytest.raises(InputError, match="whiteboard_write") as caught:
        board.write(page.page, b"", page.digest, PageEdit(archived={"depots": "done"}))
    assert caught.value.code == "read_only"
    assert board.check()[0] == page


def test_the_fixture_whiteboard_has_no_fault_and_its_orphans_are_those_that_nothing_links_to(home: Home) -> None:
    board = home.project(ROOT / "fixtures" / "memory").whiteboard
    pages = board.check()
    assert [page.faults for page in pages] == [()] * len(pages)
    assert all(one.status is Status.CURRENT for page in pages for one in page.cards)
    linked = {"card-big-buttons", "card-fixed-receivers", "card-depot-silence", "card-release-25-12"}
    cards = {one.card_id for page in pages for one in page.cards}
    report = board.lint()
    assert {one.card for one in report.findings if one.rule == "orphan"} == cards - linked
    assert report.coverage.glossaries == ("notes/glossary.md",)


def test_a_page_that_is_none_is_named(project: Project) -> None:
    with pytest.raises(InputError) as caught:
        project.whiteboard.check(["decisions/queue.md", "whiteboard/none.md"])
    assert caught.value.detail == ["decisions/queue.md", "whiteboard/none.md"]
