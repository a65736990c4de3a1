"""The write gate of one project, over the settings of its home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.core.limits import resolve_limits
from workbench.core.resource import SourceStamp
from workbench.core.settings import MutationMode, Settings
from workbench.memory.view import MemorySnapshot
from workbench.memory.writing.gate import WriteGate
from workbench.storage.index_records import Revision
from workbench.storage.project_index import ProjectIndex

Stamps = Mapping[str, SourceStamp]


def open_gate(root: Path, project_id: str, settings: Settings, capture: Callable[[], MemorySnapshot]) -> WriteGate:
    """The gate of a memory root, as the settings have it."""
    return WriteGate(
        root,
        project_id,
        capture,
        limits=resolve_limits(settings.limits),
        read_only=settings.memory_mutation_mode is MutationMode.READONLY,
        whiteboard_write=settings.whiteboard_write,
    )


class Captures:
    """One capture after another, each of which parses only what changed since the one before.

    The index says which epoch a source is in; what the last capture saw is used where it agrees with that.
    """

    def __init__(self, index: ProjectIndex, capture: Callable[[Stamps], MemorySnapshot]) -> None:
        self._index, self._capture = index, capture
        self._head: Revision | None = None
        self._indexed: Stamps = {}
        self._last: Stamps = {}

    def __call__(self) -> MemorySnapshot:
        """The memory as it is now. Raises: as `capture_snapshot`."""
        head = self._index.head()
        if head != self._head:
            self._head, self._indexed = head, self._index.stamps()
        known = {ref: stamp for ref, stamp in self._last.items() if _agrees(stamp, self._indexed.get(ref))}
        snapshot = self._capture({**self._indexed, **known})
        self._last = snapshot.stamps
        return snapshot


def _agrees(seen: SourceStamp, indexed: SourceStamp | None) -> bool:
    if seen.error is not None:
        return False
    if indexed is None:
        return seen.source.source_epoch == 1
    return indexed.error is None and seen.source.source_epoch == indexed.source.source_epoch
