"""Turns a snapshot into the head: encodes what is missing, then publishes units, vectors and head in one transaction.

Until that transaction commits the old head answers; a build that fails or dies changes nothing but the vector cache.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.core.activation import DegradationNote
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import WorkbenchError
from workbench.core.progress import Progress, no_progress
from workbench.core.resource import Resource, Status
from workbench.core.terms import TERMS_VERSION
from workbench.core.tokens import TOKEN_COUNTER
from workbench.core.unit import CHUNKER_VERSION, Unit
from workbench.index.comparison import Comparison, compare
from workbench.index.encoding import BATCH, INPUT_VERSION, Encoding, Passage
from workbench.index.report import BuildReport
from workbench.index.snapshot import Snapshot
from workbench.models.base import Embedder
from workbench.storage.index_records import DENSE, IDENTITY, TRIGRAM, WORDS, Revision
from workbench.storage.index_writer import IndexWriter, Publication
from workbench.storage.project_index import ProjectIndex
from workbench.storage.revisions import INTERRUPTED, Recipe
from workbench.storage.unit_store import kept_units
from workbench.storage.vector_cache import VectorCache

BUILD_WAIT_S = 5.0


def build_index(
    index: ProjectIndex,
    snapshot: Snapshot,
    embedder: Embedder | None,
    *,
    trigram: bool = False,
    reuse: bool = True,
    lexical_first: bool = False,
    wait_s: float = BUILD_WAIT_S,
    deadline: Deadline | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Make the snapshot the head, by this engine (None: without the dense arm); nothing when it is already.

    trigram: hold the contract's trigram arm too. reuse: False encodes every unit anew. lexical_first: let a revision
    without the dense arm answer until the complete one is there. wait_s: how long to wait for another builder.
    deadline: looked at between sources and inputs; a build that it stops is `index_build_failed`.
    progress: phases `encode` and `publish` in bytes of source, `encode_kept` in units.

    Raises: `NotReady("index_busy")`; `SourceMoved` when a source changed after the snapshot; `ModelError` or
    `WorkbenchError("index_build_failed")`. Whatever is raised, the old head answers and encoded vectors are kept.
    """
    with index.build_lock(wait_s), index.writer() as writer:
        writer.recover()
        if embedder is not None and lexical_first and not _answers(index.head(), snapshot):
            _Build(index, writer, snapshot, None, trigram, reuse, deadline, progress).run()
        return _Build(index, writer, snapshot, embedder, trigram, reuse, deadline, progress).run()


