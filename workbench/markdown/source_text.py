"""The bytes of a source as clean text, and any range of that text back as bytes and lines.

Clean means: UTF-8 decoded, no byte order mark, LF line ends, NFC. Lines of the text are lines of the source.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, pairwise

from workbench.core.resource import Span
from workbench.markdown.errors import ENCODING, NUL, UnreadableSource

_BOM = b"\xef\xbb\xbf"
_RAW_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_CARRIAGE_RETURN = re.compile("\r\n?")
_LEADING_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


class SourceText:
    """`text` is the clean text; a range of it is half-open, in characters. A line number starts at 0."""

    def __init__(self, raw: bytes) -> None:
        """Raises: `UnreadableSource` when the bytes are not UTF-8 or hold a NUL."""
        text = _decode(raw)
        self._as_written = "\r" not in text and unicodedata.is_normalized("NFC", text)
        self.text = text if self._as_written else _clean(text)
        self._raw = raw
        first_byte = len(_BOM) if raw.startswith(_BOM) else 0
        self._line_bytes = [*accumulate(map(len, _RAW_LINE.findall(raw, first_byte)), initial=first_byte), len(raw)]
        self._line_starts = [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))][:-1]

    @property
    def line_count(self) -> int:
        """How many lines there are; the one after a last line end counts."""
        return len(self._line_starts)

    def line_start(self, line: int) -> int:
        """Where a line begins; the end of the text for the line after the last."""
        return self._line_starts[line] if line < self.line_count else len(self.text)

    def line_of(self, position: int) -> int:
        """The line that a position lies in."""
        return bisect_right(self._line_starts, position) - 1

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """The range without blank lines around it and white space behind it; empty at `start` when all is blank."""
        end = start + len(self.text[start:end].rstrip())
        blank = _LEADING_BLANK_LINES.match(self.text, start, end)
        return (min(blank.end(), end) if blank else start), end

    def span(self, start: int, end: int) -> Span:
        """The bytes and lines of a range."""
        last = self.line_of(max(start, end - 1))
        return Span(self._byte_of(start), self._byte_of(end), self.line_of(start) + 1, last + 1)

    def clean(self, span: Span) -> str:
        """The clean text of a span's bytes."""
        text = self._raw[span.byte_start : span.byte_end].decode()
        return text if self._as_written else _clean(text)

    def _byte_of(self, position: int) -> int:
        line = self.line_of(position)
        start, end = self._line_bytes[line], self._line_bytes[line + 1]
        line_start = self._line_starts[line]
        prefix = self.text[line_start:position]
        if prefix and not self._as_written:
            written = self._raw[start:end].decode().rstrip("\r\n")
            if written != self.text[line_start : line_start + len(written)]:
                prefix = _written_prefix(written, len(prefix))
        return start + len(prefix.encode())


def _decode(raw: bytes) -> str:
    try:
        text = raw.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableSource(ENCODING) from error
    if "\x00" in text:
        raise UnreadableSource(NUL)
    return text


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", _CARRIAGE_RETURN.sub("\n", text))


def _written_prefix(line: str, length: int) -> str:
    """The part of a line, as written, whose NFC has `length` characters, or fewer where that would part a character."""
    starts, lengths = _stretches(line)
    return line[: starts[bisect_right(lengths, length) - 1]]


@lru_cache(maxsize=2)
def _stretches(line: str) -> tuple[list[int], list[int]]:
    """Where a line can be parted so that both sides normalise by themselves, and the NFC length up to there.

    Cached because one endless line has many units.
    """
    starts = [place for place, character in enumerate(line) if not place or not _may_compose(character)]
    stretches = (line[start:end] for start, end in pairwise([*starts, len(line)]))
    lengths = accumulate((len(unicodedata.normalize("NFC", stretch)) for stretch in stretches), initial=0)
    return [*starts, len(line)], list(lengths)


def _may_compose(character: str) -> bool:
    """Whether NFC can join a character to the one before: marks, and the vowels and finals of decomposed hangul."""
    return unicodedata.category(character).startswith("M") or "\u1160" <= character <= "\u11ff"
