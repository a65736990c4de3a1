"""The files of `.memory/`, which only the holder of the writer lock changes; their new bytes wait in one place.

A copied folder can bring links: nothing is written, moved or removed where one leads out of the memory root.
"""

from __future__ import annotations

import os
from pathlib import Path

from workbench.core.errors import StorageError
from workbench.storage.swapping import move_file, put_file, remove_file

OWN_FOLDER = ".memory"
_TEMPORARY = f"{OWN_FOLDER}/unfinished.mw-tmp"


def own_path(root: Path, ref: str) -> Path:
    """Where a file of `.memory/` stands. Raises: `StorageError("home_unwritable")` when that is outside the root."""
    path = root / ref
    if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(root)):
        message = f"A link leads from {path.parent} out of the memory root; put a folder in its place."
        raise StorageError("home_unwritable", message)
    return path


def put_own(root: Path, ref: str, data: bytes, *, area: str) -> None:
    """Replace a file of `.memory/`; outlives a power cut. Raises: `StorageError("home_unwritable")`."""
    put_file(own_path(root, ref), data, temporary=own_path(root, _TEMPORARY), area=area)


def remove_own(root: Path, ref: str, *, area: str) -> None:
    """Remove a file of `.memory/` for good. Raises: `StorageError("home_unwritable")`."""
    remove_file(own_path(root, ref), area=area)


def move_own(root: Path, ref: str, target: str, *, area: str) -> None:
    """Give a file of `.memory/` another place there. Raises: `StorageError("home_unwritable")`."""
    move_file(own_path(root, ref), own_path(root, target), area=area)


def clear_unfinished(root: Path) -> None:
    """Remove what a killed writer left there. Raises: `StorageError("home_unwritable")`."""
    if os.path.lexists(root / _TEMPORARY):
        remove_own(root, _TEMPORARY, area="memory.temporary")
