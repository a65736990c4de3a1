"""Where the cards go that leave a page: the page of the same name in the folder `archive` beside it."""

from __future__ import annotations

from pathlib import PurePosixPath

ARCHIVE_FOLDER = "archive"


def archive_of(source_ref: str) -> str:
    """The archive page of a page: `whiteboard/board.md` -> `whiteboard/archive/board.md`."""
    page = PurePosixPath(source_ref)
    return str(page.parent / ARCHIVE_FOLDER / page.name)


def is_archive(source_ref: str) -> bool:
    """Whether a page is an archive page."""
    return PurePosixPath(source_ref).parent.name == ARCHIVE_FOLDER
