"""Folders and files that only their owner can read, replaced whole or not at all.

Never writes into an existing file: a reader sees the old bytes or the new ones.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.core.errors import StorageError

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def owner_only_folder(path: Path) -> Path:
    """The folder, made with its parents where it is missing; what is made here has mode 0700.

    Raises: `StorageError("home_unwritable")`.
    """
    with writing(path):
        missing = [path, *path.parents]
        for folder in reversed([folder for folder in missing if not folder.exists()]):
            folder.mkdir(FOLDER_MODE, exist_ok=True)
    return path


def atomic_write(path: Path, data: bytes, *, durable: bool) -> None:
    """Replace the file by `data` in one step, mode 0600; with `durable` it also outlives a power cut.

    Raises: `StorageError("home_unwritable")`; the old file is then untouched and nothing is left beside it.
    """
    with writing(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(name).unlink()
            raise
        if durable:
            sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder outlive a power cut; a system without such a call is left alone."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The one place where a failed write to the home becomes `StorageError("home_unwritable")`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StorageError("home_unwritable", f"Make {path} writable and try again: {reason}.") from error
