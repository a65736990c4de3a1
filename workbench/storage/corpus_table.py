"""Which resources each run searched, and their bodies: recorded in proportion to what changed, shared by all runs.

A manifest refers to its bodies before they are written, so that collecting can never take a body that is on its way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from workbench.core.hashing import canonical_json, sha256_hex
from workbench.core.progress import Progress, no_progress
from workbench.core.resource import Layer, Scope
from workbench.storage import corpus_queries as sql
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore

BATCH = 200
"""Bodies archived in one transaction, so that another process never waits long."""


class CorpusEntry(NamedTuple):
    """One resource as a run searched it; `resource_hash` is also the sha256 of its archived body."""

    resource_id: str
    resource_hash: str
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str


class Archivable(Protocol):
    """What a body is made of."""

    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def body(self) -> str: ...


Reader = Callable[[str], Archivable | None]
"""resource_id -> the resource, or None when it is gone."""


def frozen_body(resource: Archivable) -> bytes:
    """The archived form: canonical JSON of [title, description, body], so that its sha256 is the content hash."""
    return canonical_json([resource.title, resource.description, resource.body]).encode("utf-8")


class CorpusTable:
    """The manifests of all projects with their blobs."""

    def __init__(self, store: CentralStore, blobs: BlobStore) -> None:
        self._store, self._blobs = store, blobs

    def record(self, project_id: str, miv: str, entries: Iterable[CorpusEntry], read: Reader, at: str) -> int:
        """Make the corpus of this miv the project's latest, archive its bodies, and return its number.

        Nothing is read when it is the latest already and complete. Bodies that cannot be read now are tried again
        the next time; until then the manifest is incomplete.
        """
        with self._store.reading() as connection:
            latest = connection.execute(sql.LATEST, (project_id,)).fetchone()
        if latest is None or latest[1] != miv:
            known = {entry.resource_id: entry for entry in entries}
            with self._store.writing("add_manifest") as connection:
                manifest = add_manifest(connection, project_id, miv, known, at)
        elif latest[2]:
            return int(latest[0])
        else:
            manifest = int(latest[0])
        if self._archive(project_id, read):
            with self._store.writing("complete_manifest") as connection:
                connection.execute(sql.COMPLETE, (project_id, manifest))
        self.collect()
        return manifest

    def entries(self, project_id: str, manifest: int) -> tuple[CorpusEntry, ...]:
        """The resources of a manifest, by resource_id."""
        with self._store.reading() as connection:
            rows = connection.execute(sql.ENTRIES, {"project_id": project_id, "manifest": manifest}).fetchall()
        return tuple(_entry(row) for row in rows)

    def secure(self, entries: Sequence[CorpusEntry], progress: Progress = no_progress) -> tuple[str, ...]:
        """Prove that the body of every entry is whole, and make them outlive a power cut; what is wrong, by entry.

        A body that cannot serve counts as not archived from now on: the next record of a corpus that has it writes it
        again. progress: phase `freeze`, in bodies. Raises: `StorageError("home_unwritable")`.
        """
        broken = self._blobs.secure([entry.resource_hash for entry in entries], progress)
        if broken:
            with self._store.writing("forget_bodies") as connection:
                connection.executemany(sql.FORGET_BLOB, [(one,) for one in broken])
                connection.executemany(sql.INCOMPLETE, [(one,) for one in broken])
        wrong = [(entry, broken[entry.resource_hash]) for entry in entries if entry.resource_hash in broken]
        return tuple(f"{entry.resource_id}: its archived body {entry.resource_hash} {why}" for entry, why in wrong)

    def collect(self) -> int:
        """Drop manifests that no run refers to (each project's latest two stay) and the bodies that only they had.

        Returns the number of bodies removed. What is to go counts as not archived first, so that a killed call leaves
        no row without its body. The files go inside a transaction: nobody can refer to one meanwhile.
        """
        with self._store.writing("collect") as connection:
            connection.execute(sql.FREE_MANIFESTS)
            freed = {sha256 for (sha256,) in connection.execute(sql.FREE_ENTRIES).fetchall()}
            connection.executemany(sql.FORGET_UNUSED, [(one,) for one in sorted(freed)])
        with self._store.reading() as connection:
            if connection.execute(sql.UNUSED).fetchone() is None:
                return 0
        with self._store.writing("collect_bodies") as connection:
            unused = [sha256 for (sha256,) in connection.execute(sql.UNUSED).fetchall()]
            connection.executemany(sql.FREE_BLOB, [(one,) for one in unused])
            for one in unused:
                self._blobs.remove(one)
        return len(unused)

    def _archive(self, project_id: str, read: Reader) -> bool:
        with self._store.reading() as connection:
            missing = connection.execute(sql.MISSING, (project_id,)).fetchall()
        complete = True
        for start in range(0, len(missing), BATCH):
            sizes = list(self._write_bodies(missing[start : start + BATCH], read))
            complete &= len(sizes) == len(missing[start : start + BATCH])
            with self._store.writing("archive_bodies") as connection:
                connection.executemany(sql.ARCHIVED, sizes)
        return complete

    def _write_bodies(self, wanted: Iterable[tuple[str, str]], read: Reader) -> Iterator[tuple[int, str]]:
        for resource_id, resource_hash in wanted:
            resource = read(resource_id)
            data = b"" if resource is None else frozen_body(resource)
            # The index may have moved on since: a body under another hash is not the one that was searched.
            if sha256_hex(data) == resource_hash:
                self._blobs.write(data)
                yield len(data), resource_hash


def add_manifest(
    connection: sqlite3.Connection, project_id: str, miv: str, entries: Mapping[str, CorpusEntry], at: str
) -> int:
    """Make these resources, by id, the project's latest corpus, in the caller's transaction; its number.

    Nothing is added when the latest one is of this miv.
    """
    latest = connection.execute(sql.LATEST, (project_id,)).fetchone()
    if latest is not None and latest[1] == miv:
        return int(latest[0])
    manifest = 1 if latest is None else int(latest[0]) + 1
    known = {row[0]: _entry(row) for row in connection.execute(sql.OPEN, (project_id,))}
    gone = [one for one, entry in known.items() if entries.get(one) != entry]
    new = [entry for one, entry in entries.items() if known.get(one) != entry]
    connection.executemany(sql.CLOSE, [(manifest - 1, project_id, one) for one in gone])
    connection.executemany(sql.ADD_ENTRY, [(*entry, project_id, manifest) for entry in new])
    connection.executemany(sql.EXPECT_BLOB, [(entry.resource_hash, at) for entry in new])
    connection.execute(sql.ADD_MANIFEST, (project_id, manifest, miv, len(entries), at))
    connection.execute(sql.ADOPT_RUNS, (manifest, project_id, miv))
    return manifest


def _entry(row: sqlite3.Row | tuple[str, ...]) -> CorpusEntry:
    resource_id, resource_hash, layer, scope, kind, path, title = row
    return CorpusEntry(resource_id, resource_hash, Layer(layer), Scope(scope), kind, path, title)
