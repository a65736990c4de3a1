"""Writing whiteboard pages through the gate: an edit of one page, and a card's move to another one.

Never changes a user zone for the model, and never loses a card: an archived one stands in the archive page of its page.
The text of a page before each write is kept by the gate.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator

from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import GONE, Layer
from workbench.markdown.cards import BoardPage, Card, read_page
from workbench.markdown.entries import ID_CHARS
from workbench.markdown.errors import UnreadableSource
from workbench.memory.layout import load_layout
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor, PageEdit, Violation, page_violations, whiteboard_rejected
from workbench.memory.whiteboard.migration import Migration, describe, propose
from workbench.memory.whiteboard.places import appended, archive_of, card_bytes, with_id, without_card
from workbench.memory.writing.gate import WriteGate
from workbench.memory.writing.values import Commit, Write

_ID = re.compile(r"(?!.*-->)\S+")


def write_whiteboard(
    gate: WriteGate,
    page: str,
    content: bytes,
    expected_digest: str | None,
    edit: PageEdit | None = None,
    *,
    reason: str = "",
    tx_id: str | None = None,
) -> Commit:
    """Replace a page that nobody else has changed since it was read. expected_digest: None for a page that is new.

    A renamed card is superseded by its new id; an archived one keeps id and status and goes to the archive page; all in
    one transaction. reason, tx_id: as of the gate. Raises, with nothing written: `whiteboard_rejected` with every
    violation, `digest_conflict` when the person was faster, and what else the gate raises.
    """
    done = None if tx_id is None else gate.first_result(tx_id)
    if done is not None:
        return done
    edit, snapshot = edit or PageEdit(), gate.capture()
    require_layer(gate, page, Layer.WHITEBOARD)
    before = read_source(snapshot, page)
    if digest_of(before) != expected_digest:
        raise _conflict(page, expected_digest, before)
    broken = (*page_violations(before, content, edit), *_taken_ids(snapshot, page, before, content))
    if broken:
        raise whiteboard_rejected({page: broken})
    writes = [Write(page, content, expected_digest)]
    if before is not None and edit.archived:
        kept = {zone.raw for zone in read_page(content).zones}
        writes.append(_archive_write(gate, snapshot, page, before, edit.archived, kept))
    return _commit(gate, writes, {page: edit}, edit.actor, reason, tx_id)


def move_card(gate: WriteGate, card_id: str, page: str, new_id: str, actor: Actor = "model") -> Commit:
    """Move a card to the end of another page, under a new id by which the old one is superseded.

    User zones stay where they are. Raises as `write_whiteboard`; `invalid_argument` when there is no such card, or the
    id cannot be given.
    """
    snapshot = gate.capture()
    require_layer(gate, page, Layer.WHITEBOARD)
    source, before, card = _find_card(snapshot, card_id)
    if source == page or _ID.fullmatch(new_id) is None or len(new_id) > ID_CHARS or _owner(snapshot, new_id):
        message = f"Give the card an id that is new, and a page that is not {source}; an id has no spaces."
        raise InputError("invalid_argument", message)
    zones = {zone.raw for zone in before.zones}
    target = read_source(snapshot, page)
    moved = appended(target, with_id(card_bytes(before, card, zones), card_id, new_id), _opening(page))
    writes = [
        Write(source, without_card(before, card), digest_of(before.raw)),
        Write(page, moved, digest_of(target)),
    ]
    return _commit(gate, writes, {source: PageEdit(actor, moved={card_id: new_id})}, actor)


def propose_migration(snapshot: MemorySnapshot, page: str) -> tuple[Migration, Write]:
    """What anchors and zones would be added to a page, and the write that adds them. Nothing is written.

    Raises: `invalid_argument` when there is no such page; `whiteboard_rejected` for a page whose zones, ids, fences or
    comments have to be mended first.
    """
    raw = read_source(snapshot, page)
    if raw is None or snapshot.stamps[page].error is not None:
        raise InputError("invalid_argument", f"There is no readable page {page}.")
    proposed = propose(raw, snapshot.members.keys() | snapshot.manifest.states.keys())
    faults = page_violations(raw, proposed, PageEdit("user"))
    if faults:
        raise whiteboard_rejected({page: faults})
    return describe(page, raw, proposed), Write(page, proposed, digest_of(raw))


def apply_migration(gate: WriteGate, page: str, shown_digest: str) -> Commit:
    """Write what `propose_migration` showed. The person does it: the model has no say in what becomes theirs.

    Raises as `propose_migration`; `digest_conflict` when it would not be the same any more.
    """
    shown, write = propose_migration(gate.capture(), page)
    if shown.digest != shown_digest:
        raise _conflict(page, shown_digest, write.content)
    return _commit(gate, [write], {}, "user")


def read_source(snapshot: MemorySnapshot, source_ref: str) -> bytes | None:
    """The bytes of a source as the snapshot saw them; None when it is not there.

    Raises: `digest_conflict` when it has changed since, or cannot be read.
    """
    stamp = snapshot.stamps.get(source_ref)
    if stamp is None or stamp.error == GONE:
        return None
    raw = snapshot.read_bytes(stamp.source)
    if raw is None:
        raise _conflict(source_ref, stamp.source.file_digest, None)
    return raw


def digest_of(raw: bytes | None) -> str | None:
    """What a writer expects who has read these bytes."""
    return None if raw is None else sha256_hex(raw)


def _conflict(source_ref: str, expected: str | None, found: bytes | None) -> InputError:
    message = f"Nothing was written: {source_ref} is not as it was read. Read it again and repeat the edit."
    finding = {"source_ref": source_ref, "expected": expected, "found": digest_of(found)}
    return InputError("digest_conflict", message, detail=[finding])


def _commit(
    gate: WriteGate,
    writes: Iterable[Write],
    edits: dict[str, PageEdit],
    actor: Actor,
    reason: str = "",
    tx_id: str | None = None,
) -> Commit:
    pages = {write.source_ref: edits.get(write.source_ref, PageEdit(actor)) for write in writes}
    tx_id = tx_id or f"whiteboard-{uuid.uuid4().hex}"
    return gate.commit_mutation(tx_id, tuple(writes), pages=pages, actor=actor, reason=reason)


def require_layer(gate: WriteGate, page: str, layer: Layer) -> None:
    """Raises: `invalid_argument` when `memory.toml` gives the page to another layer."""
    if load_layout(gate.root).layer_of(page) is not layer:
        message = f"{page} is not of the layer {layer}; see the globs of memory.toml, or name another page."
        raise InputError("invalid_argument", message)


def _archive_write(
    gate: WriteGate, snapshot: MemorySnapshot, page: str, before: bytes, archived: Collection[str], kept: set[bytes]
) -> Write:
    """The archive page with the archived cards, less the user zones that stay on the page."""
    archive = archive_of(page)
    require_layer(gate, archive, Layer.WHITEBOARD)
    old, now = read_page(before), read_source(snapshot, archive)
    content = now
    for card in old.cards:
        if card.card_id in archived:
            content = appended(content, card_bytes(old, card, kept), f"# Archive of {page}")
    if not {*archived} <= {card.card_id for card in read_page(content or b"").cards}:
        swallowed = Violation("card_lost", "its end", "an open code fence or comment would swallow the card; close it")
        raise whiteboard_rejected({archive: [swallowed]})
    return Write(archive, content or b"", digest_of(now))


def _taken_ids(snapshot: MemorySnapshot, page: str, before: bytes | None, content: bytes) -> Iterator[Violation]:
    """New cards under an id that another resource has, or that has been somebody's."""
    known = {card.card_id for card in _cards(before)}
    for card in _cards(content):
        if card.card_id not in known and (owner := _owner(snapshot, card.card_id)):
            place, message = f"line {card.place.line_start}", f"the id {card.card_id} is taken: {owner}; take a new one"
            yield Violation("duplicate_id", place, message)


