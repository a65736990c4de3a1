"""The files of `.memory/`, which only the holder of the writer lock replaces; their new bytes wait in one place."""

from __future__ import annotations

from pathlib import Path

from workbench.storage.swapping import put_file, remove_file

OWN_FOLDER = ".memory"
_TEMPORARY = f"{OWN_FOLDER}/unfinished.mw-tmp"


def put_own(root: Path, ref: str, data: bytes, *, area: str) -> None:
    """Replace a file of `.memory/`; outlives a power cut. Raises: `StorageError("home_unwritable")`."""
    put_file(root / ref, data, temporary=root / _TEMPORARY, area=area)


def clear_unfinished(root: Path) -> None:
    """Remove what a killed writer left there. Raises: `StorageError("home_unwritable")`."""
    if (root / _TEMPORARY).exists():
        remove_file(root / _TEMPORARY, area="memory.temporary")
