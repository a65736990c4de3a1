"""How a database of this project is opened: owner-only, WAL, of a known schema, by any number of processes at once.

A fresh database and a migrated one are made by the same steps, so they are equal. Nothing here deletes or overwrites
a database: a damaged or newer one is an error, and its owner decides. Foreign errors are translated here only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from filelock import FileLock

from workbench.core.deadline import DeadlinePassed
from workbench.core.errors import StorageError
from workbench.storage.faults import step
from workbench.storage.files import FILE_MODE, owner_only_folder, writing

BUSY_TIMEOUT_S = 10
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}
)


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database file has to be.

    name: in messages; application_id: in the file's header; version: the last step's number; folder: under
    `workbench/storage/schema/`, holds the steps `NNNN_what.sql`, each leading from the step before it to version NNNN.
    """

    name: str
    application_id: int
    version: int
    folder: str

    def steps(self, after: int) -> Iterator[tuple[int, str]]:
        """(version, SQL) of every step above `after`, in order."""
        folder = files("workbench.storage") / "schema" / self.folder
        for file in sorted(folder.iterdir(), key=lambda one: one.name):
            version = int(file.name.split("_")[0])
            if after < version <= self.version:
                yield version, file.read_text(encoding="utf-8")


class DamagedDatabase(StorageError):
    """The file is no database of this kind, or is corrupt. It has not been touched."""


def open_writer(path: Path, schema: Schema) -> sqlite3.Connection:
    """A connection in autocommit mode that may write; the file is made, or migrated, where that is due.

    Raises: `DamagedDatabase`, `StorageError("schema_too_new" | "home_unwritable")`.
    """
    owner_only_folder(path.parent)
    _create(path)
    with translating(schema, path):
        connection = _connect(path, "rw")
        try:
            if not _is_current(connection, schema, path):
                # Switching to WAL and creating tables ignore the busy timeout, so only one process may do it.
                with FileLock(path.with_name(f"{path.name}.lock"), mode=FILE_MODE):
                    _migrate(connection, schema, path)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path, schema: Schema) -> sqlite3.Connection:
    """A connection that cannot write, to a database that `open_writer` has made.

    It may be handed from thread to thread, one at a time. Raises: as `open_writer`.
    """
    with translating(schema, path):
        connection = _connect(path, "ro")
        try:
            if not _is_current(connection, schema, path):
                raise StorageError("internal", f"Open {schema.name} at {path} for writing once, to migrate it.")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def atomic(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One writing transaction: all of the block's changes or, when it raises, none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translating(schema: Schema, path: Path) -> Iterator[None]:
    """The one seam where errors of SQLite become the project's own; a stopped statement becomes `DeadlinePassed`."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        primary = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if primary == sqlite3.SQLITE_INTERRUPT:
            raise DeadlinePassed from error
        if primary in _DAMAGE or _is_undecodable(error):
            raise DamagedDatabase("store_damaged", f"{schema.name} at {path} is damaged: {error}.") from error
        if primary in _UNWRITABLE:
            raise StorageError("home_unwritable", f"Make {path} readable and writable: {error}.") from error
        raise StorageError("internal", f"{schema.name} at {path} failed: {error}.") from error


def _is_undecodable(error: Exception) -> bool:
    """Whether text came back that is no UTF-8, which nothing here ever writes; the module gives it no error code."""
    return isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8")


def _create(path: Path) -> None:
    """Make an empty file, for its owner only, where none is.

    An existing one is never opened here: closing it would drop the locks that SQLite holds on it in this process, and
    another process could then take away the log that a reader is using.
    """
    if not path.exists():
        with writing(path), suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def _is_current(connection: sqlite3.Connection, schema: Schema, path: Path) -> bool:
    """Whether the file is of this schema as it stands; False for an empty or older one."""
    application_id, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    if (
        application_id == 0
        and version == 0
        and not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    ):
        return False
    if application_id != schema.application_id:
        raise DamagedDatabase("store_damaged", f"{path} is not {schema.name}; move it away.")
    if version > schema.version:
        raise StorageError(
            "schema_too_new",
            f"{schema.name} at {path} has schema {version}, this version knows {schema.version}: update the workbench.",
        )
    return version == schema.version


def _migrate(connection: sqlite3.Connection, schema: Schema, path: Path) -> None:
    if _is_current(connection, schema, path):
        return
    # Both hold only when they are set before the first page is written, and WAL writes it. A page of this size holds
    # five vectors of 384 dimensions; a quarter of one of 4096 bytes would be empty.
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    for version, sql in schema.steps(_pragma(connection, "user_version")):
        step(f"{schema.folder}.migrate.{version}")
        header = f"PRAGMA application_id = {schema.application_id}; PRAGMA user_version = {version};"
        try:
            connection.executescript(f"BEGIN IMMEDIATE;\n{sql}\n{header}\nCOMMIT;")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
