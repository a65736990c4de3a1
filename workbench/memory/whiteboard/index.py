"""The whiteboard as a snapshot has it: its cards as resources, a page as a person checks it, and what a lint reads."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.core.resource import GONE, Layer, Resource, Status
from workbench.core.wire import Wire
from workbench.markdown.cards import read_page
from workbench.memory.view import MemorySnapshot, SourceMoved
from workbench.memory.whiteboard.lint import GLOSSARY_KIND, LintInput

_REFERS = (b"[[", b"](", b"]:", GLOSSARY_KIND.encode())


class CheckedCard(Wire):
    """A card as its page has it. l0: its line in a catalogue; archived: the reason, where it was archived."""

    card_id: str
    title: str
    line: int
    l0: str
    status: Status
    superseded_by: str | None
    archived: str | None


class CheckedFault(Wire):
    """What is wrong with a page, and on which line."""

    rule: str
    line: int
    message: str


class PageCheck(Wire):
    """A page. digest: what a writer says it expects; zones: the lines at which user zones begin."""

    page: str
    digest: str
    cards: tuple[CheckedCard, ...]
    zones: tuple[int, ...]
    faults: tuple[CheckedFault, ...]


def derive_index(snapshot: MemorySnapshot, page: str) -> tuple[Resource, ...]:
    """The cards of a page as resources of this very snapshot, current or not, in the order of the page.

    Raises: `LookupError` when the snapshot has no such readable page; `SourceMoved`.
    """
    cards = {card.span for card in read_page(page_bytes(snapshot, page)).cards}
    return tuple(resource for resource, _ in snapshot.read(page) if resource.span in cards)


def check_page(snapshot: MemorySnapshot, page: str) -> PageCheck:
    """What stands on a page, and what is wrong with it. Raises as `derive_index`."""
    board = read_page(page_bytes(snapshot, page))
    return PageCheck(
        page=page,
        digest=snapshot.stamps[page].source.file_digest,
        cards=tuple(
            CheckedCard(
                card_id=card.resource_id,
                title=card.title,
                line=card.span.line_start,
                l0=card.l0,
                status=card.status,
                superseded_by=card.superseded_by,
                archived=_reason(snapshot, card.resource_id),
            )
            for card in derive_index(snapshot, page)
        ),
        zones=tuple(zone.span.line_start for zone in board.zones),
        faults=tuple(CheckedFault(rule=one.rule, line=one.line, message=one.message) for one in board.faults),
    )


def page_bytes(snapshot: MemorySnapshot, page: str) -> bytes:
    """The bytes of a readable page. Raises as `derive_index`."""
    stamp = snapshot.stamps.get(page)
    if stamp is None or stamp.error is not None or stamp.source.layer is not Layer.WHITEBOARD:
        raise LookupError(page)
    raw = snapshot.read_bytes(stamp.source)
    if raw is None:
        raise SourceMoved(page)
    return raw


def pages_of(snapshot: MemorySnapshot) -> tuple[str, ...]:
    """The readable whiteboard pages."""
    return tuple(source.source_ref for source in snapshot.sources if source.layer is Layer.WHITEBOARD)


def lint_input(snapshot: MemorySnapshot) -> LintInput:
    """What a lint reads of a memory: every page, and of the other sources with something current those that refer."""
    errors = ((ref, stamp.error) for ref, stamp in snapshot.stamps.items())
    return LintInput(
        pages={page: page_bytes(snapshot, page) for page in pages_of(snapshot)},
        others=_other_sources(snapshot),
        unreadable=tuple(f"{ref}: {error}" for ref, error in errors if error not in (None, GONE)),
        status=snapshot.manifest.status,
    )


def _reason(snapshot: MemorySnapshot, card_id: str) -> str | None:
    mark = snapshot.manifest.archived.get(card_id)
    return str(mark.get("reason", "")) if isinstance(mark, dict) else None


def _other_sources(snapshot: MemorySnapshot) -> Iterator[tuple[str, bytes]]:
    current = {member.source_ref for member in snapshot.members.values() if member.status is Status.CURRENT}
    for source in snapshot.sources:
        if source.layer is Layer.WHITEBOARD or source.source_ref not in current:
            continue
        raw = snapshot.read_bytes(source)
        if raw is None:
            raise SourceMoved(source.source_ref)
        if any(sign in raw for sign in _REFERS):
            yield source.source_ref, raw
