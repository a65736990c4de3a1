"""What people and tools ask of the gate: write, append, supersede, retract, restore. Every one is one transaction.

Never changes anything past the gate. Whiteboard pages have operations of their own.
"""

from __future__ import annotations

import re
import uuid
from pathlib import PurePosixPath
from typing import NamedTuple

from workbench.core.errors import InputError
from workbench.core.resource import Layer, Status
from workbench.markdown.blocks import leaves_open
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.source import Entry, parse_source
from workbench.memory.layout import load_layout
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor
from workbench.memory.whiteboard.places import appended
from workbench.memory.writing.again import until_unmoved
from workbench.memory.writing.gate import WriteGate
from workbench.memory.writing.places import Misplaced, Place, find_place
from workbench.memory.writing.values import Commit, StateChange, Write

_SECTIONED = (Layer.LOG, Layer.REFLECTION)
_OPENS_SECTION = re.compile(r"(?:[^\S\n]*\n)*(?:<!--\s*memory:.*?-->\s*\n)?##\s")


class By(NamedTuple):
    """Who asks, why, and under which tx_id; without one the request is new."""

    actor: Actor = "model"
    reason: str = ""
    tx_id: str | None = None

    def transaction(self) -> str:
        """The tx_id of this request."""
        return self.tx_id or uuid.uuid4().hex


def write_source(gate: WriteGate, source_ref: str, text: str, expected_digest: str | None, by: By) -> Commit:
    """A source with this text. expected_digest: of the file as it was read; None for a new one. Raises: as the gate."""
    return gate.commit_mutation(
        by.transaction(), [Write(source_ref, text.encode(), expected_digest)], actor=by.actor, reason=by.reason
    )


def append_entry(gate: WriteGate, source_ref: str, text: str, by: By, *, title: str = "") -> Commit:
    """A new section at the end of a log or reflection, made where it is missing. Appenders lose nothing to each other.

    A text without a level-2 heading gets one of today's date and the title. Raises: as the gate; `invalid_argument`
    for other layers, and where the file or the text ends inside a code fence or comment.
    """
    tx_id = by.transaction()

    def append() -> Commit:
        place = _place(gate, source_ref)
        if place.layer not in _SECTIONED:
            message = f"{source_ref} is of the layer {place.layer}; append to a log or reflection, or write a file."
            raise InputError("invalid_argument", message)
        content, _ = _with_section(gate, source_ref, place, text, title)
        write = Write(source_ref, content, place.digest)
        return gate.commit_mutation(tx_id, [write], actor=by.actor, reason=by.reason)

    return until_unmoved(append)


def supersede(gate: WriteGate, resource_id: str, successor: str, by: By) -> Commit:
    """Let a resource that is there take the place of another one. Raises: as the gate."""
    return _change(gate, resource_id, StateChange(Status.SUPERSEDED, successor), by)


def supersede_by_text(
    gate: WriteGate, resource_id: str, text: str, by: By, *, source_ref: str | None = None, title: str = ""
) -> tuple[Commit, str]:
    """Write a new entry and let it take the place of an old one, in one transaction; also the new entry's id.

    source_ref: where the new one goes; by default a new file beside the old one, or the same log or reflection.
    Raises: as the gate; `invalid_argument` for a card, which is renamed on its page.
    """
    snapshot = gate.capture()
    member = snapshot.members.get(resource_id)
    if member is None:
        raise InputError("invalid_argument", f"No resource has the id {resource_id}.")
    ref = source_ref or _successor_ref(snapshot, member.source_ref)
    place = _place(gate, ref)
    if place.layer is Layer.WHITEBOARD:
        raise InputError("invalid_argument", f"{ref} is a whiteboard page; rename the card there instead.")
    if place.layer in _SECTIONED:
        content, new_id = _with_section(gate, ref, place, text, title)
    else:
        content, new_id = text.encode(), _id_of(_entries(ref, place.layer, text.encode())[0])
        place = place._replace(held=None)
    commit = gate.commit_mutation(
        by.transaction(),
        [Write(ref, content, place.digest)],
        {resource_id: StateChange(Status.SUPERSEDED, new_id)},
        actor=by.actor,
        reason=by.reason,
    )
    return commit, new_id


def retract(gate: WriteGate, resource_id: str, by: By) -> Commit:
    """Take a resource out of every answer; its text stays. Raises: as the gate; `invalid_argument` without a reason."""
    if not by.reason.strip():
        raise InputError("invalid_argument", f"Say why {resource_id} is retracted.")
    return _change(gate, resource_id, StateChange(Status.RETRACTED), by)


def restore(gate: WriteGate, resource_id: str, by: By) -> Commit:
    """Make a superseded or retracted resource current again. Raises: as the gate."""
    return _change(gate, resource_id, StateChange(Status.CURRENT), by)


def _change(gate: WriteGate, resource_id: str, change: StateChange, by: By) -> Commit:
    return gate.commit_mutation(by.transaction(), (), {resource_id: change}, actor=by.actor, reason=by.reason)


def _place(gate: WriteGate, source_ref: str) -> Place:
    try:
        return find_place(gate.root, load_layout(gate.root), source_ref)
    except Misplaced as error:
        message = f"Nothing was written. {source_ref}: {error}."
        raise InputError("invalid_argument", message, detail=[f"{source_ref}: {error}"]) from error


def _with_section(gate: WriteGate, ref: str, place: Place, text: str, title: str) -> tuple[bytes, str]:
    """The file with the section at its end, in its own line ends, and the id of the section."""
    text = text.replace("\r\n", "\n").strip("\n")
    if leaves_open(text):
        raise InputError("invalid_argument", "The text leaves a code fence or a comment open; close it first.")
    if not _OPENS_SECTION.match(text):
        heading = " ".join(f"{gate.today()} {title}".split())
        text = f"## {heading}\n\n{text}"
    section = text.encode()
    content = appended(place.held or b"", section)
    alone, together = _entries(ref, place.layer, section), _entries(ref, place.layer, content)
    added_entries = together[-len(alone) :]
    if [entry.body for entry in added_entries] != [entry.body for entry in alone]:
        message = f"{ref} ends inside a code fence or a comment, so that a new entry would be part of the last one."
        raise InputError("invalid_argument", message)
    return content, _id_of(added_entries[0])


def _entries(source_ref: str, layer: Layer, content: bytes) -> tuple[Entry, ...]:
    """What a source would hold. Raises: `invalid_argument` when that is nothing, or could not be read back."""
    try:
        entries = parse_source(source_ref, layer, content).entries
    except UnreadableSource as error:
        message = f"Nothing was written. {source_ref} could not be read back ({error.reason})."
        raise InputError("invalid_argument", message) from error
    if not entries:
        raise InputError("invalid_argument", f"Nothing was written. {source_ref} would hold no entry.")
    return entries


def _id_of(entry: Entry) -> str:
    return entry.claimed_id or entry.derived_id


def _successor_ref(snapshot: MemorySnapshot, source_ref: str) -> str:
    """The same source where it has sections, else the first free name beside it: `db.md`, `db-2.md`, `db-3.md`."""
    if snapshot.stamps[source_ref].source.layer in (*_SECTIONED, Layer.WHITEBOARD):
        return source_ref
    path = PurePosixPath(source_ref)
    stem, number = re.fullmatch(r"(.*?)(?:-(\d{1,6}))?", path.stem, re.DOTALL).groups()  # type: ignore[union-attr]
    number = int(number or 1) + 1
    while (ref := str(path.with_name(f"{stem}-{number}{path.suffix}"))) in snapshot.stamps:
        number += 1
    return ref
