"""What is done after a publication so that a removed text leaves the disk and its room is given back.

Runs outside the publishing transaction; whoever is stopped here has lost nothing, and the next build does it again.
"""

from __future__ import annotations

import sqlite3

from workbench.storage.connection import BUSY_TIMEOUT_S, atomic
from workbench.storage.faults import step
from workbench.storage.vector_cache import collect_vectors

SPARE_VECTORS = 1_000
_FREE_SHARE = 8
"""Room is given back once more than one page in this many is free: moving pages costs more than leaving them."""


def tidy(connection: sqlite3.Connection, *, units_removed: bool, trigrams: bool) -> None:
    """Drop unused vectors and the traces of removed texts, and shrink the file."""
    step("index.tidy.vectors")
    with atomic(connection):
        collect_vectors(connection, SPARE_VECTORS)
    if units_removed:
        # FTS5 keeps what it indexed of a deleted row until segments are merged.
        step("index.tidy.optimize")
        tables = ("search_vocabulary", "search_units_fts") if trigrams else ("search_vocabulary",)
        for table in tables:
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    step("index.tidy.vacuum")
    if _pragma(connection, "freelist_count") * _FREE_SHARE > _pragma(connection, "page_count"):
        # `execute` would step this pragma, which has no columns, only once and give back a single page.
        connection.executescript("PRAGMA incremental_vacuum")
    step("index.tidy.checkpoint")
    _checkpoint(connection)


def _checkpoint(connection: sqlite3.Connection) -> None:
    """Empty the write-ahead log, unless a reader still needs it: it is never waited for."""
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
