"""The bytes of a source as clean text, and any range of that text back as bytes and lines.

Clean means: UTF-8 decoded, no byte order mark, LF line ends, NFC. Lines of the text are lines of the source.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate, pairwise

from workbench.core.resource import Span
from workbench.markdown.errors import ENCODING, NUL, UnreadableSource

_BOM = b"\xef\xbb\xbf"
_RAW_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_CARRIAGE_RETURN = re.compile("\r\n?")
_LEADING_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_NEVER_COMPOSES = re.compile("[\x00-\x7f\u4e00-\u9fff]")


class SourceText:
    """`text` is the clean text; a range of it is half-open, in characters. A line number starts at 0."""

    def __init__(self, raw: bytes) -> None:
        """Raises: `UnreadableSource` when the bytes are not UTF-8 or hold a NUL."""
        text = _decode(raw)
        self._as_written = "\r" not in text and unicodedata.is_normalized("NFC", text)
        self.text = text if self._as_written else _clean(text)
        self._raw = raw
        first_byte = len(_BOM) if raw.startswith(_BOM) else 0
        self._line_bytes = [first_byte, *accumulate(map(len, _RAW_LINE.findall(raw, first_byte)), initial=first_byte)][
            1:
        ]
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
        return _clean(self._raw[span.byte_start : span.byte_end].decode())

    def _byte_of(self, position: int) -> int:
        line = self.line_of(position)
        start = self._line_bytes[line] if line < len(self._line_bytes) else len(self._raw)
        offset = position - self._line_starts[line]
        if not offset:
            return start
        if self._as_written:
            return start + len(self.text[position - offset : position].encode())
        end = self._line_bytes[line + 1] if line + 1 < len(self._line_bytes) else len(self._raw)
        return start + len(_written_prefix(self._raw[start:end].decode(), offset).encode())


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
    """The part of a line, as written, whose NFC has `length` characters, or a little fewer where a cut cannot be told.

    Characters that never compose with what is in front of them part the line in stretches that normalise by themselves.
    """
    starts = [0, *(found.start() for found in _NEVER_COMPOSES.finditer(line)), len(line)]
    lengths = accumulate(len(unicodedata.normalize("NFC", line[a:b])) for a, b in pairwise(starts))
    known = bisect_right(list(lengths), length)
    return line[: starts[known]]
