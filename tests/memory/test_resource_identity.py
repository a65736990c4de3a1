from __future__ import annotations

import pytest

from tests.memory.folder import Memory
from workbench.core.resource import Status


def ids(memory: Memory) -> list[str]:
    return [resource.resource_id for resource in memory.capture().resources]


@pytest.mark.field(50)
def test_a_claimed_id_survives_a_move_and_leaves_no_ghost(memory: Memory) -> None:
    path = memory.write("a.md", "---\nid: note\n---\ntext\n")
    memory.state(1, {"note": {"status": "retracted"}})
    first = memory.capture()
    path.rename(memory.root / "b.md")
    moved = memory.capture()
    assert first.members.keys() == moved.members.keys() == {"note"}
    assert moved.members["note"].source_ref == "b.md"
    assert moved.members["note"].status is Status.RETRACTED
    assert moved.degradations == ()
    assert memory.capture().ref == moved.ref


@pytest.mark.field(52)
def test_two_files_that_claim_one_id_both_work_and_are_named(memory: Memory) -> None:
    memory.write("my-note.md", "---\nid: note\n---\nfirst\n")
    memory.write("My Note.md", "---\nid: note\n---\nsecond\n")
    snapshot = memory.capture()
    assert len(snapshot.members) == 2
    assert "note" not in snapshot.members
    (degradation,) = snapshot.degradations
    assert degradation.code == "duplicate_resource_id"
    assert degradation.detail.startswith("note: ")
    assert all(name in degradation.detail for name in snapshot.members)


def test_a_lone_claim_is_granted_again_when_its_rival_is_gone(memory: Memory) -> None:
    memory.write("a.md", "---\nid: note\n---\nfirst\n")
    rival = memory.write("b.md", "---\nid: note\n---\nsecond\n")
    assert "note" not in ids(memory)
    rival.unlink()
    assert ids(memory) == ["note"]


def test_nobody_can_claim_the_id_that_belongs_to_another_place(memory: Memory) -> None:
    memory.write("a.md", "victim\n")
    (victim,) = ids(memory)
    memory.write("b.md", f"---\nid: {victim}\n---\nthief\n")
    snapshot = memory.capture()
    assert len(snapshot.members) == 2
    assert snapshot.members[victim].source_ref == "a.md"
    assert [degradation.code for degradation in snapshot.degradations] == ["duplicate_resource_id"]


@pytest.mark.field(51)
@pytest.mark.field(52)
def test_twins_by_case_or_spelling_are_different_resources(memory: Memory) -> None:
    for name in ("Finance/a.md", "finance/a.md", "my-note.md", "My Note.md", "my_note.md"):
        memory.write(name, "# My note\n\nThe same text.\n")
    snapshot = memory.capture()
    assert len(snapshot.members) == 5
    assert snapshot.degradations == ()


@pytest.mark.field(73)
def test_equal_sections_stay_apart(memory: Memory) -> None:
    memory.write("log/day.md", "## Standup\n\nAll well.\n\n## Standup\n\nAll well.\n\n## Standup\n\nAll well.\n")
    assert len(set(ids(memory))) == 3


@pytest.mark.field(71)
@pytest.mark.parametrize(
    "text",
    ["---\ntitle: no end\n\nneedle\n", "---\n\nneedle\n", "needle\n\n---\nid: x\n---\n", "\n---\nid: x\n---\nneedle\n"],
)
def test_what_is_no_front_matter_is_body(memory: Memory, text: str) -> None:
    path = memory.write("a.md", text)
    (resource,) = memory.capture().resources
    assert "needle" in resource.body
    assert resource.resource_id != "x"
    assert path.read_text("utf-8") == text


@pytest.mark.field(72)
def test_prose_is_never_metadata(memory: Memory) -> None:
    memory.write("a.md", "# Call\n\n[24:33.098 - 24:41.260] id: x\n\n- [ ] status: retracted\n- kind: y\n")
    (resource,) = memory.capture().resources
    assert (resource.resource_id == "x", resource.kind == "y", resource.status) == (False, False, Status.CURRENT)
    assert "[24:33.098 - 24:41.260]" in resource.body


@pytest.mark.field(41)
def test_another_root_forgets_nothing_of_this_one(memory: Memory) -> None:
    memory.write("one/a.md", "a\n")
    memory.write("two/b.md", "b\n")
    whole = memory.capture()
    part = Memory(memory.root / "one")
    part.capture()
    assert memory.capture().ref == whole.ref


def test_editing_a_body_keeps_every_id(memory: Memory) -> None:
    memory.write("log/day.md", "intro\n\n## A\n\none\n\n## B\n\ntwo\n")
    before = ids(memory)
    memory.write("log/day.md", "another intro\n\n## A\n\nmore\n\nand more\n\n## B\n\n2\n")
    assert ids(memory) == before
