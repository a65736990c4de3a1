"""The indexes of some projects beside their memories as they are now. Looks only: it never builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workbench.core.errors import WorkbenchError
from workbench.core.resource import Degradation
from workbench.index.freshness import HeadState, IndexLook, head_state, look_at
from workbench.index.snapshot import Snapshot
from workbench.models.base import Embedder
from workbench.storage.index_records import Revision
from workbench.storage.project_index import ProjectIndex
from workbench.storage.revisions import INTERRUPTED


class DiagnosedProject(Protocol):
    """What is needed of a project."""

    @property
    def project_id(self) -> str: ...
    @property
    def root(self) -> Path: ...
    @property
    def engine_name(self) -> str: ...
    @property
    def embedder(self) -> Embedder | None: ...
    @property
    def index(self) -> ProjectIndex: ...
    def capture(self) -> Snapshot: ...


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One index. engine: the one that the project is to be built by, which the head's need not be.

    target_miv: the memory's, empty before it was looked at. new, changed, removed: sources that the head does not have
    as they are now. unreadable: sources that no build can take, each with its reason. problem: why the last build
    failed, or why the memory or its index cannot be looked at.
    """

    project_id: str
    root: str
    engine: str
    state: HeadState
    head: Revision | None = None
    target_miv: str = ""
    new: int = 0
    changed: int = 0
    removed: int = 0
    unreadable: tuple[str, ...] = ()
    problem: str = ""


def seen_rows(projects: Sequence[DiagnosedProject]) -> tuple[IndexRow, ...]:
    """Every index as it is, at once: no memory is looked at."""
    return tuple(_row(project, None) for project in projects)


def compared_rows(projects: Sequence[DiagnosedProject]) -> tuple[IndexRow, ...]:
    """Every index beside its memory, which is listed anew; files that changed are read."""
    return tuple(map(_compared, projects))


def _compared(project: DiagnosedProject) -> IndexRow:
    try:
        return _row(project, project.capture())
    except WorkbenchError as error:
        return _row(project, None, error.message)


def _row(project: DiagnosedProject, memory: Snapshot | None, problem: str = "") -> IndexRow:
    named = (project.project_id, str(project.root), project.engine_name)
    try:
        look = look_at(project.index)
    except WorkbenchError as error:
        return IndexRow(*named, HeadState.FAILED, problem=error.message)
    engine = project.embedder
    state = head_state(look, memory, engine.identity.digest if engine else None)
    problem = problem or _failure(look)
    if memory is None:
        return IndexRow(*named, state, look.head, problem=problem)
    changes = memory.changes
    counts = (len(changes.new), len(changes.changed), len(changes.removed))
    return IndexRow(*named, state, look.head, memory.ref.miv, *counts, _details(memory.degradations), problem)


def _details(degradations: Sequence[Degradation]) -> tuple[str, ...]:
    return tuple(one.detail for one in degradations)


def _failure(look: IndexLook) -> str:
    if look.error == INTERRUPTED:
        return "The last build was interrupted; build the index again."
    return "" if look.error is None else f"The last build failed: {look.error}"
