"""What a build asks of a snapshot: the memory as it is now, and a frozen corpus, are indexed by the same code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from workbench.core.resource import Degradation, Resource, SnapshotRef, Source, SourceStamp
from workbench.core.unit import Unit
from workbench.memory.view import Member, SourceChanges


class Snapshot(Protocol):
    """As in `MemorySnapshot`, field by field; of a source that is not due, nothing is ever read."""

    @property
    def ref(self) -> SnapshotRef: ...
    @property
    def sources(self) -> tuple[Source, ...]: ...
    @property
    def members(self) -> Mapping[str, Member]: ...
    @property
    def stamps(self) -> Mapping[str, SourceStamp]: ...
    @property
    def changes(self) -> SourceChanges: ...
    @property
    def degradations(self) -> tuple[Degradation, ...]: ...
    def read(self, source_ref: str) -> tuple[tuple[Resource, tuple[Unit, ...]], ...]: ...
