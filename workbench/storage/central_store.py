"""The central store `local.db`: one durable database a home for runs, their corpora, and cases.

Opened on first use and again after a failure, so that a home that was repaired works without a restart. Never
overwritten and never rebuilt: a damaged or newer file is an error that says so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from workbench.core.errors import StorageError
from workbench.storage.connection import Schema, atomic, open_writer, translating
from workbench.storage.faults import step

CENTRAL_SCHEMA = Schema(name="The central store", application_id=0x4D57_4353, version=42, folder="central")
PATIENCE_MS = 3_000
"""How long a write waits for another process: an activation waits for it, so less than the connection's own limit."""


class CentralStore:
    """The database behind `RunTable` and `CorpusTable`. One connection, used by one thread at a time.

    Raises, from every method: `StorageError("store_damaged" | "schema_too_new" | "home_unwritable" | "internal")`.
    """

    def __init__(self, path: Path, *, patience_ms: int = PATIENCE_MS) -> None:
        self.path, self._patience_ms = path, patience_ms
        self._connection: sqlite3.Connection | None = None
        self._mutex = RLock()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One read transaction: every statement of the block sees the same state."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self, name: str, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One writing transaction, the persistence step `central.NAME`.

        durable: it also outlives a power cut, with everything committed before it. The history does without: a power
        cut may cost the last runs, never the file's consistency, and an activation does not wait for the disk.
        """
        with self._connected() as connection:
            # Set anew each time: the pragma is per connection and cannot change inside a transaction.
            connection.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            with atomic(connection):
                step(f"central.{name}")
                yield connection
                step(f"central.{name}.commit")

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._mutex:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._mutex:
            try:
                with translating(CENTRAL_SCHEMA, self.path):
                    yield self._open()
            except StorageError:
                self.close()
                raise

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_writer(self.path, CENTRAL_SCHEMA)
            self._connection.execute(f"PRAGMA busy_timeout = {self._patience_ms}")
        return self._connection
