"""A whiteboard page -> its cards, and the zones that only the person edits, byte for byte.

Pure, and never refuses a page for its structure: what is wrong with it is a fault with a place. Anchors and markers
inside a fence are text. What a card is stands in `entries`; here is where it lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from workbench.core.resource import Span
from workbench.markdown.blocks import Block
from workbench.markdown.entries import Page, card_drafts
from workbench.markdown.source import open_page
from workbench.markdown.source_text import SourceText

USER_BEGIN, USER_END = "<!-- user:begin -->", "<!-- user:end -->"
_MARKER = re.compile(r"<!--[^\S\n]*user:(begin|end)[^\S\n]*-->")


@dataclass(frozen=True, slots=True)
class Card:
    """One card. span and body are those of its resource; place: the span with the anchor and the blank lines behind."""

    card_id: str
    title: str
    body: str
    span: Span
    place: Span


class UserZone(NamedTuple):
    """One zone, from its first marker to its last. raw: the bytes; a zone that is never closed reaches to the end."""

    raw: bytes
    span: Span

    @property
    def is_blank(self) -> bool:
        """Whether nobody has written into it."""
        return not _MARKER.sub("", self.raw.decode()).strip()


class PageFault(NamedTuple):
    """What is wrong with the structure of a page. rule: a stable word; line: from 1."""

    rule: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class BoardPage:
    """A page in the order of the file."""

    raw: bytes
    cards: tuple[Card, ...]
    zones: tuple[UserZone, ...]
    faults: tuple[PageFault, ...]


def read_page(raw: bytes) -> BoardPage:
    """The cards, zones and faults of a page; of cards with one id all are there, and the later ones are faults.

    Raises: `UnreadableSource` with the reason `encoding`, `nul` or `front_matter`.
    """
    source = SourceText(raw)
    page, _ = open_page(source)
    cards = tuple(_cards(source, page))
    zones, zone_faults = _zones(source, raw, page.blocks)
    return BoardPage(raw, cards, tuple(zones), (*_repeated(cards), *zone_faults))


def _cards(source: SourceText, page: Page) -> Iterator[Card]:
    anchors = {heading.first: anchor.first for anchor, heading in pairwise(page.blocks)}
    for draft in card_drafts(page):
        span = source.span(*source.trimmed(source.line_start(draft.first), source.line_start(draft.last)))
        place = source.span(source.line_start(anchors[draft.first]), source.line_start(draft.last))
        yield Card(draft.claimed_id or "", draft.heading or "", source.clean(span), span, place)


def _repeated(cards: Sequence[Card]) -> Iterator[PageFault]:
    first_at: dict[str, int] = {}
    for card in cards:
        line = card.place.line_start
        if card.card_id in first_at:
            message = f"the id {card.card_id} stands on line {first_at[card.card_id]} already; take another one"
            yield PageFault("duplicate_id", line, message)
        first_at.setdefault(card.card_id, line)


def _zones(source: SourceText, raw: bytes, blocks: Sequence[Block]) -> tuple[list[UserZone], list[PageFault]]:
    zones: list[UserZone] = []
    faults: list[PageFault] = []
    begun: int | None = None

    def zone(start: int, end: int) -> UserZone:
        span = source.span(start, end)
        return UserZone(raw[span.byte_start : span.byte_end], span)

    for marker in _markers(source, blocks):
        line = source.line_of(marker.start()) + 1
        if marker[1] == "begin" and begun is not None:
            faults.append(PageFault("zone_nested", line, "a user zone begins inside another one; close that one first"))
        elif marker[1] == "begin":
            begun = marker.start()
        elif begun is None:
            faults.append(PageFault("zone_not_begun", line, f"a user zone ends that never began; add {USER_BEGIN}"))
        else:
            zones.append(zone(begun, marker.end()))
            begun = None
    if begun is not None:
        line = source.line_of(begun) + 1
        faults.append(PageFault("zone_not_closed", line, f"a user zone is never closed; add {USER_END} behind it"))
        zones.append(zone(begun, len(source.text)))
    return zones, faults


def _markers(source: SourceText, blocks: Sequence[Block]) -> Iterator[re.Match[str]]:
    """The markers in HTML blocks, those in lists and quotes included, in the order of the text."""
    for block in blocks:
        if block.kind == "html_block":
            yield from _MARKER.finditer(source.text, source.line_start(block.first), source.line_start(block.last))
        yield from _markers(source, block.children)
