"""The contract's lexical arm: bare trigram recall by FTS5. Substrings, no linguistics; kept for comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.core.limits import Limits
from workbench.core.resource import Scope
from workbench.core.text import CJK_RUN
from workbench.retrieval.ranking import Hit
from workbench.storage.index_reader import IndexReader

WINDOW_CHARS = 3
COUNTED = 10_000
"""Units up to which a term's frequency is counted: beyond, all terms are equally common."""
# A CJK run, or words joined by single marks (`DEC-0054`, `don't`, `Downloads/transcripts`), which trigrams find whole.
_RUN = re.compile(
    rf"{CJK_RUN.pattern}|(?:(?!{CJK_RUN.pattern[:-1]})\w)+(?:[-./:@#+'](?:(?!{CJK_RUN.pattern[:-1]})\w)+)*"
)


def search_trigrams(reader: IndexReader, query: str, limits: Limits, scopes: tuple[Scope, ...] | None) -> list[Hit]:
    """The best units for an OR of the query's terms, of which the rarest count."""
    terms = contract_terms(query, limits.cjk_windows)
    if len(terms) > limits.query_terms:
        frequencies = {term: reader.trigram_frequency(match_expression([term]), COUNTED) for term in terms}
        terms = sorted(terms, key=lambda term: (frequencies[term], term))[: limits.query_terms]
    if not terms:
        return []
    return [Hit(row, score) for row, score in reader.trigram_search(match_expression(terms), limits.arm_width, scopes)]


def contract_terms(query: str, most_windows: int) -> list[str]:
    """Distinct lower-cased terms in order: ASCII words whole, anything else as windows of three characters.

    Terms under three characters are left out, since no trigram can find them.
    """
    words: dict[str, None] = {}
    windows: dict[str, None] = {}
    for match in _RUN.finditer(query.lower()):
        run = match.group().strip("_")
        if run.isascii():
            words[run] = None
        else:
            starts = range(len(run) - WINDOW_CHARS + 1)
            windows.update((run[start : start + WINDOW_CHARS], None) for start in starts)
    return [word for word in words if len(word) >= WINDOW_CHARS] + list(windows)[:most_windows]


def match_expression(terms: Sequence[str]) -> str:
    """An FTS5 expression in which every character of every term is data."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
