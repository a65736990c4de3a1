"""Files that have several names in a memory: a write through one of them is a write to all of them."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

from tests.memory.conftest import fill
from tests.memory.writing.world import World, killed_at
from workbench.core.errors import InputError
from workbench.core.resource import Status
from workbench.memory.writing.answers import Answer, archive_answer
from workbench.memory.writing.gate import StateChange, Write
from workbench.memory.writing.history import resource_history
from workbench.memory.writing.values import AnswerTarget
from workbench.storage.faults import on_step

EDITOR, BOARD = "user/editor.md", "whiteboard/board.md"


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    return fill(World(root))


@pytest.mark.parametrize("name", ["link.md", EDITOR])
def test_a_write_through_one_name_is_told_of_all(world: World, name: str) -> None:
    (world.root / "link.md").symlink_to(EDITOR)
    commit = world.put("tx", {name: "# Editor\n\nUses Vim.\n"})
    assert commit.written == ("link.md", EDITOR)
    assert commit.miv == world.capture().ref.miv
    for one in commit.written:
        versions = resource_history(world.root, world.capture(), one).versions
        assert [version.text.splitlines()[-1] for version in versions] == ["Prefers a dark theme.", "Uses Vim."]


def test_a_retracted_text_does_not_come_back_through_another_name(world: World) -> None:
    (world.root / "link.md").symlink_to(EDITOR)
    world.put("tx", {}, {EDITOR: StateChange(Status.RETRACTED)})
    with pytest.raises(InputError, match=f"{EDITOR}: it is retracted"):
        world.put("again", {"link.md": "# Editor\n\nUses Vim.\n"})


@pytest.mark.spec("T4-1")
def test_a_page_is_not_written_past_its_contract_through_another_name(world: World) -> None:
    (world.root / "log/board.md").symlink_to(f"../{BOARD}")
    before = world.read(BOARD)
    with pytest.raises(InputError) as refused:
        world.put("tx", {"log/board.md": "## No cards\n\nAny more.\n"})
    assert refused.value.code == "whiteboard_rejected"
    assert world.read(BOARD) == before


def test_half_a_transaction_is_shown_under_no_name(world: World) -> None:
    (world.root / "link.md").symlink_to(EDITOR)
    change = {EDITOR: "# Editor\n\nUses Vim.\n"}
    world.put("first", {"notes/other.md": "Other.\n"})
    names: list[str] = []
    recording = World(Path(shutil.copytree(world.root, world.root.with_name("recording"), symlinks=True)))
    with on_step(names.append):
        recording.put("tx", change)
    killed_at(names.index("memory.manifest.prepare"), lambda: world.put("tx", change))
    with world.held():
        told = world.told()
    assert sorted(one.detail for one in told["unreadable"]) == [
        "link.md: unfinished_write",
        f"{EDITOR}: unfinished_write",
    ]
    assert World(world.root).told()["texts"]["link.md"] == change[EDITOR].encode()


@pytest.mark.parametrize("target", [".vault/editor.md", "editor.txt"])
def test_a_file_that_is_no_source_is_not_written_through_a_link(world: World, target: str) -> None:
    world.write(target, "Kept.\n")
    (world.root / "link.md").symlink_to(target)
    with pytest.raises(InputError, match="a link leads to") as refused:
        world.put("tx", {"link.md": "New.\n"})
    assert refused.value.code == "invalid_argument"
    assert world.read(target) == "Kept.\n"
    with pytest.raises(InputError, match="a link leads to"):
        world.gate().commit_mutation("new", [Write("link.md", b"New.\n", None)])


def test_an_answer_is_on_the_page_that_was_asked_for(world: World) -> None:
    (world.root / "log/a-link.md").symlink_to("handoff.md")
    answer = Answer("which tag?", AnswerTarget.HANDOFF, "Tag", "The last one.")
    for _ in range(2):
        assert archive_answer(world.gate(), answer, date(2026, 11, 2)).page == "log/handoff.md"
    assert "log/a-link.md" in world.capture().stamps
