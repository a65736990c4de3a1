"""Whether a hit may be used, and the bytes behind it: asked of the snapshot, never of the hit."""

from __future__ import annotations

from typing import Protocol

from workbench.core.candidate import ExclusionReason
from workbench.core.resource import Span, Status
from workbench.memory.view import MemorySnapshot, SourceMoved


class Hit(Protocol):
    """A candidate or an indexed unit."""

    @property
    def resource_id(self) -> str: ...
    @property
    def resource_hash(self) -> str: ...


class Located(Protocol):
    """A unit or an indexed unit."""

    @property
    def unit_key(self) -> str: ...
    @property
    def resource_id(self) -> str: ...
    @property
    def content_hash(self) -> str: ...


def validate_hit(hit: Hit, snapshot: MemorySnapshot) -> ExclusionReason | None:
    """None when the hit is a current resource of the snapshot with the same content; else why it must not be used."""
    member = snapshot.members.get(hit.resource_id)
    if member is None or member.status is not Status.CURRENT:
        return ExclusionReason.NOT_CURRENT
    return None if member.content_hash == hit.resource_hash else ExclusionReason.SNAPSHOT_MISMATCH


def read_verified_block(snapshot: MemorySnapshot, unit: Located) -> bytes | None:
    """The unit's bytes, from the snapshot's own source and span; None when either is not what it was.

    A path that comes with the unit is never looked at.
    """
    member = snapshot.members.get(unit.resource_id)
    if member is None:
        return None
    raw = snapshot.read_bytes(snapshot.stamps[member.source_ref].source)
    span = _span_of(unit, member.source_ref, snapshot)
    return None if raw is None or span is None else raw[span.byte_start : span.byte_end]


def _span_of(unit: Located, source_ref: str, snapshot: MemorySnapshot) -> Span | None:
    """Where the snapshot itself has the unit; None when it has no such unit with this content."""
    try:
        resources = snapshot.read(source_ref)
    except SourceMoved:
        return None
    for resource, units in resources:
        for own in units if resource.resource_id == unit.resource_id else ():
            if own.unit_key == unit.unit_key and own.content_hash == unit.content_hash:
                return own.span
    return None
