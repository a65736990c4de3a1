"""How units enter and leave the word index, exactly: after any history it equals the index built from nothing.

Works block by block, so memory is bounded by one block whatever the corpus; touches only the rows (term, block) that an
edit concerns. A weighted occurrence counts path 8, title 6, heading 4, body 1.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from workbench.core.resource import Scope
from workbench.core.terms import index_terms
from workbench.storage.index_records import DEAD, SCOPE_CODES
from workbench.storage.posting_blocks import (
    BLOCK,
    BLOCK_BITS,
    COUNTS,
    LENGTHS,
    MOST_OCCURRENCES,
    MOST_TERMS,
    OFFSETS,
    Array,
    amend_block,
    amend_posting,
    block_of,
)

WEIGHTS = (8, 6, 4, 1)
_ROWID_BITS = 36
_NOTHING = np.zeros(0, OFFSETS)


class Columns(NamedTuple):
    """The searched text of a unit, column by column, in the order of `WEIGHTS`."""

    path: str
    title: str
    heading: str
    body: str


class _Entries:
    """Term occurrences of some units, as flat arrays: one row per column of a unit, and the terms of all rows."""

    def __init__(self) -> None:
        self.rowids, self.sizes, self.weights = array("q"), array("q"), array("q")
        self.terms = array("q")

    def append(self, rowid: int, weight: int, terms: array[int]) -> None:
        self.rowids.append(rowid)
        self.weights.append(weight)
        self.sizes.append(len(terms))
        self.terms.extend(terms)


class _Groups(NamedTuple):
    """Postings by term and block: group i is offsets[starts[i]:starts[i + 1]] of the term with rank ranks[i]."""

    ranks: Array
    blocks: Array
    starts: list[int]
    offsets: Array
    counts: Array

    def rows(self, terms: list[str]) -> Iterator[tuple[str, int, Array, Array]]:
        """(term, block, offsets, counts) of each group, in order of term and block."""
        bounds = zip(self.ranks.tolist(), self.blocks.tolist(), self.starts, self.starts[1:], strict=False)
        for rank, block, start, end in bounds:
            yield terms[rank], block, self.offsets[start:end], self.counts[start:end]

    def distinct(self, terms: list[str]) -> list[str]:
        """The terms of all groups, in order."""
        return [terms[rank] for rank in np.unique(self.ranks).tolist()]


def _grouped(entries: _Entries, ranks: Array) -> _Groups:
    """Occurrences added up by term and unit, in that order, and cut by term and block."""
    if not len(entries.terms):
        nothing = np.zeros(0, np.int64)
        return _Groups(nothing, nothing, [], nothing, nothing)
    sizes = np.array(entries.sizes)
    rowids, weights = np.repeat(np.array(entries.rowids), sizes), np.repeat(np.array(entries.weights), sizes)
    key = (ranks[np.array(entries.terms)] << _ROWID_BITS) | rowids
    order = np.argsort(key)
    key = key[order]
    firsts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    counts = np.minimum(np.add.reduceat(weights[order], firsts), MOST_OCCURRENCES).astype(COUNTS)
    key = key[firsts]
    group = key >> BLOCK_BITS
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    heads = key[starts]
    blocks = (heads & ((1 << _ROWID_BITS) - 1)) >> BLOCK_BITS
    return _Groups(heads >> _ROWID_BITS, blocks, [*starts.tolist(), len(key)], (key % BLOCK).astype(OFFSETS), counts)


class WordIndex:
    """Collects changes of units and writes them by blocks. `finish` writes what is left."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT max(block) FROM search_blocks").fetchone()
        self._last_block = -1 if row[0] is None else int(row[0])
        self._emptied: set[str] = set()
        self._block = 0
        self._start_over()

    def _start_over(self) -> None:
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__
        self._headers: dict[str, array[int]] = {}
        self._added, self._removed = _Entries(), _Entries()
        self._units: dict[int, tuple[int, int]] = {}

    def add(self, rowid: int, scope: Scope, columns: Columns) -> None:
        """Index a unit under a rowid greater than every one before it."""
        if block_of(rowid) != self._block:
            self._write()
            self._block = block_of(rowid)
        length = self._collect(self._added, rowid, columns)
        self._units[rowid] = (min(length, MOST_TERMS), SCOPE_CODES[scope])

    def remove(self, rowid: int, columns: Columns) -> None:
        """Take a unit out again; `columns` are those that it was added with."""
        self._collect(self._removed, rowid, columns)
        self._units[rowid] = (0, DEAD)
        if len(self._units) >= BLOCK:
            self._write()

    def finish(self) -> None:
        """Write everything collected, and forget the terms that no unit holds any more."""
        self._write()
        emptied = [(term,) for term in sorted(self._emptied)]
        unused = "FROM search_terms WHERE term = ?1 AND NOT EXISTS (SELECT 1 FROM search_postings WHERE term = ?1)"
        forget = "INSERT INTO search_vocabulary (search_vocabulary, rowid, term) SELECT 'delete', term_id, term"
        self._connection.executemany(f"{forget} {unused}", emptied)
        self._connection.executemany(f"DELETE {unused}", emptied)
        self._emptied.clear()

    def _collect(self, entries: _Entries, rowid: int, columns: Columns) -> int:
        length = 0
        for weight, text in zip(WEIGHTS[:-1], columns[:-1], strict=True):
            terms = self._headers.get(text)
            if terms is None:
                terms = self._headers[text] = self._term_ids(text)
            entries.append(rowid, weight, terms)
            length += len(terms)
        body = self._term_ids(columns.body)
        entries.append(rowid, WEIGHTS[-1], body)
        return length + len(body)

    def _term_ids(self, text: str) -> array[int]:
        return array("q", map(self._ids.__getitem__, index_terms(text)))

    def _write(self) -> None:
        if not self._units:
            return
        terms = sorted(self._ids)
        ranks = np.empty(len(terms), np.int64)
        ranks[[self._ids[term] for term in terms]] = np.arange(len(terms))
        removed, added = _grouped(self._removed, ranks), _grouped(self._added, ranks)
        self._write_blocks()
        self._write_removed(terms, removed)
        self._write_added(terms, added)
        self._last_block = max(self._last_block, *(block_of(rowid) for rowid in self._units))
        self._start_over()

    def _write_blocks(self) -> None:
        changed = np.array([(rowid, *values) for rowid, values in sorted(self._units.items())], np.int64)
        blocks = changed[:, 0] // BLOCK
        for block in np.unique(blocks).tolist():
            rowids, lengths, codes = changed[blocks == block].T
            find = "SELECT lengths, scopes FROM search_blocks WHERE block = ?"
            old_lengths, old_codes = self._connection.execute(find, (block,)).fetchone() or (b"", b"")
            amended = amend_block(old_lengths, old_codes, rowids % BLOCK, lengths, codes)
            if amended[1]:
                self._connection.execute("INSERT OR REPLACE INTO search_blocks VALUES (?, ?, ?)", (block, *amended))
            else:
                self._connection.execute("DELETE FROM search_blocks WHERE block = ?", (block,))

    def _write_removed(self, terms: list[str], groups: _Groups) -> None:
        for term, block, offsets, _ in groups.rows(terms):
            rowids, tfs = self._posting(term, block)
            amended = amend_posting(rowids, tfs, offsets, _NOTHING, _NOTHING)
            if amended[0]:
                self._put(term, block, amended)
            else:
                self._connection.execute("DELETE FROM search_postings WHERE term = ? AND block = ?", (term, block))
                self._emptied.add(term)

    def _write_added(self, terms: list[str], groups: _Groups) -> None:
        fresh = []
        for term, block, offsets, counts in groups.rows(terms):
            if block > self._last_block:
                fresh.append((term, block, len(offsets), offsets.tobytes(), counts.tobytes()))
            else:
                rowids, tfs = self._posting(term, block)
                self._put(term, block, amend_posting(rowids, tfs, _NOTHING, offsets, counts))
        self._connection.executemany("INSERT INTO search_postings VALUES (?, ?, ?, ?, ?)", fresh)
        self._learn(groups.distinct(terms))

    def _learn(self, terms: list[str]) -> None:
        """Enter new terms in the vocabulary."""
        last = self._connection.execute("SELECT coalesce(max(term_id), 0) FROM search_terms").fetchone()
        self._connection.executemany("INSERT OR IGNORE INTO search_terms (term) VALUES (?)", [(one,) for one in terms])
        enter = "INSERT INTO search_vocabulary (rowid, term) SELECT term_id, term FROM search_terms WHERE term_id > ?"
        self._connection.execute(enter, last)

    def _posting(self, term: str, block: int) -> tuple[bytes, bytes]:
        find = "SELECT rowids, tfs FROM search_postings WHERE term = ? AND block = ?"
        return self._connection.execute(find, (term, block)).fetchone() or (b"", b"")

    def _put(self, term: str, block: int, amended: tuple[int, bytes, bytes]) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO search_postings VALUES (?, ?, ?, ?, ?)", (term, block, *amended)
        )


def total_length(connection: sqlite3.Connection) -> int:
    """Terms of all units, in all columns."""
    rows = connection.execute("SELECT lengths FROM search_blocks")
    return sum(int(np.frombuffer(raw, LENGTHS).sum(dtype=np.int64)) for (raw,) in rows)
