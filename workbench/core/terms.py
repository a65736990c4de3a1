"""The one tokenisation of the word index, for texts and for queries: whatever is written finds itself.

- Words are lower-cased in NFKC and stemmed (Snowball English); accents stay.
- What joins words (`DEC-0054`, `apply_secrets.py`, `20.04`, `don't`, `C#`) is a term, and so is each of its parts.
  `camelCase` and `gpt4` are taken apart too.
- A run of CJK characters (or of another script without spaces) becomes its bigrams and its last character, so that each
  character begins a term. A query of one such character asks for a prefix.
- An emoji is a term.

No character is syntax. A text without any term is possible (`?`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from workbench.core.text import CJK_RUN, MARKS

TERMS_VERSION = "words-1"
"""Names these rules; an index made by others is built anew, since terms cannot be taken out of it by these."""

TERM_CHARS = 64
"""Longer terms are cut, in texts and in queries alike."""
_CACHED_CHARS, _CACHED_WORDS = 80, 1 << 16
_MOST_HUMPS = 6
"""A word of more humps is no camelCase but a digest or an encoded blob."""

_UNSPACED = CJK_RUN.pattern[1:-2] + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_JOINER = r"[-./:@'+#&]"
_ASCII_WORD = re.compile(rf"\w+(?:{_JOINER}+\w+)*[+#]*", re.ASCII)
_LETTER = rf"[^\W{_UNSPACED}]"
_WORD = re.compile(rf"{_LETTER}+(?:{_JOINER}+{_LETTER}+)*[+#]*")
_MARK = re.compile(f"(?![{_UNSPACED}])[{MARKS}]")
_MARKED_LETTER = rf"(?:{_LETTER}|{_MARK.pattern})"
_MARKED_WORD = re.compile(rf"{_MARKED_LETTER}+(?:{_JOINER}+{_MARKED_LETTER}+)*[+#]*")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_EMOJI = re.compile("[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_HYPHENATION = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_SEGMENT, _PART = re.compile(r"[./:@+#&]+"), re.compile("[-_./:@'+#&]+")
_HUMP = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_COMMON_ENGLISH = """
a about after all also am an and any are as at be because been before being but by can could did do does doing for
from had has have having he her here hers him his how i if in into is it its just me more most my no not of on or our
out over own s she should so some such t than that the their them then there these they this those through to too
under until up us very was we were what when where which while who whom why will with would you your i'm i've i'd i'll
you're it's that's what's don't doesn't didn't isn't aren't wasn't can't won't there's let's
"""
_STOP_WORDS = frozenset(_COMMON_ENGLISH.split())


class QueryTerm(NamedTuple):
    """A term of a query. prefix: every term that begins with it is meant."""

    text: str
    prefix: bool = False


def index_terms(text: str) -> list[str]:
    """All terms of a text with their repetitions; how many they are is its length. The order means nothing."""
    if text.isascii():
        return list(chain.from_iterable(map(_terms_of, _ASCII_WORD.findall(text))))
    text = _normal(text)
    terms = list(chain.from_iterable(map(_terms_of, _words(text))))
    for run in _UNSPACED_RUN.findall(text):
        terms += [run[at : at + 2] for at in range(len(run))]
    return terms + _EMOJI.findall(text)


def query_terms(text: str) -> list[QueryTerm]:
    """The distinct terms of a query, in order; common English words only when nothing else is there."""
    text = _normal(text)
    words = _words(text)
    telling = [word for word in words if word.lower() not in _STOP_WORDS]
    runs = _UNSPACED_RUN.findall(text)
    others = [*chain.from_iterable(map(_query_terms_of_run, runs)), *map(QueryTerm, _EMOJI.findall(text))]
    spoken = telling if telling or others else words
    return list(dict.fromkeys([*map(QueryTerm, chain.from_iterable(map(_terms_of, spoken))), *others]))


def term_spans(text: str, terms: Sequence[QueryTerm]) -> list[tuple[int, int]]:
    """Where a text has one of these terms: (start, end) in characters of the text as it is, in order, apart.

    A word counts as a whole when one of its terms is meant.
    """
    meant = {term.text for term in terms if not term.prefix}
    beginnings = {term.text for term in terms if term.prefix}
    found: list[tuple[int, int]] = []
    pattern = _MARKED_WORD if _MARK.search(text) else _WORD
    for word in pattern.finditer(text):
        if not meant.isdisjoint(_terms_of(word[0] if word[0].isascii() else _normal(word[0]))):
            found.append(word.span())
    for run in _UNSPACED_RUN.finditer(text):
        for at in range(run.start(), run.end()):
            if text[at : at + 2] in meant and at + 2 <= run.end():
                found.append((at, at + 2))
            elif text[at] in beginnings:
                found.append((at, at + 1))
    found += [emoji.span() for emoji in _EMOJI.finditer(text) if emoji[0] in meant]
    return _joined(sorted(found))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch or overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _query_terms_of_run(run: str) -> list[QueryTerm]:
    if len(run) == 1:
        return [QueryTerm(run, prefix=True)]
    return [QueryTerm(run[at : at + 2]) for at in range(len(run) - 1)]


def _normal(text: str) -> str:
    return _HYPHENATION.sub("", unicodedata.normalize("NFKC", text).replace("\u2019", "'"))


def _words(text: str) -> list[str]:
    return (_MARKED_WORD if _MARK.search(text) else _WORD).findall(text)


def _terms_of(word: str) -> tuple[str, ...]:
    """The terms of one word with its joiners. A word of any length is taken, only the usual ones are remembered."""
    return _remembered(word) if len(word) <= _CACHED_CHARS else tuple(dict.fromkeys(_split(word)))


@lru_cache(maxsize=_CACHED_WORDS)
def _remembered(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_split(word)))


def _split(word: str) -> Iterator[str]:
    parts = [part for part in _PART.split(word) if part]
    if parts and parts != [word]:
        yield word.lower()[:TERM_CHARS]
        yield from (part.lower()[:TERM_CHARS] for part in _SEGMENT.split(word) if _PART.search(part))
    for part in parts:
        if len(parts) == 1 or part.lower() not in _CLITICS:
            yield _stem(part)
        humps = _HUMP.findall(part) if part.isascii() and len(part) <= TERM_CHARS else []
        if 1 < len(humps) <= _MOST_HUMPS:
            yield from map(_stem, humps)


def _stem(word: str) -> str:
    return str(_stemmer()(word.lower()[:TERM_CHARS]))


@cache
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    # Its own cache would be a second one behind `_remembered`.
    stem: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem
