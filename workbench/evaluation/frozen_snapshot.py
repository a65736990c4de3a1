"""A frozen corpus as a snapshot that an index can be built of: every resource is a source of its own, and current.

Texts are read, and checked, from the archive; no file of the memory is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from workbench.core.hashing import digest
from workbench.core.resource import (
    UNSETTLED,
    Degradation,
    EntryStamp,
    Resource,
    SnapshotRef,
    Source,
    SourceStamp,
    Span,
    Status,
)
from workbench.evaluation.frozen import FrozenCorpus, FrozenResource
from workbench.markdown.frozen import cut_frozen
from workbench.memory.spool import Cut, Spool
from workbench.memory.view import Member, SourceChanges
from workbench.storage.corpus_table import CorpusEntry

FROZEN_FORMAT = "frozen-corpus-1"


class FrozenSnapshot:
    """The `Snapshot` of one frozen corpus. Equal corpora have one `miv`: sha256 over the format and all entries.

    known: what the index remembers of its sources.
    """

    degradations: tuple[Degradation, ...] = ()

    def __init__(self, project_id: str, corpus: FrozenCorpus, known: Mapping[str, SourceStamp]) -> None:
        self._corpus, self._known, self._spool = corpus, known, Spool()
        self.ref = SnapshotRef(project_id, digest([FROZEN_FORMAT, corpus.entries]), 0)
        self.stamps = {entry.resource_id: _stamp(entry) for entry in corpus.entries}
        self.sources = tuple(stamp.source for stamp in self.stamps.values())
        self.members = {
            entry.resource_id: Member(entry.resource_id, entry.resource_hash, Status.CURRENT, None)
            for entry in corpus.entries
        }

    @cached_property
    def changes(self) -> SourceChanges:
        """Against `known`."""
        return SourceChanges.between(self._known, self.stamps)

    def read(self, source_ref: str) -> tuple[Cut, ...]:
        """The resource with its units. Raises: `StorageError("run_corpus_incomplete")`."""
        cuts = self._spool.get(source_ref)
        if cuts is None:
            frozen = self._corpus.read(source_ref)
            entry = frozen.entry
            units = cut_frozen(entry.resource_id, entry.layer, frozen.description, frozen.body)
            cuts = ((_resource(frozen), units),)
            self._spool.put(source_ref, cuts)
        return cuts


def _stamp(entry: CorpusEntry) -> SourceStamp:
    """The digest covers path and scope too: they can change under an equal text. The size is unknown: each counts 1."""
    source = Source(entry.resource_id, entry.layer, 0, 0, digest(entry), 1)
    return SourceStamp(source, UNSETTLED, 0, (EntryStamp(None, entry.resource_id, entry.resource_hash),))


def _resource(frozen: FrozenResource) -> Resource:
    entry, lines = frozen.entry, frozen.body.count("\n") + 1
    return Resource(
        resource_id=entry.resource_id,
        layer=entry.layer,
        scope=entry.scope,
        kind=entry.kind,
        path=entry.path,
        title=frozen.title,
        description=frozen.description,
        body=frozen.body,
        source_ref=entry.resource_id,
        span=Span(0, len(frozen.body.encode("utf-8")), 1, lines),
    )
