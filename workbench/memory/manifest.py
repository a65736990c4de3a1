"""Reading the state manifest of a memory root: recovered where it can be, reported where not, never guessed.

A damaged manifest never reads as "all current"; a missing one does only where none is known to have been, and no
transaction is under way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from workbench.core.errors import StorageError
from workbench.markdown.errors import UnreadableSource
from workbench.memory.journal import recover_manifest
from workbench.memory.reading import VANISHED, changed_ns, is_settled, read_stable
from workbench.memory.state import ManifestDamaged, StateManifest, parse_manifest

__all__ = ["MANIFEST_PATH", "ManifestReader", "StateManifest", "read_manifest", "stored_manifest"]

MANIFEST_PATH = ".memory/state.json"
_MOST_BYTES = 1 << 30


def read_manifest(root: Path, seen_version: int = 0) -> StateManifest:
    """The manifest of a memory root, recovered from the journal when it is damaged or lost in a transaction.

    seen_version: the record_state_version that an index has seen; above 0 a manifest has been there.
    Raises: `StorageError("state_damaged")` when no journal entry can say what it held: never "all current".
    """
    path = root / MANIFEST_PATH
    try:
        return _parsed(root)
    except (UnreadableSource, ManifestDamaged) as error:
        recovered = recover_manifest(root)
        if recovered is not None:
            return recovered
        is_gone = isinstance(error, UnreadableSource) and error.reason == VANISHED and not path.is_symlink()
        if is_gone and seen_version == 0:
            return StateManifest()
        message = f"The state manifest {path} is damaged ({error}); restore it from a copy or from version control."
        raise StorageError("state_damaged", message) from error


def stored_manifest(root: Path) -> StateManifest | None:
    """The manifest that the file itself holds; None when it is missing or holds none.

    Raises: `StorageError("state_damaged")` when it is there and cannot be read at all.
    """
    try:
        return _parsed(root)
    except ManifestDamaged:
        return None
    except UnreadableSource as error:
        if error.reason == VANISHED:
            return None
        message = f"The state manifest {root / MANIFEST_PATH} cannot be read ({error}); make it readable."
        raise StorageError("state_damaged", message) from error


def _parsed(root: Path) -> StateManifest:
    return parse_manifest(read_stable(os.path.realpath(root / MANIFEST_PATH), _MOST_BYTES).raw)


class ManifestReader:
    """The manifest of one root, read again only when its file changed: one stat a call.

    seen_version: as in `read_manifest`, asked only when there is no file.
    """

    def __init__(self, root: Path, seen_version: Callable[[], int] = lambda: 0) -> None:
        self._root, self._path, self._seen_version = root, root / MANIFEST_PATH, seen_version
        self._known: tuple[tuple[int, int, int], StateManifest] | None = None

    def __call__(self) -> StateManifest:
        """The manifest as it is now.

        Raises: `StorageError("state_damaged")`.
        """
        key = self._key()
        settled = key is not None and is_settled(key[0])
        if self._known is not None and self._known[0] == key:
            return self._known[1]
        manifest = read_manifest(self._root, 0 if key else self._seen_version())
        self._known = (key, manifest) if key is not None and settled else None
        return manifest

    def _key(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return changed_ns(status), status.st_size, status.st_ino
