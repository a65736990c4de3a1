from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.memory.folder import Memory, settled
from workbench.core.hashing import sha256_hex
from workbench.core.limits import resolve_limits
from workbench.core.resource import UNSETTLED, Layer, Source, Status
from workbench.memory.snapshot import SourceMoved, capture_snapshot, memory_index_version
from workbench.memory.state import ResourceState, StateManifest


def test_a_snapshot_holds_the_resources_of_all_five_layers(five_layers: Memory) -> None:
    snapshot = five_layers.capture()
    assert {source.layer for source in snapshot.sources} == set(Layer)
    assert [source.source_ref for source in snapshot.sources] == sorted(snapshot.stamps)
    resources = {resource.resource_id: resource for resource in snapshot.resources}
    assert resources.keys() == snapshot.members.keys()
    assert resources["db"].title == "Database"
    assert sorted(resource.layer for resource in resources.values()).count(Layer.LOG) == 2
    assert all(snapshot.members[name].content_hash == resource.content_hash for name, resource in resources.items())
    assert snapshot.degradations == ()


def test_an_empty_folder_is_an_empty_snapshot(memory: Memory) -> None:
    snapshot = memory.capture()
    assert (snapshot.sources, tuple(snapshot.resources), snapshot.degradations) == ((), (), ())


@pytest.mark.spec("T1-5")
def test_miv_has_one_canonical_form() -> None:
    sources = tuple(
        Source(ref, Layer.PROJECT, epoch, 9, digest, 1) for ref, epoch, digest in [("b.md", 2, "d2"), ("a.md", 1, "d1")]
    )
    manifest = StateManifest(4, {"x": ResourceState(Status.SUPERSEDED, "y")})
    state = sha256_hex('["memory-state-1",{"x":["superseded","y"]}]')
    form = f'["memory-snapshot-1","p",[["a.md",1,"d1"],["b.md",2,"d2"]],"{state}"]'
    assert memory_index_version("p", sources, manifest) == sha256_hex(form)
    assert (
        memory_index_version("p", sources[::-1], manifest)
        == "590c6487d25b2946b5de61012548805612fff06ae4d55b9936300bc9941830f5"
    )


@pytest.mark.spec("T1-5")
def test_status_alone_changes_miv_and_nothing_else_does_not(five_layers: Memory) -> None:
    first = five_layers.capture()
    assert five_layers.capture().ref == first.ref
    five_layers.state(0, {})
    assert five_layers.capture().ref == first.ref
    five_layers.state(1, {"db": {"status": "retracted"}})
    retracted = five_layers.capture()
    assert retracted.ref.miv != first.ref.miv
    assert retracted.sources == first.sources
    assert retracted.ref.record_state_version == 1


@pytest.mark.spec("T1-5")
def test_mivs_have_no_order_and_may_come_back(five_layers: Memory) -> None:
    first = five_layers.capture()
    five_layers.state(1, {"db": {"status": "retracted"}})
    five_layers.capture()
    five_layers.state(2, {"db": {"status": "current"}})
    restored = five_layers.capture()
    assert restored.ref.miv == first.ref.miv
    assert restored.ref.record_state_version == 2


def test_miv_belongs_to_the_project(five_layers: Memory) -> None:
    mivs = {capture_snapshot(five_layers.root, name, {}, resolve_limits()).ref.miv for name in ("a", "b", "a")}
    assert len(mivs) == 2


def test_a_rewrite_with_the_same_bytes_changes_nothing(five_layers: Memory) -> None:
    first = five_layers.capture()
    five_layers.write("user/editor.md", (five_layers.root / "user/editor.md").read_bytes())
    second = five_layers.capture()
    assert (second.ref, second.sources) == (first.ref, first.sources)


def test_an_edit_is_one_version_and_a_new_miv(five_layers: Memory) -> None:
    first = five_layers.capture()
    five_layers.write("user/editor.md", "# Editor\n\nPrefers a light theme.\n")
    second = five_layers.capture()
    source = second.stamps["user/editor.md"].source
    assert (source.source_epoch, source.source_version) == (1, 2)
    assert second.changes.changed == {"user/editor.md"}
    assert second.ref.miv != first.ref.miv


def test_a_settled_stamp_is_believed_without_reading(five_layers: Memory) -> None:
    stamps = settled(five_layers.capture().stamps, five_layers.root)
    entry = stamps["decisions/database.md"].entries[0]._replace(content_hash="remembered")
    stamps["decisions/database.md"] = replace(stamps["decisions/database.md"], entries=(entry,))
    snapshot = capture_snapshot(five_layers.root, "project", stamps, resolve_limits())
    assert snapshot.members["db"].content_hash == "remembered"
    assert snapshot.stamps == stamps


def test_a_fresh_file_is_not_believed_by_its_time(five_layers: Memory) -> None:
    assert {stamp.changed_ns for stamp in five_layers.capture().stamps.values()} == {UNSETTLED}


