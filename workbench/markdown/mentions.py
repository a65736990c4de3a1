"""What a text refers to: its links, the names that it mentions, and the terms that a glossary defines.

Pure. Code (fences, indented code, code spans) is no prose and refers to nothing; NFC text in, as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from workbench.core.text import CJK_RUN
from workbench.markdown.blocks import Block
from workbench.markdown.source import open_page
from workbench.markdown.source_text import SourceText

_CODE = frozenset({"fence", "code_block"})
_BACKTICKS = re.compile("`+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_LINK = re.compile(
    r"\[\[([^\[\]\n]+)\]\]"  # [[target]], [[target|text]]
    r"|\]\(\s*<?([^\s<>()]+)"  # [text](target)
    r"|^[ ]{0,3}\[[^\[\]\n]+\]:[^\S\n]*<?([^\s<>]+)",  # [label]: target
    re.MULTILINE,
)
_DEFINITION = re.compile(r"[-*+]\s+(.+?)\s*(?:[:：]|\s[—–-]\s)")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_NAME_BORDER = re.compile(r"[,，、;；]")
_MARKUP = "*_` \t"
_RUN = re.compile(r"\w+")
_CJK = CJK_RUN.pattern.removesuffix("+")
_CJK_OR_RUN = re.compile(rf"{_CJK}|(?:(?!{_CJK})\w)+")


class Prose(NamedTuple):
    """A body with its code blanked out, at the positions and lines of the clean text. fields: of the front matter."""

    text: str
    fields: dict[str, str]
    blocks: Sequence[Block]
    source: SourceText

    def lines(self, first: int, last: int) -> str:
        """The text of these lines, from 1 and inclusive."""
        return self.text[self.source.line_start(first - 1) : self.source.line_start(last)]


class Term(NamedTuple):
    """One entry of a glossary: all the names of one thing, and its line, from 1."""

    names: tuple[str, ...]
    line: int


def read_prose(raw: bytes) -> Prose:
    """The prose of a source. Raises: `UnreadableSource`."""
    source = SourceText(raw)
    page, fields = open_page(source)
    text = list(source.text)
    for block in _code(page.blocks):
        _blank(text, source.line_start(block.first), source.line_start(block.last))
    for start, end in _code_spans("".join(text)):
        _blank(text, start, end)
    _blank(text, 0, source.line_start(page.first))
    return Prose("".join(text), dict(fields), page.blocks, source)


def links_in(prose: str) -> frozenset[str]:
    """What is linked to: of `[[card-x|that]]`, `[that](board.md#card-x)` and `[that]: #card-x` the whole and the part
    behind `#`."""
    targets: set[str] = set()
    for link in _LINK.finditer(prose):
        wiki, *others = link.groups()
        target = wiki.partition("|")[0] if wiki else unquote(next(filter(None, others)))
        targets |= {target.strip(), target.rpartition("#")[2].strip()}
    return frozenset(targets)


def find_mention(name: str, prose: str) -> int | None:
    """Where a name first stands in a text as words of its own; CJK text has no words, there it just stands."""
    if name not in prose:
        return None
    before = "" if CJK_RUN.match(name[0]) else r"(?<!\w)"
    after = "" if CJK_RUN.match(name[-1]) else r"(?!\w)"
    found = re.search(f"{before}{re.escape(name)}{after}", prose)
    return None if found is None else found.start()


class Mentions:
    """Texts by the words in them, so that a name is looked for only where all its words are."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._having: dict[str, set[int]] = {}
        for number, text in enumerate(texts):
            for word in set(_words(text)):
                self._having.setdefault(word, set()).add(number)

    def find(self, name: str) -> Iterator[tuple[int, int]]:
        """The texts that name it, by number, each with the place of the first mention; in their order."""
        having = sorted((self._having.get(word, set()) for word in set(_words(name))), key=len)
        for number in sorted(having[0].intersection(*having[1:])) if having else range(len(self._texts)):
            at = find_mention(name, self._texts[number])
            if at is not None:
                yield number, at


def glossary_terms(prose: Prose) -> Iterator[Term]:
    """The terms of a glossary page: rows of its tables (the last column is the meaning), and `- term: meaning`.

    Names of one thing are parted by commas and by columns.
    """
    for block in prose.blocks:
        lines = prose.source.text[prose.source.line_start(block.first) : prose.source.line_start(block.last)].split(
            "\n"
        )
        if block.kind == "table":
            for line, row in enumerate(lines[2:], block.first + 3):
                cells = _CELL_BORDER.split(row.strip().removeprefix("|").removesuffix("|"))
                yield from _term(cells[:-1] or cells, line)
        elif block.kind == "bullet_list":
            for line, item in enumerate(lines, block.first + 1):
                if defined := _DEFINITION.match(item):
                    yield from _term([defined[1]], line)


def _words(text: str) -> Iterator[str]:
    """Runs of letters and digits; CJK characters one by one, since there is no telling where a name ends there."""
    for run in _RUN.findall(text):
        if run.isascii():
            yield run
        else:
            yield from _CJK_OR_RUN.findall(run)


def _term(cells: Sequence[str], line: int) -> Iterator[Term]:
    names = (name.strip(_MARKUP) for cell in cells for name in _NAME_BORDER.split(cell))
    if named := tuple(name for name in names if name):
        yield Term(named, line)


def _code(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind in _CODE:
            yield block
        yield from _code(block.children)


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """From one run of backticks to the next as long in the same paragraph; linear, whatever runs there are."""
    borders = [0, *(line.start() for line in _BLANK_LINE.finditer(text)), len(text)]
    for first, last in pairwise(borders):
        runs = [run.span() for run in _BACKTICKS.finditer(text, first, last)]
        same: dict[int, int] = {}
        closers = [0] * len(runs)
        for number in reversed(range(len(runs))):
            length = runs[number][1] - runs[number][0]
            closers[number] = same.get(length, 0)
            same[length] = number
        number = 0
        while number < len(runs):
            if closers[number]:
                yield runs[number][0], runs[closers[number]][1]
                number = closers[number]
            number += 1


def _blank(text: list[str], start: int, end: int) -> None:
    text[start:end] = ["\n" if character == "\n" else " " for character in text[start:end]]
