"""The write gate of one project, over the settings of its home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.core.limits import resolve_limits
from workbench.core.resource import SnapshotRef, SourceStamp
from workbench.core.settings import MutationMode
from workbench.memory.snapshot import MemorySnapshot
from workbench.memory.writing.gate import Commit, WriteGate

if TYPE_CHECKING:
    from workbench.app.project import Project


def open_gate(project: Project) -> WriteGate:
    """The gate of a project; every commit is the snapshot that the project knows from then on."""
    settings = project.home.settings
    gate = WriteGate(
        project.root,
        project.project_id,
        Captures(project),
        limits=resolve_limits(settings.limits),
        read_only=settings.memory_mutation_mode is MutationMode.READONLY,
    )

    def publish(commit: Commit) -> None:
        project.known = SnapshotRef(project.project_id, commit.miv, commit.record_state_version)

    gate.on_commit.append(publish)
    return gate


class Captures:
    """One capture after another, each of which parses only what changed since the one before.

    The index says which epoch a source is in; what the last capture saw is used where it agrees with that.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._last: Mapping[str, SourceStamp] = {}

    def __call__(self) -> MemorySnapshot:
        """The memory as it is now. Raises: as `capture_snapshot`."""
        indexed = self._project.index.stamps()
        known = {ref: stamp for ref, stamp in self._last.items() if _agrees(stamp, indexed.get(ref))}
        snapshot = self._project.capture(stamps={**indexed, **known})
        self._last = snapshot.stamps
        return snapshot


def _agrees(seen: SourceStamp, indexed: SourceStamp | None) -> bool:
    if seen.error is not None:
        return False
    if indexed is None:
        return seen.source.source_epoch == 1
    return indexed.error is None and seen.source.source_epoch == indexed.source.source_epoch
