"""One file -> its stamp: what it holds and which epoch and version it has, given what was known of it.

A file that cannot be read keeps its epoch and last digest, so that it is the same source when it comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.hashing import sha256_hex
from workbench.core.resource import GONE, UNSETTLED, EntryStamp, Source, SourceStamp
from workbench.markdown.errors import UnreadableSource
from workbench.memory.reading import OVER_SIZE, Reading, is_settled, read_stable
from workbench.memory.scan import Found, Scan
from workbench.memory.spool import Cut

if TYPE_CHECKING:
    from workbench.markdown.source import Entry


def is_unchanged(found: Found, known: SourceStamp | None) -> bool:
    """Whether the stamp proves, without opening the file, that nothing changed."""
    return (
        known is not None
        and known.changed_ns == found.changed_ns != UNSETTLED
        and known.error is None
        and known.inode == found.inode
        and known.source.byte_size == found.byte_size
        and known.source.layer is found.layer
    )


def stamp_file(found: Found, known: SourceStamp | None, most_bytes: int) -> tuple[SourceStamp, tuple[Cut, ...] | None]:
    """Read one file and stamp it. What was cut out of it comes along when it had to be parsed."""
    settled = is_settled(found.changed_ns)
    try:
        if found.error is not None:
            raise UnreadableSource(found.error)
        if found.byte_size > most_bytes:
            raise UnreadableSource(OVER_SIZE)
        reading = read_stable(found.path, most_bytes)
    except UnreadableSource as error:
        return _unread(found, known, error.reason), None
    changed = reading.changed_ns if settled and reading.changed_ns == found.changed_ns else UNSETTLED
    return stamp_reading(found, known, reading._replace(changed_ns=changed))


def stamp_reading(
    found: Found, known: SourceStamp | None, reading: Reading
) -> tuple[SourceStamp, tuple[Cut, ...] | None]:
    """The stamp of bytes that are, or are to be, those of a file."""
    source = _advanced(found, known, reading)
    stamp = SourceStamp(source, reading.changed_ns, reading.inode)
    if known is not None and known.entries and known.source == source:
        return replace(stamp, entries=known.entries), None
    # Heavy, and not needed while nothing has changed.
    from workbench.markdown.source import parse_source

    try:
        parsed = parse_source(source.source_ref, source.layer, reading.raw)
    except UnreadableSource as error:
        return replace(stamp, error=error.reason), None
    cuts = tuple(cut_entry(entry, entry.claimed_id or entry.derived_id) for entry in parsed.entries)
    entries = (
        EntryStamp(entry.claimed_id, entry.derived_id, resource.content_hash)
        for entry, (resource, _) in zip(parsed.entries, cuts, strict=True)
    )
    return replace(stamp, entries=tuple(entries)), cuts


def cut_entry(entry: Entry, resource_id: str) -> Cut:
    """An entry as a resource of this id, with its units."""
    return entry.resource(resource_id), entry.units(resource_id)


def absent_stamps(known: Mapping[str, SourceStamp], scan: Scan) -> Iterator[SourceStamp]:
    """Stamps of sources that were known and not found: unreadable when their folder could not be listed, else gone."""
    for source_ref, stamp in known.items():
        if source_ref in scan.found:
            continue
        if stamp.error == GONE:
            yield stamp
            continue
        reasons = [reason for folder, reason in scan.unlisted.items() if source_ref.startswith(folder)]
        yield replace(stamp, changed_ns=UNSETTLED, entries=(), error=reasons[0] if reasons else GONE)


def _advanced(found: Found, known: SourceStamp | None, reading: Reading) -> Source:
    """A new epoch when the file was re-created as something else (after it was gone, or in another layer)."""
    digest = sha256_hex(reading.raw)
    epoch, version = 1, 1
    if known is not None:
        before = known.source
        epoch, version = before.source_epoch, before.source_version
        if before.layer is not found.layer or (known.error == GONE and before.file_digest not in ("", digest)):
            epoch, version = epoch + 1, 1
        elif before.file_digest not in ("", digest):
            version += 1
    return Source(found.source_ref, found.layer, epoch, version, digest, len(reading.raw))


def _unread(found: Found, known: SourceStamp | None, reason: str) -> SourceStamp:
    source = known.source if known else Source(found.source_ref, found.layer, 1, 1, "", found.byte_size)
    return SourceStamp(source, UNSETTLED, found.inode, error=reason)
