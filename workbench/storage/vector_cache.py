"""Vectors by (engine, sha256 of the exact encoder input), and which unit uses which. Two engines never share one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.core.errors import StorageError
from workbench.storage.connection import atomic, open_reader, translating
from workbench.storage.faults import step
from workbench.storage.index_schema import INDEX_SCHEMA

_BATCH = 500
_PUT_ENGINE = """
INSERT INTO search_engines (engine_identity, engine_name, dimension) VALUES (?, ?, ?)
ON CONFLICT (engine_identity) DO UPDATE SET engine_name = excluded.engine_name
"""
_PUT_VECTOR = """
INSERT INTO search_vector_cache (engine_id, input_hash, vector) VALUES (?, ?, ?)
ON CONFLICT (engine_id, input_hash) DO UPDATE SET vector = excluded.vector
"""
_PUT_ALIAS = """
INSERT OR REPLACE INTO search_vector_aliases
SELECT ?, unit_rowid, vector_rowid FROM search_units, search_vector_cache
WHERE unit_key = ? AND engine_id = ? AND input_hash = ?
"""
_HAS_NO_ALIAS = """
NOT EXISTS (SELECT 1 FROM search_vector_aliases AS alias
            WHERE alias.engine_id = ? AND alias.unit_rowid = search_units.unit_rowid)
"""
_PENDING = f"""
SELECT unit_rowid, unit_key, source_ref, path, title, heading_path,
       CAST(coalesce(own_text, substr(CAST(body AS BLOB), text_start + 1, text_size)) AS TEXT)
