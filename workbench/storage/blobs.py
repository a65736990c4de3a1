"""Immutable bytes under the name of their own sha256, for their owner only.

What is read is what was written: every read is checked against the name. Never interprets the bytes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from workbench.core.errors import StorageError
from workbench.core.hashing import sha256_hex
from workbench.storage.faults import step
from workbench.storage.files import atomic_write, owner_only_folder, writing

_SHA256 = re.compile("[0-9a-f]{64}")


class BlobStore:
    """The folder `blobs/<2 hex>/<sha256>` inside `folder`, made on the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "blobs"

    def write(self, data: bytes, *, durable: bool = False) -> str:
        """Store the bytes and return their sha256; a blob that is there with its full size is left alone.

        Raises: `StorageError("home_unwritable")`; nothing half-written is left.
        """
        sha256 = sha256_hex(data)
        if not self.has(sha256, len(data)):
            step("blobs.write")
            path = self._path(sha256)
            owner_only_folder(path.parent)
            atomic_write(path, data, durable=durable)
        return sha256

    def has(self, sha256: str, byte_size: int) -> bool:
        """Whether a blob of this name and size is there; a power cut leaves files that are too short."""
        try:
            return self._path(sha256).stat().st_size == byte_size
        except OSError:
            return False

    def read(self, sha256: str) -> bytes:
        """The bytes of a blob. Raises: `StorageError("run_corpus_incomplete")` when it is missing or was changed."""
        try:
            data = self._path(sha256).read_bytes()
        except OSError as error:
            raise StorageError("run_corpus_incomplete", f"The archived body {sha256} is not readable.") from error
        if sha256_hex(data) != sha256:
            raise StorageError("run_corpus_incomplete", f"The archived body {sha256} was changed on disk.")
        return data

    def remove(self, sha256: str) -> None:
        """Remove a blob; one that is not there is no error. Raises: `StorageError("home_unwritable")`."""
        step("blobs.remove")
        path = self._path(sha256)
        with writing(path), suppress(FileNotFoundError):
            path.unlink()
            # What a killed write left is named after its blob.
            for leftover in path.parent.glob(f".{path.name}.*"):
                leftover.unlink(missing_ok=True)

    def _path(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise StorageError("run_corpus_incomplete", f"{sha256[:80]!r} is not the sha256 of a body.")
        return self.folder / sha256[:2] / sha256
