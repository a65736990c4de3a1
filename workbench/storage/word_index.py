"""How units enter and leave the word index, exactly: after any history it equals the index built from nothing.

Works block by block, so memory is bounded by one block whatever the corpus; touches only the rows (term, block) that an
edit concerns. A weighted occurrence counts path 8, title 6, heading 4, body 1.
"""

from __future__ import annotations

import sqlite3

import numpy as np

from workbench.core.resource import Scope
from workbench.storage.index_records import DEAD, SCOPE_CODES
from workbench.storage.occurrences import Columns, Lexicon, Occurrences, Postings
from workbench.storage.posting_blocks import (
    BLOCK,
    LENGTHS,
    MOST_TERMS,
    OFFSETS,
    amend_block,
    amend_posting,
    block_of,
)

_NOTHING = np.zeros(0, OFFSETS)
_MOST_WORDS = 1 << 19
"""Words kept from block to block, so that memory stays bounded."""


class WordIndex:
    """Collects changes of units and writes them by blocks. `finish` writes what is left."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT max(block) FROM search_blocks").fetchone()
        self._last_block = -1 if row[0] is None else int(row[0])
        self._emptied: set[str] = set()
        self._block = 0
        self._lexicon = Lexicon()
        self._start_over()

    def _start_over(self) -> None:
        if len(self._lexicon) > _MOST_WORDS:
            self._lexicon = Lexicon()
        self._added, self._removed = Occurrences(self._lexicon), Occurrences(self._lexicon)
        self._codes: dict[int, int] = {}

    def add(self, rowid: int, scope: Scope, columns: Columns) -> None:
        """Index a unit under a rowid greater than every one before it."""
        if block_of(rowid) != self._block:
            self._write()
            self._block = block_of(rowid)
        self._added.add(rowid, columns)
        self._codes[rowid] = SCOPE_CODES[scope]

    def remove(self, rowid: int, columns: Columns) -> None:
        """Take a unit out again; `columns` are those that it was added with."""
        self._removed.add(rowid, columns)
        self._codes[rowid] = DEAD
        if len(self._codes) >= BLOCK:
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

    def _write(self) -> None:
        if not self._codes:
            return
        self._write_blocks()
        self._write_removed(self._removed.postings())
        self._write_added(self._added.postings())
        self._last_block = max(self._last_block, *map(block_of, self._codes))
        self._start_over()

    def _write_blocks(self) -> None:
        lengths_of = self._added.lengths()
        changed = np.array(
            [(rowid, min(lengths_of.get(rowid, 0), MOST_TERMS), code) for rowid, code in sorted(self._codes.items())]
        )
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

    def _write_removed(self, postings: Postings) -> None:
        for term, block, offsets, _ in postings.rows():
            rowids, tfs = self._posting(term, block)
            amended = amend_posting(rowids, tfs, offsets, _NOTHING, _NOTHING)
            if amended[0]:
                self._put(term, block, amended)
            else:
                self._connection.execute("DELETE FROM search_postings WHERE term = ? AND block = ?", (term, block))
                self._emptied.add(term)

    def _write_added(self, postings: Postings) -> None:
        fresh = []
        for term, block, offsets, counts in postings.rows():
            if block > self._last_block:
                fresh.append((term, block, len(offsets), offsets.tobytes(), counts.tobytes()))
            else:
                rowids, tfs = self._posting(term, block)
                self._put(term, block, amend_posting(rowids, tfs, _NOTHING, offsets, counts))
        self._connection.executemany("INSERT INTO search_postings VALUES (?, ?, ?, ?, ?)", fresh)
        self._learn(postings.distinct())

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
