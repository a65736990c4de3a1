"""What a page that knows no cards would look like with them: anchors for its level-3 headings, zones around its text.

Pure; proposes and never applies. Nobody said that the model may overwrite what stands on the page, so that all of it
which is in no card yet goes into user zones; the person moves the markers afterwards.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count

from workbench.core.hashing import digest, sha256_hex
from workbench.core.wire import Wire
from workbench.markdown.blocks import Block, heading_text
from workbench.markdown.cards import USER_BEGIN, USER_END, BoardPage, read_page
from workbench.markdown.entries import CARD_LEVEL
from workbench.markdown.source import open_page
from workbench.markdown.source_text import SourceText
from workbench.memory.whiteboard.places import line_end_of

_SLUG_CHARS = 60


class Migration(Wire):
    """A proposal. diff: unified, empty when nothing is to be done; digest: of what is shown, for applying it."""

    page: str
    cards: tuple[str, ...]
    zones: int
    diff: str
    digest: str


def propose(raw: bytes, taken: Collection[str]) -> bytes:
    """The page with anchors and zones added, and every byte that was there. taken: ids that no new card can get.

    Raises: `UnreadableSource`.
    """
    source = SourceText(raw)
    page, _ = open_page(source)
    board = read_page(raw)
    marks = dict(_marks(page.blocks, _settled_lines(board), {*taken, *(card.card_id for card in board.cards)}))
    line_end, pieces, start = line_end_of(raw), [], 0
    for line in sorted(marks):
        end = source.span(source.line_start(line), source.line_start(line)).byte_start
        text = "\n".join(marks[line])
        pieces += [raw[start:end], b"" if not line or raw[:end].endswith((b"\n", b"\r")) else line_end]
        pieces.append(text.encode().replace(b"\n", line_end) + line_end)
        start = end
    return b"".join((*pieces, raw[start:]))


def describe(page: str, raw: bytes, proposed: bytes) -> Migration:
    """What a person is shown before anything is done."""
    before, after = read_page(raw), read_page(proposed)
    known = {card.card_id for card in before.cards}
    names = (f"{page} (now)", f"{page} (proposed)")
    diff = difflib.unified_diff(_lines(raw), _lines(proposed), *names, lineterm="")
    return Migration(
        page=page,
        cards=tuple(card.card_id for card in after.cards if card.card_id not in known),
        zones=len(after.zones) - len(before.zones),
        diff="".join(f"{line}\n" for line in diff),
        digest=digest([page, sha256_hex(raw), sha256_hex(proposed)]),
    )


def _lines(raw: bytes) -> list[str]:
    return raw.decode("utf-8-sig").splitlines()


def _settled_lines(board: BoardPage) -> list[range]:
    """The lines, from 0, that cards and zones have already."""
    spans = (*(card.place for card in board.cards), *(zone.span for zone in board.zones))
    return [range(span.line_start - 1, span.line_end) for span in spans]


def _marks(blocks: Sequence[Block], settled: Sequence[range], taken: set[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines to put in, by the line, from 0, that they come before."""
    marks: dict[int, list[str]] = {}
    for run in _runs(blocks, settled):
        if run[0].is_heading and run[0].level == CARD_LEVEL:
            marks.setdefault(run[0].first, []).append(f"<!-- card:{_new_id(heading_text(run[0]), taken)} -->")
        elif any(block.kind != "html_block" for block in run):
            marks.setdefault(run[0].first, []).append(USER_BEGIN)
            marks.setdefault(run[-1].last, []).append(USER_END)
    yield from marks.items()


def _runs(blocks: Sequence[Block], settled: Sequence[range]) -> Iterator[list[Block]]:
    """Headings of cards and above, each by itself, and the texts between them; without what is settled."""
    run: list[Block] = []
    for block in blocks:
        is_settled = any(block.first < lines.stop and lines.start < block.last for lines in settled)
        is_border = is_settled or 0 < block.level <= CARD_LEVEL
        if is_border and run:
            yield run
            run = []
        if is_border and not is_settled and block.level == CARD_LEVEL:
            yield [block]
        elif not is_border:
            run.append(block)
    if run:
        yield run


def _new_id(title: str, taken: set[str]) -> str:
    """`card-` and the words of a title, in any script; numbered where that is taken."""
    slug = "-".join(re.findall(r"\w+", title.lower()))[:_SLUG_CHARS].strip("-") or "untitled"
    names = (f"card-{slug}" if number == 1 else f"card-{slug}-{number}" for number in count(1))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name
