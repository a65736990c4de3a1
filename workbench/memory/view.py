"""One immutable view of a project's memory: its sources, its resources and their units, read from disk as needed.

What is read later is what was captured: bytes that have another digest now are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import StorageError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import GONE, Degradation, Resource, SnapshotRef, Source, SourceStamp, Status
from workbench.core.unit import Unit
from workbench.markdown.errors import UnreadableSource
from workbench.memory.identity import Identities
from workbench.memory.reading import read_stable
from workbench.memory.spool import Spool
from workbench.memory.stamping import cut_entry
from workbench.memory.state import StateManifest

if TYPE_CHECKING:
    from workbench.markdown.source import ParsedSource


class Member(NamedTuple):
    """A resource as the snapshot knows it without reading its source."""

    source_ref: str
    content_hash: str
    status: Status
    superseded_by: str | None


class SourceChanges(NamedTuple):
    """Against the stamps that the capture was given: sets of source_ref. A file that came back is new."""

    new: frozenset[str]
    changed: frozenset[str]
    removed: frozenset[str]
    unreadable: frozenset[str]

    @classmethod
    def between(cls, before: Mapping[str, SourceStamp], now: Mapping[str, SourceStamp]) -> SourceChanges:
        """From one set of stamps to another. An unchanged source keeps its very stamp, so only others are compared."""
        moved = [(before.get(ref), stamp) for ref, stamp in now.items() if before.get(ref) is not stamp]
        served = {stamp.source.source_ref: old for old, stamp in moved if old is not None and old.error is None}
        serves = {stamp.source.source_ref: stamp for _, stamp in moved if stamp.error is None}
        return cls(
            new=frozenset(serves.keys() - served.keys()),
            changed=frozenset(ref for ref in serves.keys() & served.keys() if serves[ref].source != served[ref].source),
            removed=frozenset(served.keys() - serves.keys()),
            unreadable=frozenset(ref for ref, stamp in now.items() if stamp.error not in (None, GONE)),
        )


class SourceMoved(StorageError):
    """A source is no longer what the snapshot saw: capture again."""

    def __init__(self, source_ref: str) -> None:
        super().__init__("index_build_failed", f"{source_ref} changed meanwhile; build the index again.", stage="read")
        self.source_ref = source_ref


@dataclass(frozen=True)
class MemorySnapshot:
    """A frozen view. sources: readable ones by source_ref; members: every resource, current or not, by resource_id.

    stamps: what to remember for the next capture, those of unreadable and gone sources included.
    """

    ref: SnapshotRef
    sources: tuple[Source, ...]
    members: Mapping[str, Member]
    stamps: Mapping[str, SourceStamp]
    changes: SourceChanges
    degradations: tuple[Degradation, ...]
    manifest: StateManifest
    _identities: Identities = field(repr=False)
    _paths: Mapping[str, str] = field(repr=False)
    _spool: Spool = field(repr=False)

    @property
    def resources(self) -> Iterator[Resource]:
        """Every resource, current or not, in the order of `sources`; reads and parses one source at a time.

        Raises: `SourceMoved`.
        """
        for source in self.sources:
            for resource, _ in self.read(source.source_ref):
                yield resource

    @property
    def contested(self) -> frozenset[str]:
        """The ids that several resources claim, so that none of them has it."""
        return self._identities.contested

    def read(self, source_ref: str) -> tuple[tuple[Resource, tuple[Unit, ...]], ...]:
        """The resources of one source, each with its units, in the order of the file.

        Raises: `SourceMoved` when the source has to be read again and holds other bytes than the snapshot saw;
        `LookupError` when the snapshot has no such readable source.
        """
        stamp = self.stamps[source_ref]
        if stamp.error is not None:
            raise LookupError(source_ref)
        ids = [self._identities.id_of(entry) for entry in stamp.entries]
        cuts = self._spool.get(source_ref)
        if cuts is None or [resource.resource_id for resource, _ in cuts] != ids:
            entries = self._parse(stamp.source).entries
            cuts = tuple(cut_entry(entry, one) for entry, one in zip(entries, ids, strict=True))
        return tuple((self._with_status(resource), units) for resource, units in cuts)

    def names_of(self, path: str) -> Iterator[str]:
        """The source_refs under which a file was found: links give it several. path: absolute, without links."""
        return (source_ref for source_ref, known in self._paths.items() if known == path)

    def read_bytes(self, source: Source) -> bytes | None:
        """The bytes of a source of this snapshot; None when they are no longer there as the snapshot saw them."""
        path = self._paths[source.source_ref]
        if os.path.realpath(path) != path:
            return None
        try:
            raw = read_stable(path, source.byte_size).raw
        except UnreadableSource:
            return None
        return raw if sha256_hex(raw) == source.file_digest else None

    def _with_status(self, resource: Resource) -> Resource:
        member = self.members[resource.resource_id]
        if member.status is resource.status:
            return resource
        return replace(resource, status=member.status, superseded_by=member.superseded_by)

    def _parse(self, source: Source) -> ParsedSource:
        # Heavy, and not needed while nothing has changed.
        from workbench.markdown.source import parse_source

        raw = self.read_bytes(source)
        if raw is None:
            raise SourceMoved(source.source_ref)
        return parse_source(source.source_ref, source.layer, raw)
