"""The builder's side of a project's index: revisions, the vector cache, and the one transaction that publishes.

Used by one builder at a time, who holds the build lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from workbench.core.errors import WorkbenchError
from workbench.core.resource import Resource, SnapshotRef, SourceStamp
from workbench.core.unit import Unit
from workbench.storage import revisions, unit_store
from workbench.storage.connection import atomic
from workbench.storage.faults import step
from workbench.storage.maintenance import tidy
from workbench.storage.revisions import Recipe
from workbench.storage.unit_store import StoredResource, UnitStore
from workbench.storage.vector_cache import VectorCache, forget_aliases
from workbench.storage.word_index import total_length


class IndexWriter:
    """Made by `ProjectIndex.writer`."""

    def __init__(self, connection: sqlite3.Connection, project_id: str) -> None:
        self._connection, self._project_id = connection, project_id

    def recover(self) -> None:
        """End as `failed: interrupted` what a killed builder left `building`."""
        with atomic(self._connection):
            revisions.fail_interrupted(self._connection)

    def begin(self, ref: SnapshotRef, recipe: Recipe) -> int:
        """Record a revision as `building`; its id."""
        step("index.begin")
        with atomic(self._connection):
            return revisions.begin_revision(self._connection, ref, recipe)

    def fail(self, revision_id: int, error: str) -> None:
        """Record why a revision failed; best effort, since `recover` ends it otherwise."""
        with suppress(sqlite3.Error), atomic(self._connection):
            revisions.fail_revision(self._connection, revision_id, error)

    def indexed(self) -> Mapping[str, tuple[str, str]]:
        """resource_id -> (source_ref, content_hash) of everything indexed."""
        return revisions.indexed_resources(self._connection)

    def stored(self, resource_id: str) -> StoredResource | None:
        """A resource as it is indexed, with its units."""
        return unit_store.stored_resource(self._connection, resource_id)

    def vectors(self, engine_identity: str, engine_name: str, dimension: int) -> VectorCache:
        """The vector cache of an engine."""
        return VectorCache(self._connection, engine_identity, engine_name, dimension)

    def restamp(self, stamps: Iterable[SourceStamp], forgotten: Iterable[str]) -> None:
        """Remember sources that changed in nothing that is indexed, for example in their time alone."""
        step("index.restamp")
        with atomic(self._connection):
            revisions.put_stamps(self._connection, stamps)
            revisions.drop_stamps(self._connection, forgotten)

    @contextmanager
    def publication(self, revision_id: int, *, anew: bool, trigrams: bool) -> Iterator[Publication]:
        """The transaction that makes a revision the head, once the block has ended well.

        anew: forget everything indexed first. trigrams: whether the trigram arm is held from now on.
        """
        step("index.publish.start")
        with atomic(self._connection):
            publication = Publication(self._connection, self._project_id, revision_id, anew, trigrams)
            yield publication
            publication.finish()
            step("index.publish.commit")

    def tidy(self, *, units_removed: bool, trigrams: bool) -> None:
        """Give back the room, and drop the traces, of what was removed."""
        tidy(self._connection, units_removed=units_removed, trigrams=trigrams)


class Publication:
    """Changes to the live units that become visible together.

    added_count, removed_count: units that came and went. resources, units: counts of the head, once it is finished.
    """

    def __init__(
        self, connection: sqlite3.Connection, project_id: str, revision_id: int, anew: bool, trigrams: bool
    ) -> None:
        self._connection, self._project_id, self._revision_id = connection, project_id, revision_id
        if anew:
            step("index.publish.clear")
            unit_store.clear_units(connection)
        filled = anew or unit_store.has_trigrams(connection)
        self._fill = trigrams and not filled
        if filled and not trigrams:
            step("index.publish.empty_trigrams")
            unit_store.empty_trigrams(connection)
        self._units = UnitStore(connection, revision_id, trigrams and filled)
        self.added_count = self.removed_count = self.resources = self.units = 0

    def put(self, resource: Resource, units: Sequence[Unit]) -> None:
        """Index a resource with exactly these units."""
        step("index.publish.resource")
        changes = self._units.put(resource, units)
        self.added_count += len(changes.added)
        self._drop(changes.removed)

    def remove(self, resource_ids: Iterable[str]) -> None:
        """Drop resources with their units."""
        for resource_id in resource_ids:
            step("index.publish.remove")
            self._drop(self._units.remove(resource_id))

    def stamp(self, stamps: Iterable[SourceStamp], forgotten: Iterable[str]) -> None:
        """Remember what the snapshot saw of the sources."""
        step("index.publish.stamps")
        revisions.put_stamps(self._connection, stamps)
        revisions.drop_stamps(self._connection, forgotten)

    def alias(self, cache: VectorCache, inputs: Mapping[str, bytes]) -> None:
        """Give units, by unit_key, the vectors of their encoder inputs; every unit must have one then."""
        step("index.publish.aliases")
        cache.alias(inputs)
        units = self._connection.execute("SELECT count(*) FROM search_units").fetchone()[0]
        if cache.alias_count() != units:
            message = f"Only {cache.alias_count()} of {units} units have a vector; build the index again."
            raise WorkbenchError("index_build_failed", message, stage="publish")

    def finish(self) -> None:
        """Complete the word index and move the head."""
        step("index.publish.words")
        self._units.finish()
        if self._fill:
            step("index.publish.fill_trigrams")
            unit_store.fill_trigrams(self._connection, self._revision_id)
        step("index.publish.head")
        length = total_length(self._connection)
        self.resources, self.units = revisions.make_head(self._connection, self._project_id, self._revision_id, length)

    def _drop(self, unit_rowids: Sequence[int]) -> None:
        forget_aliases(self._connection, unit_rowids)
        self.removed_count += len(unit_rowids)