FROM search_units JOIN search_resources USING (resource_rowid)
WHERE {_HAS_NO_ALIAS} AND unit_rowid > ?
ORDER BY unit_rowid LIMIT ?
"""
_LEND = """
SELECT input_hash, vector FROM search_vector_cache JOIN search_engines USING (engine_id)
WHERE engine_identity = ? AND input_hash IN ({marks})
"""
_ORPHANS = """
SELECT vector_rowid FROM search_vector_cache
WHERE vector_rowid NOT IN (SELECT vector_rowid FROM search_vector_aliases)
ORDER BY vector_rowid LIMIT ?
"""


class PendingUnit(NamedTuple):
    """A stored unit that has no vector of an engine yet, with what its encoder input is made of."""

    unit_key: str
    source_ref: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    text: str


class VectorCache:
    """The vectors of one engine. Opening it enters the engine in the manifest of engines, by its whole identity."""

    def __init__(self, connection: sqlite3.Connection, engine_identity: str, engine_name: str, dimension: int) -> None:
        self._connection = connection
        connection.execute(_PUT_ENGINE, (engine_identity, engine_name, dimension))
        find = "SELECT engine_id FROM search_engines WHERE engine_identity = ?"
        self._engine_id = int(connection.execute(find, (engine_identity,)).fetchone()[0])

    def known(self, input_hashes: Iterable[bytes]) -> set[bytes]:
        """Those of the hashes that have a vector."""
        found: set[bytes] = set()
        distinct = list(dict.fromkeys(input_hashes))
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            find = f"SELECT input_hash FROM search_vector_cache WHERE engine_id = ? AND input_hash IN ({_marks(batch)})"
            found.update(row[0] for row in self._connection.execute(find, (self._engine_id, *batch)))
        return found

    def remember(self, input_hashes: Sequence[bytes], vectors: npt.NDArray[np.float32]) -> None:
        """Store vectors in a transaction of their own, so that a build killed later need not encode them again."""
        step("index.vectors")
        rows = vectors.astype("<f4", copy=False)
        with atomic(self._connection):
            self._connection.executemany(
                _PUT_VECTOR,
                [(self._engine_id, one, row.tobytes()) for one, row in zip(input_hashes, rows, strict=True)],
            )

    def aliased(self, unit_rowids: Iterable[int]) -> set[int]:
        """Those of the stored units that have a vector."""
        found: set[int] = set()
        distinct = list(unit_rowids)
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            find = (
                f"SELECT unit_rowid FROM search_vector_aliases WHERE engine_id = ? AND unit_rowid IN ({_marks(batch)})"
            )
            found.update(row[0] for row in self._connection.execute(find, (self._engine_id, *batch)))
        return found

    def pending_count(self) -> int:
        """How many stored units have no vector."""
        return int(
            self._connection.execute(
                f"SELECT count(*) FROM search_units WHERE {_HAS_NO_ALIAS}", (self._engine_id,)
            ).fetchone()[0]
        )

    def pending(self, limit: int) -> Iterator[list[PendingUnit]]:
        """The stored units without a vector, in batches of at most `limit`, by rowid."""
        last = 0
        while rows := self._connection.execute(_PENDING, (self._engine_id, last, limit)).fetchall():
            yield [
                PendingUnit(key, ref, path, title, tuple(json.loads(headings)), text)
                for _, key, ref, path, title, headings, text in rows
            ]
            last = rows[-1][0]

    def alias(self, inputs: Mapping[str, bytes]) -> None:
        """Let units, by unit_key, use the vectors of these input hashes; aliases of other engines are dropped."""
        self._connection.execute("DELETE FROM search_vector_aliases WHERE engine_id <> ?", (self._engine_id,))
        rows = [(self._engine_id, unit_key, self._engine_id, one) for unit_key, one in inputs.items()]
        self._connection.executemany(_PUT_ALIAS, rows)

    def alias_count(self) -> int:
        """How many units have a vector."""
        find = "SELECT count(*) FROM search_vector_aliases WHERE engine_id = ?"
        return int(self._connection.execute(find, (self._engine_id,)).fetchone()[0])


def lent_vectors(
    path: Path, engine_identity: str, dimension: int, input_hashes: Iterable[bytes]
) -> dict[bytes, npt.NDArray[np.float32]]:
    """Vectors by input hash, as far as the index database at `path` has them; it is not changed.

    Empty where no such index can be read: a lender is never needed.
    """
    distinct = list(dict.fromkeys(input_hashes))
    lent: dict[bytes, npt.NDArray[np.float32]] = {}
    if not path.is_file():
        return lent
    with suppress(StorageError), closing(open_reader(path, INDEX_SCHEMA)) as connection:
        for start in range(0, len(distinct), _BATCH):
            batch = distinct[start : start + _BATCH]
            with translating(INDEX_SCHEMA, path):
                rows = connection.execute(_LEND.format(marks=_marks(batch)), (engine_identity, *batch)).fetchall()
            lent |= {one: np.frombuffer(raw, "<f4") for one, raw in rows if len(raw) == 4 * dimension}
    return lent


def forget_aliases(connection: sqlite3.Connection, unit_rowids: Sequence[int]) -> None:
    """Drop the aliases of units that are no more, of every engine; the vectors stay for their return."""
    engines = [row[0] for row in connection.execute("SELECT engine_id FROM search_engines")]
    for engine_id in engines:
        forget = "DELETE FROM search_vector_aliases WHERE engine_id = ? AND unit_rowid = ?"
        connection.executemany(forget, [(engine_id, rowid) for rowid in unit_rowids])


def collect_vectors(connection: sqlite3.Connection, spare: int) -> int:
    """Drop vectors that no unit uses, the oldest first, beyond the number of those in use plus `spare`; how many.

    What was undone, or the last engine's whole set, thus comes back without encoding.
    """
    used = connection.execute("SELECT count(DISTINCT vector_rowid) FROM search_vector_aliases").fetchone()[0]
    in_all = connection.execute("SELECT count(*) FROM search_vector_cache").fetchone()[0]
    excess = in_all - 2 * used - spare
    if excess <= 0:
        return 0
    forget = f"DELETE FROM search_vector_cache WHERE vector_rowid IN ({_ORPHANS})"
    return connection.execute(forget, (excess,)).rowcount


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
