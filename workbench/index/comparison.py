"""What of a snapshot the index does not hold yet: a cheap pass over hashes, without reading a single source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from workbench.core.resource import Source, SourceStamp, Status
from workbench.index.snapshot import Snapshot


class Comparison(NamedTuple):
    """sources: those to read, in order of source_ref. removed: resources of the index to drop, sorted.

    stamps: those to store; forgotten: source_refs whose stamp to drop.
    """

    sources: tuple[Source, ...]
    removed: tuple[str, ...]
    stamps: tuple[SourceStamp, ...]
    forgotten: tuple[str, ...]


def compare(
    snapshot: Snapshot, stamps: Mapping[str, SourceStamp], indexed: Mapping[str, tuple[str, str]]
) -> Comparison:
    """Against what the index remembers. indexed: resource_id -> (source_ref, content_hash); both empty start over."""
    wanted = _by_source(snapshot)
    current: dict[str, dict[str, str]] = {}
    for resource_id, (source_ref, content_hash) in indexed.items():
        current.setdefault(source_ref, {})[resource_id] = content_hash
    due = []
    for source in snapshot.sources:
        known = stamps.get(source.source_ref)
        same = known is not None and known.error is None and _is_same(known.source, source)
        if not same or current.get(source.source_ref, {}) != wanted.get(source.source_ref, {}):
            due.append(source)
    kept = {resource_id for resources in wanted.values() for resource_id in resources}
    return Comparison(
        tuple(due),
        tuple(sorted(indexed.keys() - kept)),
        tuple(stamp for ref, stamp in snapshot.stamps.items() if not _is_same(stamps.get(ref), stamp)),
        tuple(sorted(stamps.keys() - snapshot.stamps.keys())),
    )


def _is_same(one: object, other: object) -> bool:
    """Equality; what was not read again is the very same object, which is seen much faster."""
    return one is other or one == other


def _by_source(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    """source_ref -> its current resources with their content hashes."""
    resources: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for resource_id, member in snapshot.members.items():
        if member.status is Status.CURRENT:
            resources[member.source_ref][resource_id] = member.content_hash
    return resources
