from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.folder import Memory
from workbench.core.errors import StorageError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Status
from workbench.memory.manifest import ManifestReader, read_manifest
from workbench.memory.state import ResourceState, StateManifest, document_of, parse_manifest, render_manifest

GOLDEN = StateManifest(
    2,
    {"old": ResourceState(Status.RETRACTED), "a": ResourceState(Status.SUPERSEDED, "b")},
    {"card": {"reason": "done"}},
    {"tx-1": {"number": 1, "record_state_version": 1}},
)
GOLDEN_BYTES = b"""{
 "archived": {
  "card": {
   "reason": "done"
  }
 },
 "format": "memory-state-1",
 "record_state_version": 2,
 "states": {
  "a": {
   "status": "superseded",
   "superseded_by": "b"
  },
  "old": {
   "status": "retracted"
  }
 },
 "transactions": {
  "tx-1": {
   "number": 1,
   "record_state_version": 1
  }
 }
}
"""

resource_states = st.one_of(
    st.sampled_from([ResourceState(Status.CURRENT), ResourceState(Status.RETRACTED)]),
    st.builds(ResourceState, st.just(Status.SUPERSEDED), st.none() | st.text()),
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
manifests = st.builds(
    StateManifest, st.integers(0, 2**60), st.dictionaries(texts, resource_states), st.dictionaries(texts, texts)
)


def journal(memory: Memory, before: StateManifest, after: StateManifest, target: str, tx_id: str = "tx") -> None:
    writes = {
        "a.md": {"before": None, "target": sha256_hex(target), "bytes": base64.b64encode(target.encode()).decode()}
    }
    document = {
        "format": "memory-journal-1",
        "tx_id": tx_id,
        "writes": writes,
        "before": document_of(before),
        "after": document_of(after),
    }
    memory.write(f".memory/journal/{tx_id}.json", json.dumps(document))


def test_without_a_manifest_everything_is_current_at_version_0(memory: Memory) -> None:
    manifest = read_manifest(memory.root)
    assert (manifest.record_state_version, manifest.status("anything")) == (0, Status.CURRENT)


def test_canonical_bytes_and_digest_are_a_contract() -> None:
    assert render_manifest(GOLDEN) == GOLDEN_BYTES
    assert GOLDEN.digest == sha256_hex('["memory-state-1",{"a":["superseded","b"],"old":["retracted",null]}]')
    assert StateManifest().digest == sha256_hex('["memory-state-1",{}]')


@given(manifests)
def test_a_rendered_manifest_reads_back_as_it_was(manifest: StateManifest) -> None:
    again = parse_manifest(render_manifest(manifest))
    assert (again, again.digest) == (manifest, manifest.digest)


def test_statuses_and_successors_are_read(memory: Memory) -> None:
    memory.write(".memory/state.json", GOLDEN_BYTES)
    manifest = read_manifest(memory.root)
    assert [manifest.status(name) for name in ("a", "old", "b")] == ["superseded", "retracted", "current"]
    assert [manifest.superseded_by(name) for name in ("a", "old", "b")] == ["b", None, None]


def test_naming_a_current_resource_changes_no_digest() -> None:
    assert StateManifest(7, {"x": ResourceState(Status.CURRENT)}).digest == StateManifest().digest


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        GOLDEN_BYTES[:-20],
        b'{"format": "memory-state-2", "record_state_version": 0}',
        b'{"format": "memory-state-1"}',
        b'{"format": "memory-state-1", "record_state_version": "1"}',
        b'{"format": "memory-state-1", "record_state_version": true}',
        b'{"format": "memory-state-1", "record_state_version": 9223372036854775808}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": []}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": {"a": "retracted"}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": {"a": {"status": "gone"}}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": {"a": {"status": ["current"]}}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": {"a": {}}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "state": {}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": '
        b'{"a": {"status": "retracted"}, "a": {"status": "current"}}}',
        b'{"format": "memory-state-1", "record_state_version": 0, "states": '
        b'{"a": {"status": "retracted", "superseded_by": "b"}}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_manifest_is_never_all_current(memory: Memory, raw: bytes) -> None:
    memory.write(".memory/state.json", raw)
    with pytest.raises(StorageError) as refused:
        read_manifest(memory.root)
    assert refused.value.code == "state_damaged"
    assert (memory.root / ".memory/state.json").read_bytes() == raw


def test_a_merge_that_nobody_resolved_is_said_to_be_one(memory: Memory) -> None:
    merged = GOLDEN_BYTES.replace(b' "record_state_version": 2,\n', b"<<<<<<< ours\n=======\n>>>>>>> theirs\n", 1)
    memory.write(".memory/state.json", merged)
    with pytest.raises(StorageError, match="a merge left its marks in it") as refused:
        read_manifest(memory.root)
    assert refused.value.code == "state_damaged"


@pytest.mark.parametrize("make_it_unreadable", ["folder", "dangling link"])
def test_a_manifest_that_is_no_file_is_damaged(memory: Memory, make_it_unreadable: str) -> None:
    path = memory.root / ".memory" / "state.json"
    path.parent.mkdir()
    if make_it_unreadable == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere.json")
    with pytest.raises(StorageError, match="damaged"):
        read_manifest(memory.root)


@pytest.mark.parametrize("damage", [b"{", None], ids=["damaged", "lost"])
@pytest.mark.parametrize(("on_disk", "version"), [("new", 3), ("old", 2), (None, 2)])
def test_the_journal_says_what_a_damaged_manifest_held(
    memory: Memory, damage: bytes | None, on_disk: str | None, version: int
) -> None:
    after = StateManifest(3, {**GOLDEN.states, "c": ResourceState(Status.RETRACTED)})
    journal(memory, GOLDEN, after, target="new")
    if damage is not None:
        memory.write(".memory/state.json", damage)
    if on_disk is not None:
        memory.write("a.md", on_disk)
    manifest = read_manifest(memory.root)
    assert manifest.record_state_version == version
    assert manifest.status("a") is Status.SUPERSEDED
    assert manifest.status("c") is (Status.RETRACTED if version == 3 else Status.CURRENT)


@pytest.mark.parametrize("entry", [b"{", b"[]", b"{}", b'{"format": "memory-journal-1", "writes": 3}'])
def test_a_journal_entry_that_is_damaged_recovers_nothing(memory: Memory, entry: bytes) -> None:
    memory.write(".memory/journal/tx.json", entry)
    memory.write(".memory/state.json", b"{")
    with pytest.raises(StorageError, match="damaged"):
        read_manifest(memory.root)


def test_the_newest_journal_entry_counts(memory: Memory) -> None:
    for version in (2, 4, 3):
        journal(memory, StateManifest(version - 1), StateManifest(version), target="new", tx_id=f"tx-{9 - version}")
    memory.write("a.md", "new")
    memory.write(".memory/state.json", b"{")
    assert read_manifest(memory.root).record_state_version == 4


def test_a_sound_manifest_is_believed_over_the_journal(memory: Memory) -> None:
    journal(memory, StateManifest(4), StateManifest(5), target="new")
    memory.write(".memory/state.json", GOLDEN_BYTES)
    assert read_manifest(memory.root) == GOLDEN


def test_a_reader_follows_the_file(memory: Memory) -> None:
    reader = ManifestReader(memory.root)
    seen: list[Any] = [reader().record_state_version]
    for version in (1, 2, 3):
        memory.write(".memory/state.json", render_manifest(StateManifest(version)))
        seen.append(reader().record_state_version)
    (memory.root / ".memory/state.json").unlink()
    seen.append(reader().record_state_version)
    assert seen == [0, 1, 2, 3, 0]


def test_a_reader_tells_damage_and_recovers_with_the_file(memory: Memory) -> None:
    reader = ManifestReader(memory.root)
    memory.write(".memory/state.json", render_manifest(GOLDEN))
    assert reader() == GOLDEN
    memory.write(".memory/state.json", b"{")
    with pytest.raises(StorageError, match="damaged"):
        reader()
    memory.write(".memory/state.json", render_manifest(GOLDEN))
    assert reader() == GOLDEN


@pytest.mark.parametrize("seen", [1, 7])
def test_a_manifest_that_is_gone_although_an_index_has_seen_it_is_damage(memory: Memory, seen: int) -> None:
    with pytest.raises(StorageError, match="restore it") as damaged:
        read_manifest(memory.root, seen)
    with pytest.raises(StorageError, match="restore it"):
        ManifestReader(memory.root, lambda: seen)()
    assert damaged.value.code == "state_damaged"
    assert read_manifest(memory.root, 0) == StateManifest()
