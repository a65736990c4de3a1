"""A folder that holds exactly the given files: what is already so is left alone, so that nobody reads it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.core.progress import Progress, no_progress
from workbench.storage.faults import step
from workbench.storage.files import atomic_write, owner_only_folder, writing


def mirror_files(root: Path, files: Mapping[str, bytes], progress: Progress = no_progress) -> None:
    """Make `root` hold these files (POSIX path -> bytes) and, of Markdown files, no others.

    progress: phase `write` in files. A killed call leaves a part, which the next one completes.
    Raises: `StorageError("home_unwritable")`.
    """
    owner_only_folder(root)
    for done, (name, data) in enumerate(files.items(), start=1):
        path = root / name
        if not _holds(path, data):
            step("mirror.write")
            owner_only_folder(path.parent)
            atomic_write(path, data, durable=False)
        progress("write", done, len(files))
    for path in [one for one in root.rglob("*.md") if one.relative_to(root).as_posix() not in files]:
        step("mirror.remove")
        with writing(path):
            path.unlink(missing_ok=True)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
