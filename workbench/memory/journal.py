"""The journal of unfinished transactions, and what it says of a state manifest that is damaged or lost.

`.memory/journal/NAME.json` is written before the first file of a transaction is replaced, dropped after the manifest:

    {"format": "memory-journal-1", "tx_id": "TX",
     "writes": {"notes/a.md": {"before": DIGEST or null, "target": DIGEST, "bytes": BASE64}},
     "before": MANIFEST, "after": MANIFEST}

`before` and `after` are whole manifest documents. A write has a `path`, relative to the root, where the file's name on
the disk is not its source_ref. An entry is input, never trusted: it can name Markdown files inside the root only.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from workbench.core.hashing import sha256_hex
from workbench.markdown.errors import UnreadableSource
from workbench.memory.layout import MARKDOWN_SUFFIXES
from workbench.memory.own_files import move_own, put_own, remove_own
from workbench.memory.reading import VANISHED, read_stable
from workbench.memory.state import ManifestDamaged, StateManifest, document_of, manifest_of

JOURNAL_FORMAT = "memory-journal-1"
JOURNAL_FOLDER, CONFLICTS_FOLDER = ".memory/journal", ".memory/conflicts"
MOST_BYTES = 1 << 30


class Standing(Enum):
    """Where the file of a change stands."""

    BEFORE, TARGET, OTHER = range(3)


class FileChange(NamedTuple):
    """One source of a transaction. path: relative to the root, without links; before: None for a new file."""

    path: str
    before: str | None
    target: str
    data: bytes


class JournalEntry(NamedTuple):
    """One transaction: its files by source_ref, and the manifest before and after it."""

    tx_id: str
    writes: Mapping[str, FileChange]
    before: StateManifest
    after: StateManifest

    @property
    def file_name(self) -> str:
        """The name of its file: any tx_id makes a usable one."""
        return f"{sha256_hex(self.tx_id)[:32]}.json"


def may_be_written(path: str) -> bool:
    """Whether a path, relative to the root and free of links, is that of a visible Markdown file."""
    place = PurePosixPath(path)
    is_hidden = any(part.startswith(".") for part in place.parts)
    return not place.is_absolute() and not is_hidden and path.lower().endswith(MARKDOWN_SUFFIXES)


def entry_files(root: Path, folder: str = JOURNAL_FOLDER) -> list[Path]:
    """The files of the journal, or of another folder of entries, by name."""
    try:
        return sorted((root / folder).glob("*.json"))
    except OSError:
        return []


def read_entry(root: Path, path: Path) -> JournalEntry | None:
    """One entry; None when it is damaged, that is, when its transaction never began."""
    try:
        document: Any = json.loads(read_stable(os.path.realpath(path), MOST_BYTES).raw.decode("utf-8"))
        if document["format"] != JOURNAL_FORMAT:
            return None
        writes = {str(ref): _change_of(root, str(ref), write) for ref, write in document["writes"].items()}
        before, after = manifest_of(document["before"]), manifest_of(document["after"])
        return JournalEntry(str(document["tx_id"]), writes, before, after)
    except (UnreadableSource, ManifestDamaged, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def pending_entries(root: Path) -> list[JournalEntry]:
    """The transactions that are neither finished nor taken back."""
    return [entry for path in entry_files(root) if (entry := read_entry(root, path)) is not None]


def write_entry(root: Path, entry: JournalEntry) -> None:
    """Make the intent durable. Raises: `StorageError("home_unwritable")`."""
    document = {
        "format": JOURNAL_FORMAT,
        "tx_id": entry.tx_id,
        "writes": {ref: _document_of(ref, change) for ref, change in entry.writes.items()},
        "before": document_of(entry.before),
        "after": document_of(entry.after),
    }
    put_own(root, f"{JOURNAL_FOLDER}/{entry.file_name}", json.dumps(document).encode(), area="memory.journal")


def drop_entry(root: Path, name: str) -> None:
    """Forget a transaction that is finished or taken back. Raises: `StorageError("home_unwritable")`."""
    remove_own(root, f"{JOURNAL_FOLDER}/{name}", area="memory.journal")


def set_aside(root: Path, name: str) -> None:
    """Move an entry to the conflicts, where a person finds it. Raises: `StorageError("home_unwritable")`."""
    move_own(root, f"{JOURNAL_FOLDER}/{name}", f"{CONFLICTS_FOLDER}/{name}", area="memory.conflict")


def stands_at(root: Path, change: FileChange) -> Standing:
    """Whether a file is as its transaction found it, as it wants it, or anything else, unreadable too."""
    try:
        now = sha256_hex(read_stable(os.path.realpath(root / change.path), MOST_BYTES).raw)
    except UnreadableSource as error:
        if error.reason != VANISHED:
            return Standing.OTHER
        now = None
    if now == change.target:
        return Standing.TARGET
    return Standing.BEFORE if now == change.before else Standing.OTHER


def recover_manifest(root: Path) -> StateManifest | None:
    """The manifest that the newest readable journal entry stands for; None when there is no such entry.

    A transaction counts as done only when every file it writes is at its target: half of one is never current.
    """
    entries = pending_entries(root)
    if not entries:
        return None
    newest = max(entries, key=lambda entry: entry.after.record_state_version)
    done = all(stands_at(root, change) is Standing.TARGET for change in newest.writes.values())
    return newest.after if done else newest.before


def _change_of(root: Path, ref: str, write: Mapping[str, Any]) -> FileChange:
    """Raises: ValueError and the like for anything but a Markdown file inside the root with the bytes of its digest."""
    path, data = str(write.get("path", ref)), base64.b64decode(write["bytes"], validate=True)
    inside = os.path.realpath(root / path).startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)
    if not inside or not may_be_written(path) or sha256_hex(data) != write["target"]:
        raise ValueError(path)
    before = write["before"]
    return FileChange(path, None if before is None else str(before), str(write["target"]), data)


def _document_of(ref: str, change: FileChange) -> dict[str, Any]:
    document = {
        "before": change.before,
        "target": change.target,
        "bytes": base64.b64encode(change.data).decode("ascii"),
    }
    return document if change.path == ref else {**document, "path": change.path}
