"""What a copied folder may hold in `.memory/`: links that lead elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.conftest import fill
from tests.memory.writing.world import World
from workbench.core.errors import StorageError
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