@pytest.mark.parametrize("old", [False, True], ids=["within the tick", "time put back"])
def test_an_edit_of_equal_size_and_time_is_seen(five_layers: Memory, old: bool) -> None:
    path = five_layers.root / "user/editor.md"
    first = five_layers.capture()
    if old:
        five_layers.stamps = settled(first.stamps, five_layers.root)
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"dark", b"grey"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert five_layers.capture().changes.changed == {"user/editor.md"}


def test_a_replaced_file_is_seen_by_its_inode(five_layers: Memory, tmp_path: Path) -> None:
    path = five_layers.root / "user/editor.md"
    five_layers.stamps = settled(five_layers.capture().stamps, five_layers.root)
    other = tmp_path / "other.md"
    other.write_bytes(path.read_bytes().replace(b"dark", b"grey"))
    other.replace(path)
    assert five_layers.capture().changes.changed == {"user/editor.md"}


def test_a_file_created_as_something_else_gets_a_new_epoch(five_layers: Memory) -> None:
    text = (five_layers.root / "user/editor.md").read_bytes()
    first = five_layers.capture()
    epochs = []
    for again in (text, b"# Another\n"):
        (five_layers.root / "user/editor.md").unlink()
        assert five_layers.capture().changes.removed == {"user/editor.md"}
        five_layers.write("user/editor.md", again)
        snapshot = five_layers.capture()
        assert snapshot.changes.new == {"user/editor.md"}
        epochs.append(snapshot.stamps["user/editor.md"].source.source_epoch)
        if again == text:
            assert snapshot.ref == first.ref
    assert epochs == [1, 2]


def test_a_source_in_another_layer_is_another_source(five_layers: Memory) -> None:
    first = five_layers.capture()
    five_layers.write("memory.toml", "[layers]\nuser = []\n")
    second = five_layers.capture()
    source = second.stamps["user/editor.md"].source
    assert (source.layer, source.source_epoch, source.source_version) == (Layer.PROJECT, 2, 1)
    assert second.ref.miv != first.ref.miv


@pytest.mark.spec("T2-4")
@pytest.mark.field(43)
@pytest.mark.field(45)
def test_deleting_and_retracting_leave_nothing_to_read_or_encode(five_layers: Memory) -> None:
    five_layers.capture()
    (five_layers.root / "user/editor.md").unlink()
    five_layers.state(1, {"db": {"status": "retracted"}})
    snapshot = five_layers.capture()
    assert (snapshot.changes.new, snapshot.changes.changed) == (frozenset(), frozenset())
    assert snapshot.changes.removed == {"user/editor.md"}
    assert not [name for name in snapshot.members if "editor" in name]
    assert snapshot.members["db"].status is Status.RETRACTED
    assert snapshot.degradations == ()


@pytest.mark.field(45)
def test_a_deleted_section_is_no_member_any_more(five_layers: Memory) -> None:
    before = five_layers.capture().members.keys()
    five_layers.write("log/2026-11-02.md", "## 2026-11-02 Deploy\n\nThe deploy failed.\n")
    after = five_layers.capture().members.keys()
    assert len(before - after) == 1
    assert "Retry" in next(iter(before - after))


def test_statuses_are_on_the_resources(five_layers: Memory) -> None:
    five_layers.write("decisions/database-2.md", "---\nid: db-2\n---\n# Database\n\nWe chose DuckDB.\n")
    five_layers.state(1, {"db": {"status": "superseded", "superseded_by": "db-2"}})
    resources = {resource.resource_id: resource for resource in five_layers.capture().resources}
    assert (resources["db"].status, resources["db"].superseded_by) == (Status.SUPERSEDED, "db-2")
    assert resources["db-2"].status is Status.CURRENT


def test_units_lie_in_the_bytes_of_their_source(five_layers: Memory) -> None:
    raw = b"\xef\xbb\xbf# Caf\xc3\xa9\r\n\r\nWe meet at the caf\xc3\xa9.\r\n"
    five_layers.write("notes/cafe.md", raw)
    ((_, units),) = five_layers.capture().read("notes/cafe.md")
    for unit in units:
        assert raw[unit.span.byte_start : unit.span.byte_end].decode().strip()


def test_a_source_that_moved_on_is_refused_when_it_has_to_be_read_again(five_layers: Memory) -> None:
    stamps = five_layers.capture().stamps
    unread = capture_snapshot(five_layers.root, "project", stamps, resolve_limits())
    five_layers.write("user/editor.md", "# Other\n")
    with pytest.raises(SourceMoved, match=r"user/editor\.md"):
        unread.read("user/editor.md")
    assert unread.read("decisions/database.md")


def test_a_build_reads_the_text_that_was_captured_although_the_file_moved_on(five_layers: Memory) -> None:
    snapshot = five_layers.capture()
    five_layers.write("user/editor.md", "# Other\n")
    ((resource, _),) = snapshot.read("user/editor.md")
    assert "dark theme" in resource.body


def test_progress_counts_what_is_read(five_layers: Memory) -> None:
    seen: list[tuple[str, int, int]] = []
    capture_snapshot(five_layers.root, "project", {}, resolve_limits(), lambda *step: seen.append(step))
    assert seen == [("read", done, 5) for done in range(1, 6)]
