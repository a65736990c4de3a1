"""Questions to one revision of a project's index, all answered from one read transaction.

Never writes: what it sees is the head as it was when the reader was opened, whatever is published meanwhile.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.core.deadline import Deadline
from workbench.core.resource import Layer, Scope, Span
from workbench.storage import index_queries as sql
from workbench.storage.connection import translating
from workbench.storage.index_records import (
    DENSE,
    CorpusStatistics,
    IdentityHit,
    IndexedResource,
    IndexedUnit,
    Postings,
    Revision,
    Rowids,
)
from workbench.storage.index_schema import INDEX_SCHEMA
from workbench.storage.posting_blocks import LENGTHS, merge_blocks, merge_postings

BATCH = 500
"""Values bound to one statement: any number of rows is asked for in batches, far below SQLite's own limit."""
_STEPS_BETWEEN_LOOKS = 2_000


class IndexReader:
    """One head, frozen. Made by `ProjectIndex.reader`; for one thread at a time.

    revision: the head; None when nothing has ever been published, and then everything else is empty.
    Every method raises `DeadlinePassed` once the deadline that the reader was opened under has come.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, project_id: str, deadline: Deadline | None) -> None:
        self._connection, self._path, self._deadline = connection, path, deadline
        self._project_id = project_id
        if deadline is not None:
            connection.set_progress_handler(lambda: deadline.passed, _STEPS_BETWEEN_LOOKS)
        self.rows("BEGIN")
        head = self.rows(sql.HEAD, (project_id,))
        self.revision: Revision | None = revision_of(head[0]) if head else None

    def building_miv(self) -> str | None:
        """The snapshot that is being built; None when no build is under way."""
        rows = self.rows(sql.BUILDING, (self._project_id,))
        return rows[0][0] if rows else None

    def statistics(self) -> CorpusStatistics:
        """Counts of the head; zeros without one."""
        head = self.revision
        return CorpusStatistics(head.unit_count, head.total_length) if head else CorpusStatistics(0, 0)

    def lengths(self) -> npt.NDArray[np.uint16]:
        """Terms of each unit, by unit_rowid, as long as `scope_codes`; 0 where no unit is."""
        return merge_blocks(self.rows(sql.LENGTHS), LENGTHS)

    def scope_codes(self) -> npt.NDArray[np.uint8]:
        """Scope of each unit (`SCOPE_CODES`), by unit_rowid up to the last one; `DEAD` where no unit is."""
        return merge_blocks(self.rows(sql.SCOPES), np.uint8)

    def postings(self, terms: Sequence[str]) -> dict[str, Postings]:
        """The postings of every given term that the index knows."""
        return {
            term: Postings(*merge_postings([row[1:] for row in rows]))
            for term, rows in groupby(self._batched(sql.POSTINGS, terms), itemgetter(0))
        }

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many units each given term stands; unknown terms are left out. Reads no postings."""
        return dict(self._batched(sql.FREQUENCIES, terms))

    def terms_with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Known terms that begin with a prefix, in order of code points; none for the empty prefix."""
        return [term for (term,) in self.rows(sql.TERMS_WITH_PREFIX, (prefix, _after(prefix), limit)) if prefix]

    def terms_containing(self, part: str, limit: int) -> list[str]:
        """Known terms that contain a part of at least three characters (a shorter one gives none), in no set order."""
        if len(part) < 3:
            return []
        # LIKE with ESCAPE cannot use the trigram index, so its wildcards stay in and are looked at again here.
        found = self.rows(sql.TERMS_CONTAINING, (f"%{part}%", limit * 4))
        return [term for (term,) in found if part in term][:limit]

    def trigram_search(self, match: str, limit: int, scopes: Sequence[Scope] | None) -> list[tuple[int, float]]:
        """(unit_rowid, bm25) of the units that an FTS5 expression matches, best first, ties by unit_key.

        The score is positive, greater is better; columns weigh path 8, title 6, heading 4, body 1.
        """
        rows = self.rows(sql.TRIGRAM_SEARCH, (match, *_two_scopes(scopes), limit))
        return [(rowid, -score) for rowid, score in rows]

    def trigram_frequency(self, match: str, limit: int) -> int:
        """How many units an FTS5 expression matches, counted up to `limit`."""
        return int(self.rows(sql.TRIGRAM_FREQUENCY, (match, limit))[0][0])

    def identity(self, query: str, limit: int, scopes: Sequence[Scope] | None) -> list[IdentityHit]:
        """Units of the resources that the query names, by grade, then resource_id, then their order in the resource."""
        folded = query.casefold()
        if not folded:
            return []
        first, second = _two_scopes(scopes)
        bound = {"query": query, "name": folded, "after": _after(folded)}
        rows = self.rows(sql.IDENTITY, {**bound, "first": first, "second": second, "limit": limit})
        return [IdentityHit(*row) for row in rows]

    def units(self, rowids: Iterable[int]) -> dict[int, IndexedUnit]:
        """The units with these rowids; those that the head has not are left out."""
        return {row[0]: _unit(row) for row in self._batched(sql.UNITS, [int(rowid) for rowid in rowids])}

    def unit_keys(self, rowids: Sequence[int]) -> dict[int, str]:
        """The keys of the units with these rowids; reads no text."""
        return dict(self._batched(sql.UNIT_KEYS, rowids))

    def content_hashes(self, unit_keys: Sequence[str]) -> dict[str, str]:
        """The content hash of each unit with one of these keys that the head has."""
        return {key: content_hash.hex() for key, content_hash in self._batched(sql.CONTENT_HASHES, unit_keys)}

    def resource(self, resource_id: str) -> IndexedResource | None:
        """A resource of the head."""
        rows = self.rows(sql.RESOURCE, (resource_id,))
        return _resource(rows[0]) if rows else None

    def corpus(self) -> list[tuple[str, str, str, str, str, str, str]]:
        """(resource_id, content hash, layer, scope, kind, path, title) of every resource by resource_id."""
        return self.rows(sql.CORPUS)

    def resources(self) -> Iterator[IndexedResource]:
        """Every resource of the head by resource_id, read a batch at a time."""
        rows = self.rows(sql.RESOURCES_AFTER, ("", BATCH))
        while rows:
            yield from map(_resource, rows)
            rows = self.rows(sql.RESOURCES_AFTER, (rows[-1][0], BATCH))

    def vectors(self, engine_identity: str, above_rowid: int = 0) -> tuple[Rowids, npt.NDArray[np.float32]]:
        """The head's vectors of units above a rowid: ascending int64 (n,), float32 (n, dimension), L2-normalised.

        Empty when the head has no dense arm or another engine: vectors of two engines never meet.
        """
        head = self.revision
        if head is None or DENSE not in head.arms or head.engine_identity != engine_identity:
            return np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
        rowids: list[int] = []
        vectors = np.empty((head.unit_count, head.dimension or 0), "<f4")
        with translating(INDEX_SCHEMA, self._path):
            cursor = self._connection.execute(sql.VECTORS, (engine_identity, above_rowid))
            while rows := cursor.fetchmany(BATCH):
                packed = np.frombuffer(b"".join(vector for _, vector in rows), "<f4")
                vectors[len(rowids) : len(rowids) + len(rows)] = packed.reshape(len(rows), -1)
                rowids += [rowid for rowid, _ in rows]
        return np.array(rowids, np.int64), vectors[: len(rowids)]

    def close(self) -> None:
        """End the read transaction; the connection stays open and can serve the next reader."""
        self._connection.set_progress_handler(None, 0)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def rows(self, statement: str, bound: Any = ()) -> list[Any]:
        """All rows of a statement; for the modules of this folder."""
        if self._deadline is not None:
            self._deadline.check()
        with translating(INDEX_SCHEMA, self._path):
            return self._connection.execute(statement, bound).fetchall()

    def _batched(self, statement: str, values: Sequence[Any]) -> Iterator[Any]:
        """Rows of a statement with `IN (:values)`, in batches of the distinct values."""
        distinct = list(dict.fromkeys(values))
        for start in range(0, len(distinct), BATCH):
            batch = distinct[start : start + BATCH]
            yield from self.rows(statement.replace("(:values)", f"({','.join('?' * len(batch))})"), batch)


def revision_of(row: Sequence[Any]) -> Revision:
    """A revision from the columns of `index_queries.HEAD`."""
    fields = list(row)
    fields[7] = tuple(json.loads(row[7]))
    return Revision(*fields)


def _unit(row: Sequence[Any]) -> IndexedUnit:
    text = row[12]
    return IndexedUnit(
        unit_rowid=row[0],
        unit_key=row[1],
        resource_id=row[2],
        resource_hash=row[3].hex(),
        content_hash=row[4].hex(),
        layer=Layer(row[5]),
        scope=Scope(row[6]),
        kind=row[7],
        path=row[8],
        title=row[9],
        heading_path=tuple(json.loads(row[10])),
        part=row[11],
        text=text if isinstance(text, str) else text.decode("utf-8"),
        span=Span(*row[13:17]),
        token_count=row[17],
        source_ref=row[18],
        file_digest=row[19],
    )


def _resource(row: Sequence[Any]) -> IndexedResource:
    resource_id, content_hash, layer, scope, kind, path, title, description, body, source_ref, *span = row
    return IndexedResource(
        resource_id,
        content_hash.hex(),
        Layer(layer),
        Scope(scope),
        kind,
        path,
        title,
        description,
        body,
        source_ref,
        Span(*span),
    )


def _two_scopes(scopes: Sequence[Scope] | None) -> tuple[str, str]:
    """The scopes asked for as two values to bind; the empty string is no scope."""
    wanted = list(Scope) if scopes is None else list(scopes)
    first, second = (*wanted, "", "")[:2]
    return first, second


def _after(prefix: str) -> str:
    """The first text, in order of code points, behind every text that begins with the prefix."""
    return prefix + "\U0010ffff"
