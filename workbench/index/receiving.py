"""The receiving end of a transfer: gathers the pages of one transaction and builds from them, all or nothing.

What was received is believed only if the sources and states in it give the very miv that the sender named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from workbench.core.errors import InputError, WorkbenchError
from workbench.core.resource import Degradation, SnapshotRef, Source, SourceStamp
from workbench.index.builder import build_index
from workbench.index.transfer import Base, Outcome, Page, Receipt, Upsert
from workbench.memory.identity import resolve_identities
from workbench.memory.snapshot import members_of, memory_index_version
from workbench.memory.spool import Cut, Spool
from workbench.memory.state import ResourceState, StateManifest
from workbench.memory.view import Member, SourceChanges
from workbench.models.base import Embedder
from workbench.storage.project_index import ProjectIndex


class _Lacking(LookupError):
    """The index needs the text of a source that no page brought: only a full transfer helps."""


@dataclass(frozen=True)
class ReceivedSnapshot:
    """The `Snapshot` that the pages describe, over what the index held before. Texts come from the pages alone."""

    ref: SnapshotRef
    sources: tuple[Source, ...]
    members: Mapping[str, Member]
    stamps: Mapping[str, SourceStamp]
    changes: SourceChanges
    degradations: tuple[Degradation, ...]
    _cuts: Spool = field(repr=False)

    def read(self, source_ref: str) -> tuple[Cut, ...]:
        cuts = self._cuts.get(source_ref)
        if cuts is None:
            raise _Lacking(source_ref)
        return cuts


class _Gathered:
    """The pages of one transaction that have come, in any order, each as often as it likes."""

    def __init__(self, page: Page) -> None:
        self.transaction, self._count, self._full = page.transaction, page.count, page.full
        self._ref = SnapshotRef(page.project_id, page.target_miv, page.record_state_version)
        self._numbers: set[int] = set()
        self._stamps: dict[str, SourceStamp] = {}
        self._states: dict[str, ResourceState] = {}
        self._cuts = Spool()

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(number for number in range(1, self._count + 1) if number not in self._numbers)

    def take(self, page: Page) -> None:
        """Raises: `WorkbenchError("index_build_failed")` for a text that is not the one which its stamp names."""
        if page.number in self._numbers:
            return
        for upsert in page.upserts:
            self._check(upsert)
        self._numbers.add(page.number)
        self._states |= {key: ResourceState(*state) for key, state in page.states.items()}
        for stamp in (*page.tombstones, *(upsert.stamp for upsert in page.upserts)):
            self._stamps[stamp.source.source_ref] = stamp
        for upsert in page.upserts:
            if upsert.cuts is not None:
                self._cuts.put(upsert.stamp.source.source_ref, upsert.cuts)

    def snapshot(self, known: Mapping[str, SourceStamp]) -> ReceivedSnapshot:
        """What the pages say, over what the index knows.

        Raises: `WorkbenchError("index_build_failed")` when that is not what the sender meant.
        """
        stamps = dict(sorted({**({} if self._full else known), **self._stamps}.items()))
        manifest = StateManifest(self._ref.record_state_version, self._states)
        sources = tuple(stamp.source for stamp in stamps.values() if stamp.error is None)
        if memory_index_version(self._ref.project_id, sources, manifest) != self._ref.miv:
            raise _damaged("the sources and states")
        identities = resolve_identities(stamps.values())
        members = members_of(stamps, identities, manifest)
        changes = SourceChanges.between(known, stamps)
        return ReceivedSnapshot(self._ref, sources, members, stamps, changes, identities.degradations, self._cuts)

    @staticmethod
    def _check(upsert: Upsert) -> None:
        hashes = [entry.content_hash for entry in upsert.stamp.entries]
        if upsert.cuts is not None and [resource.content_hash for resource, _ in upsert.cuts] != hashes:
            raise _damaged(upsert.stamp.source.source_ref)


class Receiver:
    """The receiving end of one index. Thread-safe; one transaction is gathered at a time, the newest begun.

    embedder: the receiver's own; what it has encoded once it does not encode again.
    """

    def __init__(self, index: ProjectIndex, embedder: Embedder | None) -> None:
        self._index, self._embedder = index, embedder
        self._gathered: _Gathered | None = None
        self._lock = Lock()

    def receive(self, page: Page) -> Receipt:
        """Take a page in; with the last one that was missing, publish.

        Raises: `InputError("invalid_argument")` for another project's page; as `build_index`, and then the pages are
        kept: sending any of them again tries once more.
        """
        if page.project_id != self._index.project_id:
            raise InputError("invalid_argument", f"This index is of {self._index.project_id}, not {page.project_id}.")
        with self._lock:
            base = self._base()
            if base.miv == page.target_miv:
                return self._end("present", base)
            if base != page.base:
                return Receipt(outcome="refused", base=base)
            if self._gathered is None or self._gathered.transaction != page.transaction:
                self._gathered = _Gathered(page)
            try:
                self._gathered.take(page)
                missing = self._gathered.missing
                snapshot = None if missing else self._gathered.snapshot(self._index.stamps())
            except WorkbenchError:
                self._gathered = None
                raise
            return (
                Receipt(outcome="waiting", base=base, missing=missing) if snapshot is None else self._publish(snapshot)
            )

    def _publish(self, snapshot: ReceivedSnapshot) -> Receipt:
        try:
            build_index(self._index, snapshot, self._embedder)
        except _Lacking:
            return self._end("refused", self._base())
        return self._end("published", self._base())

    def _base(self) -> Base:
        head = self._index.head()
        return Base() if head is None else Base(miv=head.miv, revision=head.revision_id)

    def _end(self, outcome: Outcome, base: Base) -> Receipt:
        self._gathered = None
        return Receipt(outcome=outcome, base=base)


def _damaged(what: str) -> WorkbenchError:
    message = f"What was received of {what} is not what the sender named; send it again."
    return WorkbenchError("index_build_failed", message, stage="transfer")
