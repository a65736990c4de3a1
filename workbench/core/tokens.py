"""How long a text is, by a fixed rule that needs no model: the project's own token counter.

The rule, in tenths of a token, then rounded up once for the whole text:

- a run of letters, with their marks: 2 a letter, at least 9 (a word of ten letters is two tokens);
- a CJK character: 7;
- a run of digits: 7, and 2 a digit;
- a run of `_`, or of anything else that is not white space: 11, and 3 a character;
- white space: nothing.

It was fitted to the multilingual E5 tokenizer on English, Chinese and code. A text never counts more than the sum of
its parts. Another rule is another counter and gets another name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sized
from functools import lru_cache
from itertools import accumulate

from workbench.core.text import CJK_RUN, MARKS

TOKEN_COUNTER = "mw-tokens-1"

_CJK = CJK_RUN.pattern[1:-2]
_MARK = re.compile(f"[{MARKS}]")
_FOREIGN_RUN = re.compile("[^\x00-\x7f]+")
_LETTER_RUN = re.compile(r"[^\W\d_]+")
_DIGIT_RUN = re.compile(r"\d+")
_OTHER_RUN = re.compile(r"[^\w\s]+|_+")
_ASCII_CLASSES = [
    bytes(code if re.match(kind, chr(code), re.ASCII) else ord(" ") for code in range(256))
    for kind in (r"[^\W\d_]", r"\d", r"[^\w\s\x1c-\x1f]", "_")
]
"""Tables that blank everything but letters, digits, other marks, or `_`."""
# A run of no end (minified code, a ruler) can be cut, but not before what belongs to the character in front of it.
_PIECE = re.compile(
    rf"(?:(?:[^\W\d_{_CJK}]|[{MARKS}]){{1,64}}|[{_CJK}]|\d{{1,32}}|[^\w\s{MARKS}]{{1,16}}|_{{1,16}})"
    f"(?:[{MARKS}\u200c\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d\\S?){{0,32}}"
)


class _LetterTenths(dict[int, int]):
    """Length of a run of letters -> its tenths."""

    def __missing__(self, length: int) -> int:
        return max(9, 2 * length)


_LETTER_TENTHS = _LetterTenths({length: max(9, 2 * length) for length in range(40)})


def count_tokens(text: str) -> int:
    """The length of a text in tokens of `TOKEN_COUNTER`; 0 only for blank text."""
    return -(-token_tenths(text) // 10)


def token_tenths(text: str) -> int:
    """The length in tenths, before it is rounded: of texts that white space parts, the exact sum."""
    if text.isascii():
        return _ascii_tenths(text.encode("ascii"))
    foreign = "".join(_FOREIGN_RUN.findall(text))
    cjk = sum(map(len, CJK_RUN.findall(foreign)))
    if cjk:
        text = CJK_RUN.sub(" ", text)
    if _MARK.search(foreign):
        text = _MARK.sub("a", text)
    letters = _letters(_LETTER_RUN.findall(text))
    return letters + 7 * cjk + _runs(_DIGIT_RUN, text, 7, 2) + _runs(_OTHER_RUN, text, 11, 3)


def window_spans(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """Character ranges of at most `size` tokens that cover the text, each sharing at most `overlap` with the next.

    A cut lies between words; only a run that is very long is cut inside, and no character is parted from its marks.
    Blank text has no window.
    """
    pieces = list(_PIECE.finditer(text))
    total = [0, *accumulate(_piece_tenths(piece.group()) for piece in pieces)]
    spans, first, last = [], 0, 0
    while last < len(pieces):
        last = max(first + 1, bisect_right(total, total[first] + size * 10) - 1)
        spans.append((pieces[first].start(), pieces[last - 1].end()))
        following = bisect_right(total, total[last] - overlap * 10 - 1)
        first = min(max(first + 1, following), last)
    return spans


def _ascii_tenths(raw: bytes) -> int:
    """The same rule where one table says what each byte is: most text, in a third of the time."""
    letters, *others = map(raw.translate, _ASCII_CLASSES)
    return _letters(letters.split()) + sum(map(_blanked, others, (7, 11, 11), (2, 3, 3)))


def _blanked(raw: bytes, each_run: int, each_character: int) -> int:
    return each_run * len(raw.split()) + each_character * (len(raw) - raw.count(b" "))


def _runs(pattern: re.Pattern[str], text: str, each_run: int, each_character: int) -> int:
    runs = pattern.findall(text)
    return each_run * len(runs) + each_character * sum(map(len, runs))


def _letters(runs: Iterable[Sized]) -> int:
    return sum(map(_LETTER_TENTHS.__getitem__, map(len, runs)))


_piece_tenths = lru_cache(maxsize=1 << 14)(token_tenths)
