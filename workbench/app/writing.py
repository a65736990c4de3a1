"""The write gate of one project, over the settings of its home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.core.limits import resolve_limits
from workbench.core.resource import SourceStamp
from workbench.core.settings import MutationMode, Settings
from workbench.memory.view import MemorySnapshot
from workbench.memory.writing.gate import WriteGate

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

    def __init__(self, indexed: Callable[[], Stamps], capture: Callable[[Stamps], MemorySnapshot]) -> None:
        self._indexed, self._capture = indexed, capture
        self._last: Stamps = {}

    def __call__(self) -> MemorySnapshot:
        """The memory as it is now. Raises: as `capture_snapshot`."""
        indexed = self._indexed()
        known = {ref: stamp for ref, stamp in self._last.items() if _agrees(stamp, indexed.get(ref))}
        snapshot = self._capture({**indexed, **known})
        self._last = snapshot.stamps
        return snapshot


def _agrees(seen: SourceStamp, indexed: SourceStamp | None) -> bool:
    if seen.error is not None:
        return False
    if indexed is None:
        return seen.source.source_epoch == 1
    return indexed.error is None and seen.source.source_epoch == indexed.source.source_epoch
