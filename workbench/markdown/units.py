"""A body -> its units: whole when it is short, else by sections, then by blocks, and only then by windows.

Units cover the body: every character that is not white space is in one. The limits are in `core.unit`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.core.tokens import count_tokens, window_spans
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


class _Section(NamedTuple):
    headings: tuple[str, ...]
    start: int
    blocks: list[Block]


class _Atom(NamedTuple):
    """What is not cut while it fits."""

    start: int
    end: int
    is_heading: bool


def cut_units(source: SourceText, region: Region, resource_id: str, description: str) -> tuple[Unit, ...]:
    """The units of one resource, its description first, then in the order of the text. A blank body has none."""
    return (*_description_units(source, region, resource_id, description), *_body_units(source, region, resource_id))


def _description_units(source: SourceText, region: Region, resource_id: str, description: str) -> Iterator[Unit]:
    if description:
        key = make_unit_key(resource_id, (), 1, DESCRIPTION_PART)
        span = source.span(region.start, region.end)
        tokens = count_tokens(description)
        yield Unit(key, resource_id, region.context, DESCRIPTION_PART, description, span, tokens)


def _body_units(source: SourceText, region: Region, resource_id: str) -> Iterator[Unit]:
    tokens = count_tokens(source.text[region.start : region.end])
    if tokens <= UNIT_TOKENS:
        if tokens:
            key = make_unit_key(resource_id, (), 1, ROOT_PART)
            yield _unit(source, key, resource_id, region.context, ROOT_PART, region.start, region.end)
        return
    seen: Counter[str] = Counter()
    for headings, ranges in _section_ranges(source, region):
        place = make_unit_key(resource_id, headings, 1, "")
        seen[place] += 1
        for number, (start, end) in enumerate(ranges, 1):
            key = make_unit_key(resource_id, headings, seen[place], str(number))
            yield _unit(source, key, resource_id, (*region.context, *headings), str(number), start, end)


def _unit(
    source: SourceText, key: str, resource_id: str, headings: tuple[str, ...], part: str, start: int, end: int
) -> Unit:
    span = source.span(start, end)
    text = source.clean(span)
    return Unit(key, resource_id, headings, part, text, span, count_tokens(text))


def _section_ranges(source: SourceText, region: Region) -> Iterator[tuple[tuple[str, ...], list[tuple[int, int]]]]:
    """The headings of each section with the ranges of its units."""
    sections = _sections(source, region)
    starts = [*(section.start for section in sections), region.end]
    for section, bounds in zip(sections, pairwise(starts), strict=True):
        start, end = source.trimmed(*bounds)
        if _tokens(source, start, end) <= SPAN_TOKENS:
            ranges = [(start, end)] if start < end else []
        else:
            ranges = list(_packs(source, list(_atoms(source, section.blocks, start, end))))
        yield section.headings, ranges


def _sections(source: SourceText, region: Region) -> list[_Section]:
    """A section begins at each heading. One without more joins the next, and the last such one the section before."""
    path: list[tuple[int, str]] = []
    sections = [_Section((), region.start, [])]
    own = next((block for block in region.blocks if block.is_heading), None) if region.owned else None
    for block in region.blocks:
        if block.is_heading and block is not own:
            path = [*(above for above in path if above[0] < block.level), (block.level, heading_text(block))]
            headings = tuple(text for _, text in path)
            if all(one.is_heading for one in sections[-1].blocks):
                sections[-1] = sections[-1]._replace(headings=headings)
            else:
                sections.append(_Section(headings, source.line_start(block.first), []))
        sections[-1].blocks.append(block)
    if len(sections) > 1 and all(block.is_heading for block in sections[-1].blocks):
        sections[-2].blocks.extend(sections.pop().blocks)
    return sections


def _atoms(source: SourceText, blocks: Sequence[Block], start: int, end: int) -> Iterator[_Atom]:
    """The blocks from start to end; lists, list items and quotes that do not fit are opened.

    Where no block is, link definitions are.
    """
    if not blocks:
        yield _Atom(start, end, is_heading=False)
        return
    starts = [start, *(source.line_start(block.first) for block in blocks[1:]), end]
    for block, (first, last) in zip(blocks, pairwise(starts), strict=True):
        if block.children and _tokens(source, first, last) > SPAN_TOKENS:
            yield from _atoms(source, block.children, first, last)
        else:
            yield _Atom(first, last, block.is_heading)


def _packs(source: SourceText, atoms: Sequence[_Atom]) -> Iterator[tuple[int, int]]:
    """Neighbours together up to the size of a unit; a heading stays with what follows while the two fit in a span."""
    pack: list[_Atom] = []
    for atom in atoms:
        if pack and not _joins(source, pack, atom):
            yield from _cut(source, pack[0].start, pack[-1].end)
            pack = []
        pack.append(atom)
    if pack:
        yield from _cut(source, pack[0].start, pack[-1].end)


def _joins(source: SourceText, pack: Sequence[_Atom], atom: _Atom) -> bool:
    together = _tokens(source, pack[0].start, atom.end)
    if all(one.is_heading for one in pack):
        return together <= SPAN_TOKENS or _tokens(source, atom.start, atom.end) > SPAN_TOKENS
    return together <= UNIT_TOKENS


def _cut(source: SourceText, start: int, end: int) -> Iterator[tuple[int, int]]:
    start, end = source.trimmed(start, end)
    text = source.text[start:end]
    if count_tokens(text) <= SPAN_TOKENS:
        yield start, end
        return
    for first, last in window_spans(text, UNIT_TOKENS, OVERLAP_TOKENS):
        yield start + first, start + last


def _tokens(source: SourceText, start: int, end: int) -> int:
    return count_tokens(source.text[start:end])
