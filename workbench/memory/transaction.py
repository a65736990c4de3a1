"""Carrying a transaction out, and after a crash finishing it or taking it back: whole, or not at all.

The caller holds the writer lock. The manifest is replaced after all files: from then on the transaction has happened.
A file that somebody edited meanwhile is never touched: the rest is put back, and the entry goes to the conflicts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from workbench.core.errors import NotReady, StorageError
from workbench.core.hashing import sha256_hex
from workbench.memory.journal import (
    FileChange,
    JournalEntry,
    Standing,
    drop_entry,
    entry_files,
    read_entry,
    set_aside,
    stands_at,
    write_entry,
)
from workbench.memory.manifest import MANIFEST_PATH, stored_manifest
from workbench.memory.own_files import OWN_FOLDER, clear_unfinished, own_path, put_own
from workbench.memory.state import StateManifest, document_of, render_manifest
from workbench.memory.versions import keep_version, read_version
from workbench.storage.files import writing
from workbench.storage.swapping import FileMoved, bytes_of, draft_of, move_file, remove_file, swap_file, temporary_of

LOCK_PATH, _IGNORE_PATH = f"{OWN_FOLDER}/writer.lock", f"{OWN_FOLDER}/.gitignore"
WRITER_WAIT_S = 5.0
_POLL_S = 0.01
_UNTRACKED = b"/.gitignore\n/journal/\n/writer.lock\n/*.mw-tmp\n"


@contextmanager
def writer_lock(root: Path, wait_s: float = WRITER_WAIT_S) -> Iterator[None]:
    """Be the one writer of a memory root, among all processes and threads. The system drops the lock of a dead process.

    Raises: `NotReady("writer_busy")` after `wait_s`; `StorageError("home_unwritable")`.
    """
    path = own_path(root, LOCK_PATH)
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        lock = FileLock(path, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=_POLL_S)
        except Timeout as error:
            message = "Another process is writing this memory; reading goes on, try the change again."
            raise NotReady("writer_busy", message) from error
    try:
        if not (root / _IGNORE_PATH).exists():
            put_own(root, _IGNORE_PATH, _UNTRACKED, area="memory.ignore")
        yield
    finally:
        lock.release()


def perform(root: Path, entry: JournalEntry) -> None:
    """Do a transaction whose checks all hold. After an error nothing has changed, or `recover` has something to do.

    Raises: `FileMoved` when a file was edited since it was checked; `StorageError("home_unwritable")`.
    """
    try:
        write_entry(root, entry)
        _carry_out(root, entry)
    except Exception:
        if not _holds(root, entry):
            with suppress(StorageError):
                _put_back(root, entry)
                drop_entry(root, entry.file_name)
            raise
    with suppress(StorageError):
        drop_entry(root, entry.file_name)


def recover(root: Path) -> None:
    """Settle every transaction that the journal still has.

    Raises: `StorageError`, `home_unwritable` or `state_damaged`.
    """
    clear_unfinished(root)
    for path in entry_files(root):
        entry = read_entry(root, path)
        if entry is not None and _settle(root, entry):
            drop_entry(root, path.name)
        else:
            set_aside(root, path.name)


def _settle(root: Path, entry: JournalEntry) -> bool:
    """Whether the transaction has happened, or could be completed. Otherwise what it changed is put back."""
    for change in entry.writes.values():
        _settle_temporary(root, change)
    if _holds(root, entry):
        return True
    if all(stands_at(root, change) is not Standing.OTHER for change in entry.writes.values()):
        with suppress(FileMoved):
            _carry_out(root, entry)
            return True
    _put_back(root, entry)
    if stored_manifest(root) is None:
        _replace_manifest(root, entry.before)
    return False


def _carry_out(root: Path, entry: JournalEntry) -> None:
    """Files, then the manifest. Raises: `FileMoved` for a file, or a manifest, that is no longer what it was."""
    stored = stored_manifest(root)
    if stored is not None and document_of(stored) != document_of(entry.before):
        raise FileMoved(MANIFEST_PATH)
    for change in entry.writes.values():
        if stands_at(root, change) is not Standing.TARGET:
            if change.before is not None:
                _keep(root, change)
            swap_file(root / change.path, change.data, change.before, area="memory.file")
    _replace_manifest(root, entry.after)


def _holds(root: Path, entry: JournalEntry) -> bool:
    stored = stored_manifest(root)
    return stored is not None and entry.tx_id in stored.transactions


def _replace_manifest(root: Path, manifest: StateManifest) -> None:
    put_own(root, MANIFEST_PATH, render_manifest(manifest), area="memory.manifest")


def _keep(root: Path, change: FileChange) -> None:
    """Raises: `FileMoved` when the file is gone."""
    with writing(root / change.path):
        data = bytes_of(root / change.path)
        if data is None:
            raise FileMoved(change.path)
        keep_version(root, data)


def _put_back(root: Path, entry: JournalEntry) -> None:
    """Give every file that is at its target its old bytes; one that is anything else stays as it is."""
    for change in entry.writes.values():
        _settle_temporary(root, change)
        if stands_at(root, change) is not Standing.TARGET:
            continue
        if change.before is None:
            remove_file(root / change.path, area="memory.file")
        elif (old := read_version(root, change.before)) is not None:
            with suppress(FileMoved):
                swap_file(root / change.path, old, change.target, area="memory.file")
            _settle_temporary(root, change)


def _settle_temporary(root: Path, change: FileChange) -> None:
    """Clear what a killed writer left beside a file: an edit that had just changed places with the bytes of this
    transaction goes back, or, where somebody has edited again, to the versions."""
    path = root / change.path
    draft, temporary = draft_of(path), temporary_of(path)
    if os.path.lexists(draft):
        remove_file(draft, area="memory.temporary")
    try:
        left = temporary.read_bytes()
    except OSError:
        return
    if sha256_hex(left) not in (change.before, change.target):
        if stands_at(root, change) is not Standing.OTHER:
            move_file(temporary, path, area="memory.file")
            return
        keep_version(root, left)
    remove_file(temporary, area="memory.temporary")
