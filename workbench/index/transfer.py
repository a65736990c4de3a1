"""Brings an index elsewhere from one snapshot to the next: what changed, in pages, or everything where that cannot do.

Never publishes part of a transaction. A transaction names the head it starts from, by miv and revision, so that a
replay meets another head, or its own result, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer

from workbench.core.errors import NotReady
from workbench.core.hashing import digest
from workbench.core.resource import Resource, Source, SourceStamp, Status
from workbench.core.unit import Unit
from workbench.core.wire import Wire
from workbench.index.comparison import compare
from workbench.memory.snapshot import MemorySnapshot

TRANSFER_FORMAT = "index-transfer-1"
PAGE_BYTES = 1024 * 1024
Outcome = Literal["waiting", "published", "present", "refused"]


def _as_fields(resource: Resource) -> dict[str, Any]:
    return {field.name: getattr(resource, field.name) for field in fields(resource) if field.init}


SentResource = Annotated[Resource, PlainSerializer(_as_fields)]
"""A resource without the hash that it keeps of itself: the receiver computes its own."""


class Base(Wire):
    """A head, by the snapshot that it holds and by its number there; no head is (null, 0)."""

    miv: str | None = None
    revision: int = 0


class Upsert(Wire):
    """A source that is to stand as it does here. cuts: its resources with their units; null where they stay."""

    stamp: SourceStamp
    cuts: tuple[tuple[SentResource, tuple[Unit, ...]], ...] | None


class Page(Wire):
    """One of the `count` pages of a transaction, numbered from 1.

    base: the head that it starts from. full: the pages hold everything, so that the base counts as empty.
    tombstones: sources that serve no more, with what is to be remembered of them. states: on page 1, of resources
    that are not current: status and successor, by resource_id.
    """

    project_id: str
    transaction: str
    base: Base
    full: bool
    target_miv: str
    record_state_version: int
    number: int
    count: int
    upserts: tuple[Upsert, ...]
    tombstones: tuple[SourceStamp, ...]
    states: dict[str, tuple[Status, str | None]]


class Receipt(Wire):
    """What became of a page. outcome: `waiting` (for the pages `missing`), `published`, `present` (the target is the
    head already), or `refused`. base: the receiver's head now."""

    outcome: Outcome
    base: Base
    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sent:
    """What the other end holds, as far as is known: its head, and what that remembers and holds, as for `compare`."""

    base: Base
    stamps: Mapping[str, SourceStamp]
    indexed: Mapping[str, tuple[str, str]]


class Sender:
    """One project's sending end. It remembers what was last received; without that memory it sends everything.

    delta: off sends everything every time. page_bytes: of source text a page holds, but at least one source.
    """

    def __init__(self, *, delta: bool = True, page_bytes: int = PAGE_BYTES) -> None:
        self._delta, self._page_bytes = delta, page_bytes
        self._sent: _Sent | None = None

    def deliver(self, snapshot: MemorySnapshot, receive: Callable[[Page], Receipt]) -> Receipt:
        """Send until the other end holds the snapshot; a refusal is answered by one full transfer.

        Raises: `SourceMoved` when the memory changes meanwhile; `NotReady("index_busy")` when that is refused, too:
        somebody else moves that head.
        """
        receipt = _send(self.pages(snapshot), receive)
        if receipt.outcome == "refused":
            receipt = _send(self.full(snapshot, receipt.base), receive)
        if receipt.outcome not in ("published", "present"):
            raise NotReady("index_busy", "The other index is being changed by somebody else; send again later.")
        self._sent = _Sent(receipt.base, snapshot.stamps, _current(snapshot))
        return receipt

    def pages(self, snapshot: MemorySnapshot) -> Iterator[Page]:
        """The transaction from what was last received to this snapshot."""
        if self._sent is None or not self._delta:
            return self.full(snapshot, self._sent.base if self._sent else Base())
        comparison = compare(snapshot, self._sent.stamps, self._sent.indexed)
        if comparison.forgotten:
            return self.full(snapshot, self._sent.base)
        return self._paged(snapshot, self._sent.base, False, comparison.sources, comparison.stamps)

    def full(self, snapshot: MemorySnapshot, base: Base) -> Iterator[Page]:
        """The transaction that replaces whatever stands at `base`."""
        return self._paged(snapshot, base, True, snapshot.sources, tuple(snapshot.stamps.values()))

    def _paged(
        self,
        snapshot: MemorySnapshot,
        base: Base,
        full: bool,
        sources: Sequence[Source],
        stamps: Sequence[SourceStamp],
    ) -> Iterator[Page]:
        """sources: those whose text is sent. stamps: all that are not there as they are here."""
        text = {source.source_ref for source in sources}
        sent = [snapshot.stamps[ref] for ref in text] + [one for one in stamps if one.source.source_ref not in text]
        serving = sorted((one for one in sent if one.error is None), key=_ref)
        tombstones = tuple(sorted((one for one in sent if one.error is not None), key=_ref))
        groups = list(_grouped(serving, self._page_bytes)) or [[]]
        ref = snapshot.ref
        places = [[_ref(stamp) for stamp in group] for group in groups]
        transaction = digest([TRANSFER_FORMAT, ref.project_id, ref.miv, base.miv, base.revision, full, places])
        for number, group in enumerate(groups, start=1):
            yield Page(
                project_id=ref.project_id,
                transaction=transaction,
                base=base,
                full=full,
                target_miv=ref.miv,
                record_state_version=ref.record_state_version,
                number=number,
                count=len(groups),
                upserts=tuple(_upsert(snapshot, stamp, _ref(stamp) in text) for stamp in group),
                tombstones=tombstones if number == 1 else (),
                states=_states(snapshot) if number == 1 else {},
            )


def _send(pages: Iterable[Page], receive: Callable[[Page], Receipt]) -> Receipt:
    receipt = Receipt(outcome="refused", base=Base())
    for page in pages:
        receipt = receive(page)
        if receipt.outcome != "waiting":
            break
    return receipt


def _grouped(stamps: Sequence[SourceStamp], page_bytes: int) -> Iterator[list[SourceStamp]]:
    group: list[SourceStamp] = []
    size = 0
    for stamp in stamps:
        if group and size + stamp.source.byte_size > page_bytes:
            yield group
            group, size = [], 0
        group.append(stamp)
        size += stamp.source.byte_size
    if group:
        yield group


def _upsert(snapshot: MemorySnapshot, stamp: SourceStamp, with_text: bool) -> Upsert:
    return Upsert(stamp=stamp, cuts=snapshot.read(_ref(stamp)) if with_text else None)


def _current(snapshot: MemorySnapshot) -> dict[str, tuple[str, str]]:
    """What an index of the snapshot holds: resource_id -> (source_ref, content_hash)."""
    members = snapshot.members.items()
    return {key: (one.source_ref, one.content_hash) for key, one in members if one.status is Status.CURRENT}


def _states(snapshot: MemorySnapshot) -> dict[str, tuple[Status, str | None]]:
    states = snapshot.manifest.states.items()
    return {key: (one.status, one.superseded_by) for key, one in states if one.status is not Status.CURRENT}


def _ref(stamp: SourceStamp) -> str:
    return stamp.source.source_ref
