"""What a change must keep: nobody's newer edit lost, readable sources, one owner for each id, nothing that was taken
back coming back unasked.

Pure over a snapshot and the bytes on the disk; every finding at once, each with its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from workbench.core.hashing import sha256_hex
from workbench.core.resource import UNSETTLED, Resource, Source, SourceStamp, Status
from workbench.memory.identity import Identities, resolve_identities
from workbench.memory.layout import Layout
from workbench.memory.reading import OVER_SIZE, Reading
from workbench.memory.scan import Found
from workbench.memory.snapshot import memory_index_version
from workbench.memory.stamping import stamp_reading
from workbench.memory.state import ResourceState, StateManifest
from workbench.memory.view import MemorySnapshot
from workbench.memory.writing.places import Misplaced, Place, find_place, read_held
from workbench.memory.writing.values import StateChange, Write

_ANCHOR = re.compile(r"<!--\s*(?:memory|card):.*?-->")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")


@dataclass(frozen=True)
class Target:
    """One write with the place it goes to, and what its source will hold.

    asked: the source_ref that the writer named; the write is that of another name of the same file where it differs.
    """

    asked: str
    write: Write
    place: Place
    stamp: SourceStamp
    resources: tuple[Resource, ...]

    @cached_property
    def before(self) -> str | None:
        """The digest of the file as it is on the disk."""
        return self.place.digest

    @cached_property
    def after(self) -> str:
        """The digest of the new bytes."""
        return sha256_hex(self.write.content)

    @property
    def changes(self) -> bool:
        """Whether the file will hold other bytes than now."""
        return self.before != self.after

    def as_now(self, root: Path) -> Target:
        """The same write against the file as it is by now."""
        return replace(self, place=self.place._replace(held=read_held(root / self.place.path)))


class Planned:
    """The memory as it will be once these targets are written."""

    def __init__(self, snapshot: MemorySnapshot, targets: Sequence[Target]) -> None:
        self.stamps = {**snapshot.stamps, **{one.write.source_ref: one.stamp for one in targets}}
        self.identities: Identities = resolve_identities(self.stamps.values())
        # Other names of a written file claim what it claims, and take nothing from anybody.
        names = {one.write.source_ref for one in targets if one.write.source_ref != one.asked}
        own = [stamp for source_ref, stamp in self.stamps.items() if source_ref not in names]
        self.taken = resolve_identities(own).contested if names else self.identities.contested
        self.ids = {self.identities.id_of(entry) for stamp in self.stamps.values() for entry in stamp.entries}

    def miv(self, project_id: str, manifest: StateManifest) -> str:
        """The identity of that memory under a manifest."""
        sources: tuple[Source, ...] = tuple(stamp.source for stamp in self.stamps.values() if stamp.error is None)
        return memory_index_version(project_id, sources, manifest)


def find_targets(
    root: Path, layout: Layout, snapshot: MemorySnapshot, writes: Sequence[Write], most_bytes: int
) -> tuple[list[Target], list[str]]:
    """The writes that can be placed, under every name of their files, and what is wrong with the others."""
    targets, findings = [], []
    for write in writes:
        try:
            place = find_place(root, layout, write.source_ref)
        except Misplaced as error:
            findings.append(f"{write.source_ref}: {error}")
            continue
        targets.append(_target(write.source_ref, write, place, snapshot, most_bytes))
    times = Counter(one.place.path for one in targets)
    findings += [f"{path}: it is written {count} times at once" for path, count in times.items() if count > 1]
    others = [
        _target(one.asked, replace(one.write, source_ref=name), one.place._replace(layer=layer), snapshot, most_bytes)
        for one in targets
        for name in snapshot.names_of(str(root.resolve() / one.place.path))
        if name != one.asked and (layer := layout.layer_of(name)) is not None
    ]
    return targets + others, findings


def digest_conflicts(targets: Sequence[Target]) -> list[dict[str, str | None]]:
    """Every file that is not as its writer read it."""
    return [
        {"source_ref": one.write.source_ref, "expected": one.write.expected_digest, "found": one.before}
        for one in targets
        if one.write.source_ref == one.asked and one.write.expected_digest != one.before
    ]


def unreadable_writes(targets: Sequence[Target], most_bytes: int) -> Iterator[str]:
    """Writes that would make a source that cannot be read back."""
    for one in targets:
        if one.stamp.error == OVER_SIZE:
            size = len(one.write.content)
            yield f"{one.write.source_ref}: {size} bytes are more than the {most_bytes} that a source may have"
        elif one.stamp.error is not None:
            yield f"{one.write.source_ref}: it could not be read back ({one.stamp.error})"


def contested_ids(snapshot: MemorySnapshot, planned: Planned) -> Iterator[str]:
    """Ids that a write would take from whoever has them: a status would change by it."""
    for claim in sorted(planned.taken - snapshot.contested):
        yield f"{claim}: another resource has this id already; give the new one another"


def broken_states(
    changes: Mapping[str, StateChange], snapshot: MemorySnapshot, planned: Planned, manifest: StateManifest
) -> Iterator[str]:
    """Status changes that name nothing, or lead nowhere. manifest: with the changes applied."""
    known = {*planned.ids, *snapshot.members, *snapshot.manifest.states}
    for resource_id, change in changes.items():
        if resource_id not in known:
            yield f"{resource_id}: no resource has this id"
        successor = change.superseded_by
        if change.status is not Status.SUPERSEDED:
            if successor is not None:
                yield f"{resource_id}: only a superseded resource has a successor"
        elif successor is None:
            yield f"{resource_id}: say which resource supersedes it"
        elif successor == resource_id:
            yield f"{resource_id}: a resource cannot supersede itself"
        elif successor not in planned.ids:
            yield f"{resource_id}: no resource has the id of its successor {successor}"
        elif _leads_back(resource_id, manifest):
            yield f"{resource_id}: its successor {successor} is superseded by itself in the end"
        elif manifest.status(successor) is not Status.CURRENT:
            yield f"{resource_id}: its successor {successor} is {manifest.status(successor)}; name a current one"


def resurrections(
    targets: Sequence[Target],
    snapshot: MemorySnapshot,
    planned: Planned,
    manifest: StateManifest,
    withdrawn: Mapping[str, str],
) -> Iterator[str]:
    """Texts that were retracted and would come back, under their own id or another one.

    withdrawn: wording -> the id that was retracted with it. A section that stays as it is may be written again.
    """
    for target in targets:
        entries = zip(target.stamp.entries, target.resources, strict=True) if target.changes else ()
        for entry, resource in entries:
            resource_id = planned.identities.id_of(entry)
            known = snapshot.members.get(resource_id)
            if known is not None and known.content_hash == entry.content_hash:
                continue
            twin = withdrawn.get(wording(resource))
            if manifest.status(resource_id) is Status.RETRACTED:
                yield f"{resource_id}: it is retracted; restore it first, or write under another id"
            elif twin is not None and twin != resource_id:
                yield f"{resource_id}: the same text is retracted as {twin}; restore that one instead"


def wording(resource: Resource) -> str:
    """The digest of what a resource says, whatever its headings, anchors, spaces and case."""
    lines = _ANCHOR.sub("", resource.body).splitlines()
    words = " ".join(" ".join(line for line in lines if not _HEADING.match(line.lstrip())).split())
    return sha256_hex((words or resource.title).casefold())


def state_of(change: StateChange) -> ResourceState:
    """A change as the manifest keeps it."""
    return ResourceState(change.status, change.superseded_by)


def _target(asked: str, write: Write, place: Place, snapshot: MemorySnapshot, most_bytes: int) -> Target:
    known, size = snapshot.stamps.get(write.source_ref), len(write.content)
    found = Found(write.source_ref, place.path, place.layer, size, UNSETTLED, 0)
    if size > most_bytes:
        source = Source(write.source_ref, place.layer, 1, 1, "", size)
        return Target(asked, write, place, SourceStamp(source, UNSETTLED, 0, error=OVER_SIZE), ())
    # Without the old entries the bytes are parsed even where they are the same.
    bare = None if known is None else SourceStamp(known.source, known.changed_ns, known.inode, error=known.error)
    stamp, cuts = stamp_reading(found, bare, Reading(write.content, UNSETTLED, 0))
    return Target(asked, write, place, stamp, tuple(resource for resource, _ in cuts or ()))


def _leads_back(resource_id: str, manifest: StateManifest) -> bool:
    seen, following = {resource_id}, manifest.superseded_by(resource_id)
    while following is not None and following not in seen:
        seen.add(following)
        following = manifest.superseded_by(following)
    return following is not None