class _Build:
    """One build under the lock. anew: nothing that is indexed can be kept."""

    def __init__(
        self,
        index: ProjectIndex,
        writer: IndexWriter,
        snapshot: Snapshot,
        embedder: Embedder | None,
        trigram: bool,
        reuse: bool,
        deadline: Deadline | None,
        progress: Progress,
    ) -> None:
        self._writer, self._snapshot, self._embedder = writer, snapshot, embedder
        self._deadline, self._progress = deadline, progress
        self._reuse, self._recipe, self._head = reuse, _recipe(embedder, trigram), index.head()
        self._anew = not _continues(self._head, self._recipe) or (embedder is not None and not reuse)
        self._stamps = {} if self._anew else index.stamps()
        self._encoding: Encoding | None = None
        self._seconds: dict[str, float] = {}

    def run(self) -> BuildReport:
        """Publish, or find that nothing is to do."""
        if self._head is not None and _answers(self._head, self._snapshot) and _has_recipe(self._head, self._recipe):
            return self._keep_head(self._head)
        revision_id = self._writer.begin(self._snapshot.ref, self._recipe)
        try:
            with _stopping_at_the_deadline():
                return self._build(revision_id)
        except BaseException as error:
            self._writer.fail(revision_id, error.outline if isinstance(error, WorkbenchError) else INTERRUPTED)
            raise

    def _build(self, revision_id: int) -> BuildReport:
        with self._timed("compare"):
            comparison = compare(self._snapshot, self._stamps, {} if self._anew else self._writer.indexed())
        cache = None
        if self._embedder is not None:
            identity = self._embedder.identity
            cache = self._writer.vectors(identity.digest, identity.name, identity.dimension)
            self._encoding = Encoding(self._embedder, cache, self._reuse, self._deadline)
            with self._timed("encode"):
                self._encode(comparison, cache, self._encoding)
        publication = self._publish(revision_id, comparison, cache)
        with self._timed("tidy"):
            removed = self._anew or publication.removed_count > 0
            self._writer.tidy(units_removed=removed, trigrams=TRIGRAM in self._recipe.arms)
        return self._report(revision_id, publication)

    def _encode(self, comparison: Comparison, cache: VectorCache, encoding: Encoding) -> None:
        """Bring every vector that the revision needs, and does not have, into the cache."""
        for resource, units in self._changed_resources(comparison, "encode"):
            stored = None if self._anew else self._writer.stored(resource.resource_id)
            kept = kept_units(stored, resource, units)
            aliased = cache.aliased(unit.unit_rowid for unit in kept.values())
            due = (unit for unit in units if not (unit.unit_key in kept and kept[unit.unit_key].unit_rowid in aliased))
            encoding.add(
                Passage.of(unit.unit_key, resource.path, resource.title, unit.heading_path, unit.text) for unit in due
            )
        if not self._anew and not _is_encoded(self._head, self._recipe):
            self._encode_kept(comparison, cache, encoding)
        encoding.finish()

    def _encode_kept(self, comparison: Comparison, cache: VectorCache, encoding: Encoding) -> None:
        """Encode units of sources that did not change, for an engine that the head does not have."""
        changing = {source.source_ref for source in comparison.sources} | self._snapshot.changes.removed
        total, done = cache.pending_count(), 0
        for batch in cache.pending(BATCH):
            due = (unit for unit in batch if unit.source_ref not in changing)
            encoding.add(Passage.of(unit.unit_key, unit.path, unit.title, unit.heading_path, unit.text) for unit in due)
            done += len(batch)
            self._progress("encode_kept", done, total)

    def _publish(self, revision_id: int, comparison: Comparison, cache: VectorCache | None) -> Publication:
        trigrams = TRIGRAM in self._recipe.arms
        with (
            self._timed("publish"),
            self._writer.publication(revision_id, anew=self._anew, trigrams=trigrams) as publication,
        ):
            publication.remove(comparison.removed)
            for resource, units in self._changed_resources(comparison, "publish"):
                publication.put(resource, units)
            publication.stamp(comparison.stamps, comparison.forgotten)
            if cache is not None and self._encoding is not None:
                publication.alias(cache, self._encoding.inputs)
        return publication

    def _changed_resources(self, comparison: Comparison, phase: str) -> Iterator[tuple[Resource, tuple[Unit, ...]]]:
        """The current resources of the sources to read, one source in memory at a time."""
        total, done = sum(source.byte_size for source in comparison.sources), 0
        for source in comparison.sources:
            if self._deadline is not None:
                self._deadline.check()
            for resource, units in self._snapshot.read(source.source_ref):
                if resource.status is Status.CURRENT:
                    yield resource, units
            done += source.byte_size
            self._progress(phase, done, total)

    def _keep_head(self, head: Revision) -> BuildReport:
        comparison = compare(self._snapshot, self._stamps, self._writer.indexed())
        if comparison.stamps or comparison.forgotten:
            self._writer.restamp(comparison.stamps, comparison.forgotten)
        return self._report(head.revision_id, None)

    def _report(self, revision_id: int, publication: Publication | None) -> BuildReport:
        changes, encoding = self._snapshot.changes, self._encoding
        head = self._head
        return BuildReport(
            revision=revision_id,
            miv=self._snapshot.ref.miv,
            published=publication is not None,
            arms=self._recipe.arms,
            engine=self._recipe.engine_name,
            sources=len(self._snapshot.sources),
            sources_new=len(changes.new),
            sources_changed=len(changes.changed),
            sources_removed=len(changes.removed),
            sources_unreadable=len(changes.unreadable),
            resources=publication.resources if publication else head.resource_count if head else 0,
            units=publication.units if publication else head.unit_count if head else 0,
            units_added=publication.added_count if publication else 0,
            units_removed=publication.removed_count if publication else 0,
            aliased=len(encoding.inputs) if encoding else 0,
            encoded=encoding.encoded if encoding else 0,
            reused=encoding.reused if encoding else 0,
            degradations=tuple(
                DegradationNote(code=one.code, detail=one.detail) for one in self._snapshot.degradations
            ),
            seconds=self._seconds,
        )

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[phase] = round(time.perf_counter() - started, 3)


@contextmanager
def _stopping_at_the_deadline() -> Iterator[None]:
    try:
        yield
    except DeadlinePassed as stopped:
        message = "The build was stopped before it was complete; the last index keeps answering, build again."
        raise WorkbenchError("index_build_failed", message, stage="build") from stopped


def _recipe(embedder: Embedder | None, trigram: bool) -> Recipe:
    arms = (IDENTITY, WORDS, *((TRIGRAM,) if trigram else ()), *((DENSE,) if embedder else ()))
    identity = embedder.identity if embedder else None
    return Recipe(
        arms,
        identity.digest if identity else None,
        identity.name if identity else None,
        identity.dimension if identity else None,
        CHUNKER_VERSION,
        TOKEN_COUNTER,
        TERMS_VERSION,
        INPUT_VERSION,
    )


def _answers(head: Revision | None, snapshot: Snapshot) -> bool:
    return head is not None and head.miv == snapshot.ref.miv


def _continues(head: Revision | None, recipe: Recipe) -> bool:
    """Whether the head's units, words and encoder inputs were made by the same rules: what did not change can stay."""
    if head is None or WORDS not in head.arms:
        return False
    return _rules(head) == _rules(recipe)


def _rules(made: Revision | Recipe) -> tuple[str, ...]:
    return made.chunker_version, made.token_counter, made.terms_version, made.input_version


def _is_encoded(head: Revision | None, recipe: Recipe) -> bool:
    """Whether every unit of the head has a vector of the recipe's engine."""
    return head is not None and DENSE in head.arms and head.engine_identity == recipe.engine_identity


def _has_recipe(head: Revision, recipe: Recipe) -> bool:
    return head.arms == recipe.arms and head.engine_identity == recipe.engine_identity and _continues(head, recipe)
