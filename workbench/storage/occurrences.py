"""Counts the weighted occurrences of terms in units, many units at a time. Pure.

A term never reaches over white space, so a text is split there first: each word costs one look into a dictionary, and
only a distinct one is tokenised.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from workbench.core.terms import index_terms
from workbench.storage.posting_blocks import BLOCK, BLOCK_BITS, COUNTS, MOST_OCCURRENCES, OFFSETS, Array

WEIGHTS = (8, 6, 4, 1)
_ROWID_BITS = 36
_ROWID = (1 << _ROWID_BITS) - 1


class Columns(NamedTuple):
    """The searched text of a unit, column by column, in the order of `WEIGHTS`."""

    path: str
    title: str
    heading: str
    body: str


class Postings(NamedTuple):
    """Postings by term and block: the i-th is offsets[starts[i]:starts[i + 1]] of the term numbered numbers[i]."""

    terms: list[str]
    numbers: Array
    blocks: Array
    starts: list[int]
    offsets: Array
    counts: Array

    def rows(self) -> Iterator[tuple[str, int, Array, Array]]:
        """(term, block, offsets, counts), in order of term and block."""
        bounds = zip(self.numbers.tolist(), self.blocks.tolist(), self.starts, self.starts[1:], strict=False)
        for number, block, start, end in bounds:
            yield self.terms[number], block, self.offsets[start:end], self.counts[start:end]

    def distinct(self) -> list[str]:
        """The terms, in order."""
        return [self.terms[number] for number in np.unique(self.numbers).tolist()]


class Lexicon(dict[str, int]):
    """Word -> its number, and the numbers of its terms: `terms[starts[word]:starts[word + 1]]`."""

    def __init__(self) -> None:
        self.term_numbers: dict[str, int] = {}
        self.terms, self.starts = array("q"), array("q", [0])

    def __missing__(self, word: str) -> int:
        for term in index_terms(word):
            self.terms.append(self.term_numbers.setdefault(term, len(self.term_numbers)))
        self.starts.append(len(self.terms))
        self[word] = number = len(self)
        return number


class Occurrences:
    """Words of units, column by column, until they are counted. The lexicon may be shared."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._headers: dict[str, array[int]] = {}
        self._rowids, self._sizes, self._weights, self._words = array("q"), array("q"), array("q"), array("q")

    def add(self, rowid: int, columns: Columns) -> None:
        """Take in a unit."""
        for weight, text in zip(WEIGHTS[:-1], columns[:-1], strict=True):
            words = self._headers.get(text)
            if words is None:
                words = self._headers[text] = self._numbers(text)
            self._append(rowid, weight, words)
        self._append(rowid, WEIGHTS[-1], self._numbers(columns.body))

    def lengths(self) -> dict[int, int]:
        """rowid -> number of terms, of every unit taken in."""
        terms = np.diff(np.array(self._lexicon.starts))[np.array(self._words, np.int64)]
        before = np.concatenate([[0], np.cumsum(terms)])
        ends = np.cumsum(np.array(self._sizes, np.int64))
        columns = (before[ends] - before[ends - np.array(self._sizes, np.int64)]).reshape(-1, len(WEIGHTS))
        return dict(zip(self._rowids[:: len(WEIGHTS)], columns.sum(axis=1).tolist(), strict=True))

    def postings(self) -> Postings:
        """Occurrences added up by term and unit, in that order, and cut by term and block."""
        terms = sorted(self._lexicon.term_numbers)
        key, weights = self._keys(terms)
        order = np.argsort(key)
        key = key[order]
        firsts = _changes(key)
        counts = np.minimum(np.add.reduceat(weights[order], firsts), MOST_OCCURRENCES) if len(key) else weights
        key = key[firsts]
        starts = _changes(key >> BLOCK_BITS)
        heads = key[starts]
        return Postings(
            terms,
            heads >> _ROWID_BITS,
            (heads & _ROWID) >> BLOCK_BITS,
            [*starts.tolist(), len(key)],
            (key % BLOCK).astype(OFFSETS),
            counts.astype(COUNTS),
        )

    def _keys(self, terms: list[str]) -> tuple[Array, Array]:
        """One key (number of the term in order, rowid) and one weight for each occurrence of a term."""
        lexicon, words = self._lexicon, np.array(self._words, np.int64)
        numbers = np.empty(len(terms), np.int64)
        numbers[[lexicon.term_numbers[term] for term in terms]] = np.arange(len(terms))
        starts = np.array(lexicon.starts)
        first, per_word = starts[words], np.diff(starts)[words]
        behind = np.cumsum(per_word) - per_word
        at = np.arange(int(per_word.sum())) + np.repeat(first - behind, per_word)
        columns = np.repeat(np.repeat(np.arange(len(self._sizes)), np.array(self._sizes, np.int64)), per_word)
        key = (numbers[np.array(lexicon.terms, np.int64)[at]] << _ROWID_BITS) | np.array(self._rowids, np.int64)[
            columns
        ]
        return key, np.array(self._weights, np.int64)[columns]

    def _append(self, rowid: int, weight: int, words: array[int]) -> None:
        self._rowids.append(rowid)
        self._weights.append(weight)
        self._sizes.append(len(words))
        self._words.extend(words)

    def _numbers(self, text: str) -> array[int]:
        return array("q", map(self._lexicon.__getitem__, text.split()))


def _changes(values: Array) -> Array:
    """Where a sorted array takes a new value, its start included."""
    if not len(values):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
