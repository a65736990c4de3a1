from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.memory.folder import Memory
from workbench.core.candidate import ExclusionReason
from workbench.memory.snapshot import MemorySnapshot, read_verified_block, validate_hit


@dataclass(frozen=True)
class IndexedHit:
    resource_id: str
    resource_hash: str


def hit(snapshot: MemorySnapshot, resource_id: str) -> IndexedHit:
    return IndexedHit(resource_id, snapshot.members[resource_id].content_hash)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("current", None),
        ("retracted", ExclusionReason.NOT_CURRENT),
        ("superseded", ExclusionReason.NOT_CURRENT),
    ],
)
def test_a_hit_must_be_current_now(five_layers: Memory, state: str, reason: ExclusionReason | None) -> None:
    indexed = hit(five_layers.capture(), "db")
    five_layers.state(1, {"db": {"status": state}})
    assert validate_hit(indexed, five_layers.capture()) is reason


def test_a_hit_of_other_content_does_not_match(five_layers: Memory) -> None:
    indexed = hit(five_layers.capture(), "db")
    five_layers.write("decisions/database.md", "---\nid: db\n---\n# Database\n\nWe chose DuckDB.\n")
    assert validate_hit(indexed, five_layers.capture()) is ExclusionReason.SNAPSHOT_MISMATCH


def test_a_hit_that_is_no_member_is_not_current(five_layers: Memory) -> None:
    assert validate_hit(IndexedHit("nobody", ""), five_layers.capture()) is ExclusionReason.NOT_CURRENT


def test_a_block_is_the_bytes_of_its_unit(five_layers: Memory) -> None:
    snapshot = five_layers.capture()
    for source in snapshot.sources:
        for _, units in snapshot.read(source.source_ref):
            for unit in units:
                block = read_verified_block(snapshot, unit)
                assert block is not None
                assert block.decode() == unit.text


def test_a_block_of_an_edited_source_is_withheld(five_layers: Memory) -> None:
    snapshot = five_layers.capture()
    ((_, (unit, *_)),) = snapshot.read("decisions/database.md")
    path = five_layers.root / "decisions/database.md"
    path.write_bytes(path.read_bytes() + b"\nMore.\n")
    assert read_verified_block(snapshot, unit) is None
    assert read_verified_block(five_layers.capture(), unit) is None


def test_a_unit_that_the_snapshot_does_not_have_gets_no_block(five_layers: Memory) -> None:
    snapshot = five_layers.capture()
    ((_, (unit, *_)),) = snapshot.read("decisions/database.md")
    others = [replace(unit, unit_key="x"), replace(unit, text="x"), replace(unit, resource_id="../../etc/passwd")]
    assert [read_verified_block(snapshot, other) for other in others] == [None, None, None]


@pytest.mark.field(57)
@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_source_swapped_for_a_link_is_not_read(five_layers: Memory, tmp_path: Path, link: str) -> None:
    snapshot = five_layers.capture()
    ((_, (unit, *_)),) = snapshot.read("decisions/database.md")
    place = five_layers.root / ("decisions/database.md" if link == "file" else "decisions")
    place.rename(tmp_path / "outside")
    place.symlink_to(tmp_path / "outside")
    assert read_verified_block(snapshot, unit) is None
