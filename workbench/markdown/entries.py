"""Where one memory entry ends and the next begins: whole files, level-2 sections, cards.

Anchors are comments of their own (`<!-- memory:ID -->`, `<!-- card:ID -->`); inside a fence they are text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.markdown.blocks import Block, heading_text

SECTION_LEVEL, CARD_LEVEL = 2, 3
ID_CHARS = 200
_ANCHOR = re.compile(r"\s*<!--\s*(memory|card):[^\S\n]*(\S+)[^\S\n]*-->\s*")


class Page(NamedTuple):
    """The body of a file: its blocks and its lines (half-open), and whether front matter has a description of it."""

    blocks: Sequence[Block]
    first: int
    last: int
    is_described: bool


class Draft(NamedTuple):
    """One entry as a range of lines (half-open) with its blocks.

    claimed_id: by an anchor. heading: its own heading, the first heading block; None for a text without one.
    above: the heading of the page that it stands under, if any.
    """

    blocks: Sequence[Block]
    first: int
    last: int
    claimed_id: str | None = None
    heading: str | None = None
    above: tuple[str, ...] = ()


def whole_file(page: Page) -> list[Draft]:
    """The file as one entry."""
    return [Draft(page.blocks, page.first, page.last, memory_claim(page.blocks))]


def sections(page: Page) -> list[Draft]:
    """The level-2 sections, and what stands before the first or under a later level-1 heading.

    Such a text of headings alone is no entry, unless front matter describes it or nothing else is there: they name the
    sections below.
    """
    tops = [number for number, block in enumerate(page.blocks) if 0 < block.level <= SECTION_LEVEL]
    first = next((number for number in tops if page.blocks[number].level == SECTION_LEVEL), len(page.blocks))
    (lines, inside), *others = _parts(page, [_with_anchor(page.blocks, number) for number in tops if number >= first])
    titles = [heading_text(block) for block in inside if block.level == 1]
    above = tuple(titles[-1:])
    drafts = [Draft(inside, *lines, memory_claim(inside))] if page.is_described or _has_text(inside) else []
    for lines, inside in others:
        heading = next(block for block in inside if 0 < block.level <= SECTION_LEVEL)
        name, is_section = heading_text(heading), heading.level == SECTION_LEVEL
        if is_section or _has_text(inside):
            drafts.append(Draft(inside, *lines, memory_claim(inside), name, above if is_section else ()))
        above = above if is_section else (name,)
    return drafts or (whole_file(page) if page.blocks else [])


def cards(page: Page) -> list[Draft]:
    """The cards of a page. What is outside of cards is no entry, but a page without any card is one whole."""
    return card_drafts(page) or (whole_file(page) if page.blocks else [])


def card_drafts(page: Page) -> list[Draft]:
    """From a level-3 heading behind a card anchor to the next heading of that level or above; a page may have none."""
    blocks = page.blocks
    opened = {number + 1: _anchor(block, "card") for number, block in enumerate(blocks[:-1])}
    starts = {number: claim for number, claim in opened.items() if claim and blocks[number].level == CARD_LEVEL}
    stops = [number - (number in starts) for number, block in enumerate(blocks) if 0 < block.level <= CARD_LEVEL]
    stops.append(len(blocks))
    drafts = []
    for start, claim in starts.items():
        end = stops[bisect_right(stops, start)]
        end_line = blocks[end].first if end < len(blocks) else page.last
        inside = blocks[start:end]
        drafts.append(Draft(inside, blocks[start].first, end_line, claim, heading_text(blocks[start])))
    return drafts


def _parts(page: Page, cuts: Sequence[int]) -> Iterator[tuple[tuple[int, int], Sequence[Block]]]:
    """The lines and blocks from the top to the first cut, and from each cut to the next."""
    lines = [page.first, *(page.blocks[cut].first for cut in cuts), page.last]
    numbers = [0, *cuts, len(page.blocks)]
    return zip(pairwise(lines), (page.blocks[start:end] for start, end in pairwise(numbers)), strict=True)


def _with_anchor(blocks: Sequence[Block], number: int) -> int:
    """Where an entry begins: at its heading, or at an anchor right above that is not right below another heading."""
    if number == 0 or _anchor(blocks[number - 1], "memory") is None or not _touch(blocks, number - 1):
        return number
    below_another = number > 1 and blocks[number - 2].is_heading and _touch(blocks, number - 2)
    return number if below_another else number - 1


def _touch(blocks: Sequence[Block], number: int) -> bool:
    """Whether no blank line parts a block from the next."""
    return blocks[number].last == blocks[number + 1].first


def _has_text(blocks: Sequence[Block]) -> bool:
    return any(not block.is_heading for block in blocks)


def memory_claim(blocks: Sequence[Block]) -> str | None:
    """The first memory anchor, on a line of its own or in a heading."""
    return next((claim for block in blocks if (claim := _anchor(block, "memory"))), None)


def _anchor(block: Block, mark: str) -> str | None:
    """The id in a comment that a block is, or that a heading holds; too long ones are no ids."""
    if block.kind == "html_block":
        found = _ANCHOR.fullmatch(block.content)
    else:
        found = _ANCHOR.search(block.content) if block.is_heading else None
    return found[2] if found and found[1] == mark and len(found[2]) <= ID_CHARS else None
