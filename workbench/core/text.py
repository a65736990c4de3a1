"""What counts as text: one normal form, no NUL, no half characters, and one-line extracts cut at a boundary.

Pure. Every text that is stored, hashed or searched passes `clean_text` first: the same words are the same bytes.
"""

from __future__ import annotations

import re
import unicodedata

# Han, kana, hangul, bopomofo and their extensions: scripts written without spaces between words (or, for hangul, with
# particles glued on), where a run of characters is searched by its bigrams.
CJK_RUN = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3040-\u30ff\u3105-\u312f"
    "\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]+"
)
# The inside of a character class: combining marks, and whole the scripts of South and South-East Asia, where Python's
# `\w` would part vowel signs from their consonants.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed"
    "\u0900-\u0963\u0971-\u0de5\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ece\u0f18-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_PROSE = re.compile(r"(?:\s*(?:#{1,6}(?:[^\S\n][^\n]*)?|<!--.*?-->)(?:\n|\Z))+", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")


def clean_text(text: str) -> str:
    """Text in Unicode NFC; NUL and lone surrogates become U+FFFD, so that one bad character never stops a run."""
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text.replace("\x00", "\ufffd")))


def is_valid_unicode(text: str) -> bool:
    """Whether the text has no lone surrogate, that is, whether UTF-8 can hold it."""
    return _SURROGATE.search(text) is None


def counted(count: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut to at most `limit` characters at a word or CJK boundary; a cut ends in `…`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    if not (CJK_RUN.match(line[limit - 1]) or CJK_RUN.match(head[-1])) and " " in head and line[limit - 1] != " ":
        head = head[: head.rindex(" ")]
    return head.rstrip() + "…"


def first_sentence(text: str) -> str:
    """The text behind opening headings and comments, up to its first sentence end or line break; empty without any."""
    headings = _NO_PROSE.match(text)
    return _SENTENCE_END.split(text[headings.end() if headings else 0 :].strip(), maxsplit=1)[0].strip()
