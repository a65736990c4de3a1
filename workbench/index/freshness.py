"""How fresh an index is: what answers now, what is being built, why the last build failed, and what has changed since.

Never builds. Without a snapshot to compare with it costs three rows, whatever the size of the memory.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from workbench.index.snapshot import Snapshot
from workbench.storage.index_records import Revision
from workbench.storage.project_index import ProjectIndex


class HeadState(StrEnum):
    """`unknown`: there is a head, and nobody has compared it with the memory yet."""

    CURRENT = "current"
    BEHIND = "behind"
    BUILDING = "building"
    FAILED = "failed"
    NONE = "none"
    UNKNOWN = "unknown"


class IndexLook(NamedTuple):
    """head: what answers; None before the first build. error: why the last build failed, if none succeeded since."""

    head: Revision | None
    building_miv: str | None
    error: str | None


def look_at(index: ProjectIndex) -> IndexLook:
    """An index as it is now. Raises: `NotReady`, `StorageError`."""
    error = index.last_error()
    with index.reader() as reader:
        return IndexLook(reader.revision, reader.building_miv(), error)


def head_state(look: IndexLook, memory: Snapshot | None, engine_identity: str | None) -> HeadState:
    """Where an index stands against a snapshot of its memory (None: not compared) and its engine (None: by any).

    A build under way comes before a failure, and both before what they are about.
    """
    if look.building_miv is not None:
        return HeadState.BUILDING
    if look.error is not None:
        return HeadState.FAILED
    if look.head is None:
        return HeadState.NONE
    if engine_identity not in (None, look.head.engine_identity):
        return HeadState.BEHIND
    if memory is None:
        return HeadState.UNKNOWN
    return HeadState.CURRENT if memory.ref.miv == look.head.miv else HeadState.BEHIND