def _cards(raw: bytes | None) -> tuple[Card, ...]:
    """The cards of a page; none where there is no page, or one that cannot be read."""
    try:
        return () if raw is None else read_page(raw).cards
    except UnreadableSource:
        return ()


def _owner(snapshot: MemorySnapshot, resource_id: str) -> str | None:
    """Where an id is in use, or what became of its resource."""
    if resource_id in snapshot.members:
        return snapshot.members[resource_id].source_ref
    return str(snapshot.manifest.status(resource_id)) if resource_id in snapshot.manifest.states else None


def _find_card(snapshot: MemorySnapshot, card_id: str) -> tuple[str, BoardPage, Card]:
    """The page of a card, and the card on it."""
    member = snapshot.members.get(card_id)
    raw = None if member is None else read_source(snapshot, member.source_ref)
    if member is not None and raw is not None and snapshot.stamps[member.source_ref].source.layer is Layer.WHITEBOARD:
        page = read_page(raw)
        for card in page.cards:
            if card.card_id == card_id:
                return member.source_ref, page, card
    raise InputError("invalid_argument", f"There is no card {card_id}; `workbench whiteboard check` lists them.")


def _opening(page: str) -> str:
    """The first line of a new page."""
    return f"# {page.rpartition('/')[2].rpartition('.')[0]}"
