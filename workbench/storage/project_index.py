"""The index of one project: a rebuildable cache in one database, read by many and written by one builder at a time.

A damaged file is moved aside and replaced by an empty one; a newer schema is refused and left alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from workbench.core.deadline import Deadline
from workbench.core.errors import NotReady
from workbench.core.resource import EntryStamp, Layer, Source, SourceStamp
from workbench.storage.connection import DamagedDatabase, open_reader, open_writer, translating
from workbench.storage.faults import step
from workbench.storage.files import FILE_MODE
from workbench.storage.index_reader import IndexReader
from workbench.storage.index_records import Revision
from workbench.storage.index_schema import INDEX_SCHEMA
from workbench.storage.index_writer import IndexWriter
from workbench.storage.locks import exclusive

_KEPT_READERS = 4
_LAYERS = {layer.value: layer for layer in Layer}
_STAMPS = """
SELECT source_ref, layer, source_epoch, source_version, file_digest, byte_size, changed_ns, inode, entries, error
FROM search_sources
"""
_BUILDING = "SELECT 1 FROM search_revisions WHERE state = 'building' LIMIT 1"
_LAST_ERROR = """
SELECT error FROM search_revisions
WHERE project_id = :project AND state = 'failed'
  AND revision_id > coalesce((SELECT revision_id FROM search_heads WHERE project_id = :project), 0)
ORDER BY revision_id DESC LIMIT 1
"""


def index_path(home: Path, project_id: str) -> Path:
    """Where the index of a project lies under `home`, whether it has been made or not."""
    return home / "projects" / project_id / "index.db"


class ProjectIndex:
    """The index of a project under `home`; opening it makes or migrates the database.

    Safe to use from several threads and processes. Raises: `StorageError("schema_too_new" | "home_unwritable")`.
    """

    def __init__(self, home: Path, project_id: str) -> None:
        self.project_id = project_id
        self.path = index_path(home, project_id)
        self.folder = self.path.parent
        self._idle: list[sqlite3.Connection] = []
        self._read_stamps: dict[str, tuple[tuple[Any, ...], SourceStamp]] = {}
        self._open_or_replace()
        self._end_interrupted()

    @contextmanager
    def reader(self, deadline: Deadline | None = None) -> Iterator[IndexReader]:
        """A reader of the head as it is now; its statements stop with `DeadlinePassed` when the deadline comes.

        Raises: `NotReady("index_preparing")` when the file proves damaged; it has then been moved aside.
        """
        with self._replacing_damage():
            connection = self._take()
            try:
                reader = IndexReader(connection, self.path, self.project_id, deadline)
                try:
                    yield reader
                finally:
                    reader.close()
            except BaseException:
                connection.close()
                raise
            self._give(connection)

    @contextmanager
    def writer(self) -> Iterator[IndexWriter]:
        """For the builder, which holds `build_lock`."""
        with (
            self._replacing_damage(),
            closing(open_writer(self.path, INDEX_SCHEMA)) as connection,
            translating(INDEX_SCHEMA, self.path),
        ):
            yield IndexWriter(connection, self.project_id)

    @contextmanager
    def build_lock(self, wait_s: float) -> Iterator[None]:
        """The right to build, across processes. Raises: `NotReady("index_busy")` after waiting `wait_s` seconds."""
        busy = NotReady("index_busy", "Another process is building this index; try again when it is done.")
        with exclusive(self.folder / "build.lock", busy, wait_s):
            yield

    def head(self) -> Revision | None:
        """The revision that answers now."""
        with self.reader() as reader:
            return reader.revision

    def last_error(self) -> str | None:
        """Why the last build failed; None when nothing failed since the head was published."""
        with self.reader() as reader:
            rows = reader.rows(_LAST_ERROR, {"project": self.project_id})
        return rows[0][0] if rows else None

    def stamps(self) -> dict[str, SourceStamp]:
        """What the indexed snapshot remembers of its sources, by source_ref; empty without a head.

        A row that is as it was gives the very stamp that it gave last time.
        """
        with self.reader() as reader:
            rows = reader.rows(_STAMPS)
        read = self._read_stamps
        fresh = [row for row in rows if row[0] not in read or read[row[0]][0] != row]
        # One document is read much faster than as many as there are sources.
        entries = json.loads(f"[{','.join(row[-2] for row in fresh)}]")
        new = {row[0]: (row, _stamp(row, remembered)) for row, remembered in zip(fresh, entries, strict=True)}
        self._read_stamps = stamps = {row[0]: new.get(row[0]) or read[row[0]] for row in rows}
        return {source_ref: stamp for source_ref, (_, stamp) in stamps.items()}

    def close(self) -> None:
        """Close the idle connections; a reader still open keeps its own."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.close()
            self._open_or_replace()
        try:
            return self._idle.pop()
        except IndexError:
            return open_reader(self.path, INDEX_SCHEMA)

    def _give(self, connection: sqlite3.Connection) -> None:
        if len(self._idle) < _KEPT_READERS:
            self._idle.append(connection)
        else:
            connection.close()

    def _open_or_replace(self) -> None:
        try:
            open_writer(self.path, INDEX_SCHEMA).close()
        except DamagedDatabase:
            self._set_aside()

    def _end_interrupted(self) -> None:
        """Mark as failed what a killed builder left behind, unless a living one holds the lock."""
        with self.reader() as reader:
            is_building = bool(reader.rows(_BUILDING))
        if is_building:
            with suppress(NotReady), self.build_lock(0), self.writer() as writer:
                writer.recover()

    @contextmanager
    def _replacing_damage(self) -> Iterator[None]:
        try:
            yield
        except DamagedDatabase as error:
            self._set_aside()
            message = "The index was damaged and has been moved aside; build it again from the memory."
            raise NotReady("index_preparing", message) from error

    def _set_aside(self) -> None:
        """Move a damaged file to `index.db.damaged` (the last one is kept) and make an empty index, in one process."""
        self.close()
        with FileLock(self.folder / "replace.lock", mode=FILE_MODE):
            try:
                open_writer(self.path, INDEX_SCHEMA).close()
                with closing(open_reader(self.path, INDEX_SCHEMA)) as connection:
                    _check(connection, self.path)
            except DamagedDatabase:
                step("index.set_aside")
                for ending in ("-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        self.path.with_name(self.path.name + ending).unlink()
                self.path.replace(self.path.with_name(f"{self.path.name}.damaged"))
                open_writer(self.path, INDEX_SCHEMA).close()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises: `DamagedDatabase` unless every page of the file holds what it should."""
    with translating(INDEX_SCHEMA, path):
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise DamagedDatabase("store_damaged", f"{path} is damaged: {found}.")


def _stamp(row: Sequence[Any], entries: Sequence[Sequence[Any]]) -> SourceStamp:
    source_ref, layer, *numbers, changed_ns, inode, _, error = row
    source = Source(source_ref, _LAYERS[layer], *numbers)
    return SourceStamp(source, changed_ns, inode, tuple(map(EntryStamp._make, entries)), error)
