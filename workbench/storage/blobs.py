"""Immutable bytes under the name of their own sha256, for their owner only.

What is read is what was written: every read is checked against the name. Never interprets the bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbench.core.errors import StorageError
from workbench.core.hashing import sha256_hex
from workbench.core.progress import Progress, no_progress
from workbench.storage.faults import step
from workbench.storage.files import atomic_write, owner_only_folder, sync_folder, writing

_SHA256 = re.compile("[0-9a-f]{64}")


class _Stamp(NamedTuple):
    """What changes when a file is written again."""

    place: str
    size: int
    changed_ns: int
    inode: int


class BlobStore:
    """The folder `blobs/<2 hex>/<sha256>` inside `folder`, made on the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "blobs"
        self._secured: dict[str, _Stamp] = {}

    def write(self, data: bytes, *, durable: bool = False) -> str:
        """Store the bytes and return their sha256; a blob that is there whole is left alone.

        Raises: `StorageError("home_unwritable")`; nothing half-written is left.
        """
        sha256 = sha256_hex(data)
        path = self._path(sha256)
        if not _holds(path, data):
            step("blobs.write")
            owner_only_folder(path.parent)
            atomic_write(path, data, durable=durable)
        return sha256

    def read(self, sha256: str) -> bytes:
        """The bytes of a blob. Raises: `StorageError("run_corpus_incomplete")` when it is missing or was changed."""
        try:
            data = self._path(sha256).read_bytes()
        except OSError as error:
            raise StorageError("run_corpus_incomplete", f"The archived body {sha256} is not readable.") from error
        if sha256_hex(data) != sha256:
            raise StorageError("run_corpus_incomplete", f"The archived body {sha256} was changed on disk.")
        return data

    def secure(self, names: Sequence[str], progress: Progress = no_progress) -> dict[str, str]:
        """Check blobs against their names and make them outlive a power cut; name → what is wrong with it.

        What this object secured before costs one look at the file, for as long as that stays as it is. progress: phase
        `freeze`. Raises: `StorageError("home_unwritable")` when the disk does not take them.
        """
        step("blobs.secure")
        broken: dict[str, str] = {}
        new: dict[str, _Stamp] = {}
        for done, sha256 in enumerate(names, start=1):
            try:
                if not self._is_secured(sha256):
                    new[sha256] = _stamp(self._path(sha256))
                    if sha256_hex(_read_and_sync(self._path(sha256))) != sha256:
                        broken[sha256] = "was changed on disk"
            except OSError:
                broken[sha256] = "is missing or not readable"
            progress("freeze", done, len(names))
        folders = {self._path(sha256).parent for sha256 in new}
        with writing(self.folder):
            for folder in folders and folders | {self.folder, self.folder.parent}:
                sync_folder(folder)
        self._secured |= {sha256: stamp for sha256, stamp in new.items() if sha256 not in broken}
        return broken

    def remove(self, sha256: str) -> None:
        """Remove a blob; one that is not there is no error. Raises: `StorageError("home_unwritable")`."""
        step("blobs.remove")
        path = self._path(sha256)
        with writing(path), suppress(FileNotFoundError):
            path.unlink()
            # What a killed write left is named after its blob.
            for leftover in path.parent.glob(f".{path.name}.*"):
                leftover.unlink(missing_ok=True)

    def _is_secured(self, sha256: str) -> bool:
        known = self._secured.get(sha256)
        return known is not None and _stamp(known.place) == known

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise StorageError("run_corpus_incomplete", f"{sha256[:80]!r} is not the sha256 of a body.")
        return self.folder / sha256[:2] / sha256


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file is there and whole; a power cut leaves files that are too short."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _stamp(path: Path | str) -> _Stamp:
    status = os.stat(path)  # noqa: PTH116 - a `Path` for each of many thousand bodies costs more than the look itself
    return _Stamp(str(path), status.st_size, status.st_mtime_ns, status.st_ino)


def _read_and_sync(path: Path) -> bytes:
    # Open for writing: some systems sync nothing else.
    with path.open("rb+") as file:
        with writing(path):
            os.fsync(file.fileno())
        return file.read()
