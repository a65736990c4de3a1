"""What a copied folder may hold in `.memory/`: links that lead elsewhere, and records that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.memory.conftest import fill
from tests.memory.writing.world import World
from workbench.core.errors import StorageError
from workbench.memory.writing.history import read_log, resource_history
from workbench.storage.swapping import draft_of, temporary_of

NEW = "notes/new.md"


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    return fill(World(root))


@pytest.mark.field(57, 106)
@pytest.mark.parametrize(
    "folder", [".memory", ".memory/journal", ".memory/log", ".memory/versions", ".memory/conflicts"]
)
def test_a_folder_of_the_memory_that_a_link_leads_outside_is_never_written_to(world: World, folder: str) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text("{}", encoding="utf-8")
    world.put("first", {NEW: "One.\n"}) if folder != ".memory" else None
    if folder == ".memory/conflicts":
        world.write(".memory/journal/torn.json", "{")
    link = world.root / folder
    if link.exists():
        link.rename(outside.with_name("moved"))
    link.symlink_to(outside)
    with pytest.raises(StorageError) as refused:
        for number in range(300):
            world.put(f"tx-{number}", {NEW: f"{number}\n"})
    assert refused.value.code == "home_unwritable"
    assert str(link) in refused.value.message
    assert [path.name for path in outside.iterdir()] == ["settings.json"]


@pytest.mark.field(57)
def test_a_link_in_the_place_of_a_temporary_file_is_not_written_through(world: World) -> None:
    victim = world.root.parent / "victim"
    victim.write_text("Precious.", encoding="utf-8")
    (world.root / ".memory").mkdir(exist_ok=True)
    (world.root / "notes").mkdir(exist_ok=True)
    for place in (world.root / ".memory/unfinished.mw-tmp", draft_of(world.root / NEW), temporary_of(world.root / NEW)):
        place.symlink_to(victim)
    world.put("tx", {NEW: "New.\n"})
    assert (world.read(NEW), victim.read_text(encoding="utf-8")) == ("New.\n", "Precious.")
    assert world.litter() == []


RECORD = {"number": 1, "record_state_version": 0}


@pytest.mark.field(99)
@pytest.mark.parametrize(
    "record",
    [
        5,
        None,
        [],
        {},
        {"number": "x", "record_state_version": 0},
        {"number": 1},
        {**RECORD, "written": ["a.md"]},
        {**RECORD, "written": {"a.md": 5}},
        {**RECORD, "states": {"a.md": {"from": "current"}}},
        {**RECORD, "states": {"a.md": {"from": "current", "to": "gone"}}},
        {**RECORD, "entries": {"a.md": 5}},
        {**RECORD, "actor": 5},
    ],
)
@pytest.mark.parametrize("place", ["manifest", "log"])
def test_a_record_that_is_none_is_damage_wherever_it_is_read(world: World, place: str, record: Any) -> None:
    if place == "manifest":
        world.state(0, {}, transactions={"torn": record})
    else:
        world.write(".memory/log/00000001.json", json.dumps({"torn": record}))
    for ask in (
        lambda: world.put("tx", {NEW: "New.\n"}),
        lambda: read_log(world.root, world.capture()),
        lambda: resource_history(world.root, world.capture(), "user/editor.md"),
    ):
        with pytest.raises(StorageError) as error:
            ask()
        assert error.value.code == "state_damaged"
    assert not (world.root / NEW).exists()
