"""Where cards go: taken off a page, put behind another one, or archived.

Pure, by the bytes: what is not moved keeps every byte. The archive page of `whiteboard/board.md` is
`whiteboard/archive/board.md`: an archived card stands there under its id, as it was, and can still be found.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from workbench.markdown.cards import BoardPage, Card

ARCHIVE_FOLDER = "archive"


def archive_of(source_ref: str) -> str:
    """The archive page of a page."""
    page = PurePosixPath(source_ref)
    return str(page.parent / ARCHIVE_FOLDER / page.name)


def is_archive(source_ref: str) -> bool:
    """Whether a page is an archive page."""
    return PurePosixPath(source_ref).parent.name == ARCHIVE_FOLDER


def card_bytes(page: BoardPage, card: Card, without_zones: Collection[bytes] = ()) -> bytes:
    """A card with its anchor, less those user zones, which stay where they are."""
    start, end = card.place.byte_start, card.place.byte_end
    pieces = []
    for zone in page.zones:
        if zone.raw in without_zones and start <= zone.span.byte_start and zone.span.byte_end <= end:
            pieces.append(page.raw[start : zone.span.byte_start])
            start = zone.span.byte_end
    return b"".join((*pieces, page.raw[start:end])).rstrip()


def without_card(page: BoardPage, card: Card) -> bytes:
    """The page less one card; the user zones in it stay."""
    line_end = line_end_of(page.raw)
    inside = [zone.raw for zone in page.zones if _within(zone.span.byte_start, card)]
    kept = b"".join(zone + 2 * line_end for zone in inside)
    return page.raw[: card.place.byte_start] + kept + page.raw[card.place.byte_end :]


def with_id(card: bytes, old_id: str, new_id: str) -> bytes:
    """The bytes of a card under another id."""
    anchor = re.compile(rb"(<!--\s*card:[^\S\n]*)" + re.escape(old_id.encode()))
    return anchor.sub(lambda found: found[1] + new_id.encode(), card, count=1)


def appended(page: bytes | None, text: bytes, opening: str = "") -> bytes:
    """The page with a text behind a blank line at its end, in its line ends. opening: of a page that is not there."""
    before = f"{opening}\n".encode() if page is None else page
    line_end = line_end_of(before)
    text = text.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    ended = before if not before or before.endswith(b"\n") else before + line_end
    return ended + (line_end if before.strip() else b"") + text + line_end


def line_end_of(raw: bytes) -> bytes:
    """The line end that a page is written with."""
    return b"\r\n" if b"\r\n" in raw else b"\n"


def _within(byte: int, card: Card) -> bool:
    return card.place.byte_start <= byte < card.place.byte_end
