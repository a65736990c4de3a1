"""Capturing a snapshot: only files whose stamp proves nothing are read, and one broken source takes no other with it.

`miv`, the snapshot's identity, is sha256 of the canonical JSON of ["memory-snapshot-1", project_id,
[[source_ref, source_epoch, file_digest], ... by source_ref], state digest]; mivs have no order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from workbench.core.errors import NotReady, StorageError
from workbench.core.hashing import digest
from workbench.core.limits import Limits
from workbench.core.progress import Progress, no_progress
from workbench.core.resource import GONE, UNSETTLED, Degradation, SnapshotRef, Source, SourceStamp
from workbench.memory.identity import Identities, resolve_identities
from workbench.memory.journal import JournalEntry, entry_files, pending_entries
from workbench.memory.layout import load_layout
from workbench.memory.manifest import MANIFEST_PATH, read_manifest
from workbench.memory.reading import changed_ns
from workbench.memory.scan import NAME_TWIN, Found, Scan, scan_sources
from workbench.memory.spool import Spool
from workbench.memory.stamping import absent_stamps, is_unchanged, stamp_file
from workbench.memory.state import StateManifest
from workbench.memory.transaction import recover, writer_lock
from workbench.memory.verification import read_verified_block, validate_hit
from workbench.memory.view import Member, MemorySnapshot, SourceChanges, SourceMoved

__all__ = [
    "Member",
    "MemorySnapshot",
    "SourceChanges",
    "SourceMoved",
    "capture_snapshot",
    "members_of",
    "memory_index_version",
    "read_verified_block",
    "validate_hit",
]

SNAPSHOT_FORMAT = "memory-snapshot-1"
SOURCE_UNREADABLE = "source_unreadable"
UNFINISHED_WRITE = "unfinished_write"
CAPTURE_WAIT_S = 2.0
"""How long a capture waits for a writer to finish; a reader is not held up as long as another writer is."""


def capture_snapshot(
    root: Path,
    project_id: str,
    stamps: Mapping[str, SourceStamp],
    limits: Limits,
    progress: Progress = no_progress,
    *,
    seen_state_version: int = 0,
) -> MemorySnapshot:
    """The memory under a root as it is now. stamps: those of the last indexed snapshot; empty for the first one.

    seen_state_version: the record_state_version of that snapshot. progress: phase `read` in files that changed.

    Raises: `InputError` `project_unknown` or `invalid_argument` (memory.toml); `StorageError` `project_unreadable`
    when the root cannot be listed or every source is suddenly gone, `state_damaged` for the manifest.

    What a writer does meanwhile is seen whole or not at all: a capture that met one is repeated with writers held off.
    """
    capture = partial(_capture, root, project_id, stamps, limits, progress, seen_state_version)
    mark = _write_mark(root)
    if not mark.pending:
        snapshot = capture()
        if _write_mark(root) == mark:
            return snapshot
    with suppress(NotReady, StorageError), writer_lock(root, CAPTURE_WAIT_S):
        recover(root)
        return capture()
    # Nobody can settle the transaction now: what it has replaced so far is not shown.
    return capture(unfinished=pending_entries(root))


class _WriteMark(NamedTuple):
    """What every transaction changes while it is under way and when it is done."""

    manifest: tuple[int, int] | None
    pending: tuple[str, ...]


def _write_mark(root: Path) -> _WriteMark:
    pending = tuple(path.name for path in entry_files(root))
    try:
        status = (root / MANIFEST_PATH).stat()
    except OSError:
        return _WriteMark(None, pending)
    return _WriteMark((changed_ns(status), status.st_ino), pending)


def _capture(
    root: Path,
    project_id: str,
    stamps: Mapping[str, SourceStamp],
    limits: Limits,
    progress: Progress,
    seen_state_version: int,
    unfinished: Sequence[JournalEntry] = (),
) -> MemorySnapshot:
    scan = scan_sources(root, load_layout(root))
    if not scan.found and any(stamp.error != GONE for stamp in stamps.values()):
        message = f"The memory root {root} is suddenly empty; the last index is left alone. Is a disk not mounted?"
        raise StorageError("project_unreadable", message)
    now, spool = _stamp_all(scan, stamps, limits.source_bytes, progress)
    manifest = read_manifest(root, seen_state_version)
    now |= _isolated(now, [entry for entry in unfinished if entry.tx_id not in manifest.transactions])
    identities = resolve_identities(now.values())
    sources = tuple(stamp.source for stamp in now.values() if stamp.error is None)
    miv = memory_index_version(project_id, sources, manifest)
    return MemorySnapshot(
        SnapshotRef(project_id, miv, manifest.record_state_version),
        sources,
        members_of(now, identities, manifest),
        now,
        SourceChanges.between(stamps, now),
        (*_unreadable(now, scan), *identities.degradations),
        manifest,
        identities,
        {source_ref: found.path for source_ref, found in scan.found.items()},
        spool,
    )


def memory_index_version(project_id: str, sources: tuple[Source, ...], manifest: StateManifest) -> str:
    """The `miv` of these readable sources, in any order, under this manifest."""
    versions = sorted([source.source_ref, source.source_epoch, source.file_digest] for source in sources)
    return digest([SNAPSHOT_FORMAT, project_id, versions, manifest.digest])


def _stamp_all(
    scan: Scan, known: Mapping[str, SourceStamp], most_bytes: int, progress: Progress
) -> tuple[dict[str, SourceStamp], Spool]:
    """Stamps of every source by source_ref, and what was cut out of the changed ones."""
    stamps = {stamp.source.source_ref: stamp for stamp in absent_stamps(known, scan)}
    doubtful: list[Found] = []
    for source_ref, found in scan.found.items():
        stamp = known.get(source_ref)
        if stamp is not None and is_unchanged(found, stamp):
            stamps[source_ref] = stamp
        else:
            doubtful.append(found)
    spool = Spool()
    for done, found in enumerate(doubtful, start=1):
        stamps[found.source_ref], cuts = stamp_file(found, known.get(found.source_ref), most_bytes)
        if cuts is not None:
            spool.put(found.source_ref, cuts)
        progress("read", done, len(doubtful))
    return dict(sorted(stamps.items())), spool


def _isolated(stamps: Mapping[str, SourceStamp], unfinished: Sequence[JournalEntry]) -> dict[str, SourceStamp]:
    """Stamps of the sources that an unfinished transaction has replaced already: unreadable until it is settled."""
    targets = {ref: change.target for entry in unfinished for ref, change in entry.writes.items()}
    return {
        ref: replace(stamps[ref], changed_ns=UNSETTLED, entries=(), error=UNFINISHED_WRITE)
        for ref, target in targets.items()
        if ref in stamps and stamps[ref].source.file_digest == target
    }


def members_of(stamps: Mapping[str, SourceStamp], identities: Identities, manifest: StateManifest) -> dict[str, Member]:
    """Every resource of these sources, by resource_id, with its status."""
    return {
        resource_id: Member(
            source_ref, entry.content_hash, manifest.status(resource_id), manifest.superseded_by(resource_id)
        )
        for source_ref, stamp in stamps.items()
        for entry in stamp.entries
        for resource_id in [identities.id_of(entry)]
    }


def _unreadable(stamps: Mapping[str, SourceStamp], scan: Scan) -> list[Degradation]:
    reasons = {ref: stamp.error for ref, stamp in stamps.items() if stamp.error not in (None, GONE)}
    details = [f"{ref}: {reason}" for ref, reason in (*reasons.items(), *sorted(scan.unlisted.items()))]
    details += [f"{ref}: {NAME_TWIN}" for ref in scan.twins]
    return [Degradation(SOURCE_UNREADABLE, detail) for detail in details]
