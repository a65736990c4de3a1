"""What people and tools ask of the gate: write, append, supersede, retract, restore. Every one is one transaction.

Never changes anything past the gate. Whiteboard pages have operations of their own.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from workbench.core.errors import InputError
from workbench.core.resource import Layer, Status
from workbench.memory.layout import load_layout
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor
from workbench.memory.writing.again import until_unmoved
from workbench.memory.writing.gate import WriteGate
from workbench.memory.writing.ledger import successor_in
from workbench.memory.writing.places import Misplaced, Place, find_place
from workbench.memory.writing.sections import SECTIONED, encoded, entries_in, id_of, with_section
from workbench.memory.writing.values import Commit, StateChange, Write


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
        by.transaction(), [Write(source_ref, encoded(text), expected_digest)], actor=by.actor, reason=by.reason
    )


def append_entry(gate: WriteGate, source_ref: str, text: str, by: By, *, title: str = "") -> Commit:
    """A new section at the end of a log or reflection, made where it is missing. Appenders lose nothing to each other.

    A text that does not begin with a level-2 heading gets one of today's date and the title. Raises: as the gate;
    `invalid_argument` for other layers, for a text that is no section, and where the file ends inside a code fence.
    """
    tx_id = by.transaction()

    def append() -> Commit:
        place = _place(gate, source_ref)
        if place.layer not in SECTIONED:
            message = f"{source_ref} is of the layer {place.layer}; append to a log or reflection, or write a file."
            raise InputError("invalid_argument", message)
        write = Write(source_ref, with_section(source_ref, place, text, title, gate.today()).content, place.digest)
        return gate.commit_mutation(tx_id, [write], actor=by.actor, reason=by.reason)

    return _first_result(gate, by) or until_unmoved(append)


def supersede(gate: WriteGate, resource_id: str, successor: str, by: By) -> Commit:
    """Let a resource that is there take the place of another one. Raises: as the gate."""
    return _change(gate, resource_id, StateChange(Status.SUPERSEDED, successor), by)


def supersede_by_text(
    gate: WriteGate, resource_id: str, text: str, by: By, *, source_ref: str | None = None, title: str = ""
) -> tuple[Commit, str]:
    """Write a new entry and let it take the place of an old one, in one transaction; also the new entry's id.

    source_ref: where the new one goes; by default a new file beside the old one, or the same log or reflection.
    Raises: as the gate; `invalid_argument` for a card, which is renamed on its page, and for a tx_id that is another
    change's.
    """
    tx_id = by.transaction()
    commit = _first_result(gate, by) or _supersede_by_text(gate, resource_id, text, by, tx_id, source_ref, title)
    successor = successor_in(gate.root, tx_id, resource_id)
    if successor is None:
        raise InputError("invalid_argument", f"{tx_id} is another change than this one; give this one another tx_id.")
    return commit, successor


def retract(gate: WriteGate, resource_id: str, by: By) -> Commit:
    """Take a resource out of every answer; its text stays. Raises: as the gate; `invalid_argument` without a reason."""
    if not by.reason.strip():
        raise InputError("invalid_argument", f"Say why {resource_id} is retracted.")
    return _change(gate, resource_id, StateChange(Status.RETRACTED), by)


def restore(gate: WriteGate, resource_id: str, by: By) -> Commit:
    """Make a superseded or retracted resource current again. Raises: as the gate."""
    return _change(gate, resource_id, StateChange(Status.CURRENT), by)


def _supersede_by_text(
    gate: WriteGate, resource_id: str, text: str, by: By, tx_id: str, source_ref: str | None, title: str
) -> Commit:
    snapshot = gate.capture()
    member = snapshot.members.get(resource_id)
    if member is None:
        raise InputError("invalid_argument", f"No resource has the id {resource_id}.")
    ref = source_ref or _successor_ref(snapshot, member.source_ref)
    layer = _place(gate, ref).layer
    if layer is Layer.WHITEBOARD:
        raise InputError("invalid_argument", f"{ref} is a whiteboard page; rename the card there instead.")

    def commit(content: bytes, ids: Sequence[str], digest: str | None) -> Commit:
        if len(ids) > 1:
            message = f"The text is {len(ids)} entries; one takes the place of {resource_id}."
            raise InputError("invalid_argument", message)
        change = {resource_id: StateChange(Status.SUPERSEDED, *ids)}
        write = Write(ref, content, digest)
        return gate.commit_mutation(tx_id, [write], change, actor=by.actor, reason=by.reason)

    def append() -> Commit:
        place = _place(gate, ref)
        return commit(*with_section(ref, place, text, title, gate.today()), place.digest)

    if layer in SECTIONED:
        return until_unmoved(append)
    content = encoded(text)
    return commit(content, [id_of(entry) for entry in entries_in(ref, layer, content)], None)


def _first_result(gate: WriteGate, by: By) -> Commit | None:
    """What this request gave when it was made before; asked first, since the memory may have moved on since."""
    return None if by.tx_id is None else gate.first_result(by.tx_id)


def _change(gate: WriteGate, resource_id: str, change: StateChange, by: By) -> Commit:
    return gate.commit_mutation(by.transaction(), (), {resource_id: change}, actor=by.actor, reason=by.reason)


def _place(gate: WriteGate, source_ref: str) -> Place:
    try:
        return find_place(gate.root, load_layout(gate.root), source_ref)
    except Misplaced as error:
        message = f"Nothing was written. {source_ref}: {error}."
        raise InputError("invalid_argument", message, detail=[f"{source_ref}: {error}"]) from error


def _successor_ref(snapshot: MemorySnapshot, source_ref: str) -> str:
    """The same source where it has sections, else the first free name beside it: `db.md`, `db-2.md`, `db-3.md`."""
    if snapshot.stamps[source_ref].source.layer in (*SECTIONED, Layer.WHITEBOARD):
        return source_ref
    path, known = PurePosixPath(source_ref), snapshot.stamps
    stem, _, number = path.stem.rpartition("-")
    if not (number.isdecimal() and str(path.with_name(f"{stem}{path.suffix}")) in known):
        # A number that is part of the name, as in a date or `adr-7`: one more would be another thing's name.
        stem, number = path.stem, "1"
    refs = (str(path.with_name(f"{stem}-{count}{path.suffix}")) for count in itertools.count(int(number) + 1))
    return next(ref for ref in refs if ref not in known)
