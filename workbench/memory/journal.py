"""What the journal of unfinished transactions says of a state manifest that is damaged or lost.

`.memory/journal/TX.json` is written before the first file of a transaction is replaced and dropped after the manifest:

    {"format": "memory-journal-1", "tx_id": "TX",
     "writes": {"notes/a.md": {"before": DIGEST or null, "target": DIGEST, "bytes": BASE64}},
     "before": MANIFEST, "after": MANIFEST}

`before` and `after` are whole manifest documents. This module only reads: completing a transaction is the gate's.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from workbench.core.hashing import sha256_hex
from workbench.markdown.errors import UnreadableSource
from workbench.memory.reading import read_stable
from workbench.memory.state import ManifestDamaged, StateManifest, manifest_of

JOURNAL_FORMAT = "memory-journal-1"
JOURNAL_FOLDER = ".memory/journal"
_MOST_BYTES = 1 << 30


class _Entry(NamedTuple):
    before: StateManifest
    after: StateManifest
    targets: dict[str, str]


def recover_manifest(root: Path) -> StateManifest | None:
    """The manifest that the newest readable journal entry stands for; None when there is no such entry.

    A transaction counts as done only when every file it writes is at its target: half of one is never current.
    """
    entries = [entry for path in _entry_files(root) if (entry := _read_entry(path)) is not None]
    if not entries:
        return None
    newest = max(entries, key=lambda entry: entry.after.record_state_version)
    done = all(_digest_of(root, ref) == target for ref, target in newest.targets.items())
    return newest.after if done else newest.before


def _entry_files(root: Path) -> list[Path]:
    try:
        return sorted((root / JOURNAL_FOLDER).glob("*.json"))
    except OSError:
        return []


def _read_entry(path: Path) -> _Entry | None:
    """One entry; None when it is damaged, that is, when its transaction never began."""
    try:
        document: Any = json.loads(read_stable(os.path.realpath(path), _MOST_BYTES).raw.decode("utf-8"))
        if document["format"] != JOURNAL_FORMAT:
            return None
        targets = {str(ref): str(write["target"]) for ref, write in document["writes"].items()}
        return _Entry(manifest_of(document["before"]), manifest_of(document["after"]), targets)
    except (UnreadableSource, ManifestDamaged, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _digest_of(root: Path, ref: str) -> str | None:
    """sha256 of a file under the root; None when it cannot be read or lies elsewhere."""
    path = os.path.realpath(root / ref)
    if not path.startswith(os.path.realpath(root) + os.sep):
        return None
    try:
        return sha256_hex(read_stable(path, _MOST_BYTES).raw)
    except UnreadableSource:
        return None
