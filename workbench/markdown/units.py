"""A body -> its units: whole when it is short, else by sections, then by blocks, and only then by windows.

Units cover the body: every character that is not white space is in one. The limits are in `core.unit`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.core.tokens import count_tokens, token_tenths, window_spans
from workbench.core.unit import DESCRIPTION_PART, OVERLAP_TOKENS, SPAN_TOKENS, UNIT_TOKENS, Unit, make_unit_key
from workbench.markdown.blocks import Block, heading_text
from workbench.markdown.source_text import SourceText

ROOT_PART = "root"


class Region(NamedTuple):
    """A trimmed range of the text with the blocks in it.

    context: the headings that stand above the region, its own included; owned: whether its first heading is that own
    one, which is then none of the headings inside.
    """

    start: int
    end: int
    blocks: Sequence[Block]
    context: tuple[str, ...] = ()
    owned: bool = False


class _Piece(NamedTuple):
    """A range that is not cut while it fits: the lines from one block to the next. tenths: of a token, which add up."""

    start: int
    end: int
    tenths: int
    block: Block | None = None

    @property
    def is_heading(self) -> bool:
        return self.block is not None and self.block.is_heading


class _Section(NamedTuple):
    headings: tuple[str, ...]
    pieces: list[_Piece]

    @property
    def only_headings(self) -> bool:
        """Headings come first, so that the last piece tells."""
        return not self.pieces or self.pieces[-1].is_heading


def cut_units(source: SourceText, region: Region, resource_id: str, description: str) -> tuple[Unit, ...]:
    """The units of one resource, its description first, then in the order of the text. A blank body has none."""
    units = list(_body_units(source, region, resource_id)) if region.start < region.end else []
    if description:
        key = make_unit_key(resource_id, (), 1, DESCRIPTION_PART)
        span, tokens = source.span(region.start, region.end), count_tokens(description)
        units.insert(0, Unit(key, resource_id, region.context, DESCRIPTION_PART, description, span, tokens))
    return tuple(units)


def _body_units(source: SourceText, region: Region, resource_id: str) -> Iterator[Unit]:
    pieces = _pieces(source, region.blocks, region.start, region.end)
    whole = _joined(pieces)
    if whole.tenths <= 10 * UNIT_TOKENS:
        key = make_unit_key(resource_id, (), 1, ROOT_PART)
        yield _unit(source, whole, key, resource_id, region.context, ROOT_PART)
        return
    seen: Counter[str] = Counter()
    for section in _sections(pieces, region.owned):
        place = make_unit_key(resource_id, section.headings, 1, "")
        seen[place] += 1
        for number, piece in enumerate(_parts(source, section), 1):
            key = make_unit_key(resource_id, section.headings, seen[place], str(number))
            yield _unit(source, piece, key, resource_id, (*region.context, *section.headings), str(number))


def _unit(source: SourceText, piece: _Piece, key: str, resource_id: str, headings: tuple[str, ...], part: str) -> Unit:
    span = source.span(*source.trimmed(piece.start, piece.end))
    return Unit(key, resource_id, headings, part, source.clean(span), span, -(-piece.tenths // 10))


def _pieces(source: SourceText, blocks: Sequence[Block], start: int, end: int) -> list[_Piece]:
    """The range cut before each block but the first, blank pieces apart. Where no block is, link definitions are.

    CommonMark takes a line of form feeds for a paragraph; it is as blank as any other white space.
    """
    cuts = [start, *(source.line_start(block.first) for block in blocks[1:]), end]
    owners: Sequence[Block | None] = blocks or [None]
    pieces = (
        _Piece(first, last, token_tenths(source.text[first:last]), block)
        for (first, last), block in zip(pairwise(cuts), owners, strict=True)
    )
    return [piece for piece in pieces if piece.tenths]


def _joined(pieces: Sequence[_Piece]) -> _Piece:
    return _Piece(pieces[0].start, pieces[-1].end, sum(piece.tenths for piece in pieces))


def _sections(pieces: Sequence[_Piece], owned: bool) -> list[_Section]:
    """A section begins at each heading. One without more joins the next, and the last such one the section before."""
    path: list[tuple[int, str]] = []
    sections = [_Section((), [])]
    own = next((piece.block for piece in pieces if piece.is_heading), None) if owned else None
    for piece in pieces:
        if piece.block is not None and piece.is_heading and piece.block is not own:
            level = piece.block.level
            path = [*(above for above in path if above[0] < level), (level, heading_text(piece.block))]
            headings = tuple(text for _, text in path)
            if sections[-1].only_headings:
                sections[-1] = sections[-1]._replace(headings=headings)
            else:
                sections.append(_Section(headings, []))
        sections[-1].pieces.append(piece)
    if len(sections) > 1 and sections[-1].only_headings:
        sections[-2].pieces.extend(sections.pop().pieces)
    return sections


def _parts(source: SourceText, section: _Section) -> Iterator[_Piece]:
    """A section whole while it fits in a span, else by blocks."""
    whole = _joined(section.pieces)
    if whole.tenths <= 10 * SPAN_TOKENS:
        yield whole
        return
    pack: list[_Piece] = []
    for piece in _opened(source, section.pieces):
        if pack and not _belongs(pack, piece):
            yield from _windows(source, _joined(pack))
            pack = []
        pack.append(piece)
    yield from _windows(source, _joined(pack))


def _opened(source: SourceText, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """The pieces, with the blocks inside of those lists, list items and quotes that do not fit."""
    for piece in pieces:
        if piece.tenths > 10 * SPAN_TOKENS and piece.block is not None and piece.block.children:
            yield from _opened(source, _pieces(source, piece.block.children, piece.start, piece.end))
        else:
            yield piece


def _belongs(pack: Sequence[_Piece], piece: _Piece) -> bool:
    """Neighbours stay together up to the size of a unit; a heading stays with what follows while both fit in a span."""
    together = _joined([*pack, piece]).tenths
    if all(one.is_heading for one in pack):
        return together <= 10 * SPAN_TOKENS or piece.tenths > 10 * SPAN_TOKENS
    return together <= 10 * UNIT_TOKENS


def _windows(source: SourceText, piece: _Piece) -> Iterator[_Piece]:
    if piece.tenths <= 10 * SPAN_TOKENS:
        yield piece
        return
    text = source.text[piece.start : piece.end]
    for first, last in window_spans(text, UNIT_TOKENS, OVERLAP_TOKENS):
        yield _Piece(piece.start + first, piece.start + last, token_tenths(text[first:last]))
