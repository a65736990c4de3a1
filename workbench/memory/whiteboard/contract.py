"""What a write to a whiteboard page may do: no card vanishes unsaid, and the person's zones stay as they are.

Pure. The gate asks `page_violations` for every write to a whiteboard source, so that no route goes around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from workbench.core.errors import InputError
from workbench.markdown.cards import BoardPage, read_page
from workbench.markdown.errors import UnreadableSource

Actor = Literal["model", "user"]
_NO_PAGE = BoardPage(b"", (), (), ())


@dataclass(frozen=True, slots=True)
class PageEdit:
    """What a writer says about a write to one page.

    renamed: old id -> the new id on this page. moved: old id -> the new id on another page. archived: id -> reason.
    """

    actor: Actor = "model"
    renamed: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    archived: Mapping[str, str] = field(default_factory=dict)


class Violation(NamedTuple):
    """One broken rule. rule: a stable word; place: a line of the new page or of the page before, or the entry."""

    rule: str
    place: str
    message: str


def page_violations(before: bytes | None, after: bytes, edit: PageEdit) -> tuple[Violation, ...]:
    """Everything that a write breaks, in a fixed order; empty when it may be done. before: None for a new page.

    A page that cannot be read now can be replaced by the person only: the model cannot have seen what it held.
    """
    try:
        new = read_page(after)
    except UnreadableSource as error:
        return (Violation("unreadable", "the new page", f"the page could not be read back ({error.reason})"),)
    try:
        old = _NO_PAGE if before is None else read_page(before)
    except UnreadableSource as error:
        if edit.actor == "user":
            old = _NO_PAGE
        else:
            message = f"the page cannot be read ({error.reason}); only the person can replace it"
            return (Violation("unreadable", "the page before", message),)
    faults = (Violation(fault.rule, f"line {fault.line}", fault.message) for fault in new.faults)
    return (
        *faults,
        *_card_violations(old, new, edit),
        *_entry_violations(old, new, edit),
        *_zone_violations(old, new, edit),
    )


def whiteboard_rejected(violations: Mapping[str, Sequence[Violation]]) -> InputError:
    """The refusal of a write. violations: by source_ref; the error's detail has each with its page and place."""
    findings = [{"page": page, **one._asdict()} for page, broken in violations.items() for one in broken]
    listed = "; ".join(f"{one['page']}, {one['place']}: {one['message']}" for one in findings)
    return InputError("whiteboard_rejected", f"Nothing was written. Correct the page: {listed}.", detail=findings)


def _card_violations(old: BoardPage, new: BoardPage, edit: PageEdit) -> Iterator[Violation]:
    titles = {card.card_id: card.title for card in new.cards}
    left = edit.renamed.keys() | edit.moved.keys() | edit.archived.keys()
    for card in old.cards:
        place = f"line {card.place.line_start} of the page before"
        if card.card_id not in titles and card.card_id not in left:
            message = f"the card {card.card_id} ({card.title}) is gone; keep it, or say that it is renamed or archived"
            yield Violation("card_lost", place, message)
        elif titles.get(card.card_id, card.title) != card.title:
            message = f"the card {card.card_id} has another title; a rename makes a new id: say {card.card_id}=NEW"
            yield Violation("title_changed", place, message)


def _entry_violations(old: BoardPage, new: BoardPage, edit: PageEdit) -> Iterator[Violation]:
    """Entries that name nothing, or say what the page does not."""
    before, now = {card.card_id for card in old.cards}, {card.card_id for card in new.cards}
    said = {"renamed": edit.renamed, "moved": edit.moved, "archived": edit.archived}
    times = Counter(card_id for entries in said.values() for card_id in entries)
    for kind, entries in said.items():
        for card_id, value in entries.items():
            for message in _entry_faults(kind, card_id, value, before, now):
                yield Violation("entry_contradicted", f"{kind} {card_id}", message)
            if times[card_id] > 1:
                yield Violation("entry_contradicted", f"{kind} {card_id}", "the card is said to leave in two ways")


def _entry_faults(kind: str, card_id: str, value: str, before: set[str], now: set[str]) -> Iterator[str]:
    if card_id not in before:
        yield "the page before has no such card"
    if card_id in now:
        yield "the card still stands on the page"
    if kind == "archived" and not value.strip():
        yield "say why"
    if kind == "renamed" and (value not in now or value in before):
        yield f"the page has no new card {value}"
    if kind == "moved" and value in now | before:
        yield f"{value} is a card of this page, not of another"


def _zone_violations(old: BoardPage, new: BoardPage, edit: PageEdit) -> Iterator[Violation]:
    """For the model: every zone of the page before stands in the new page, byte for byte, and no other one has text."""
    if edit.actor == "user":
        return
    kept = Counter(zone.raw for zone in new.zones)
    for zone in old.zones:
        kept[zone.raw] -= 1
        if kept[zone.raw] < 0:
            place = f"line {zone.span.line_start} of the page before"
            yield Violation("zone_changed", place, "the user zone is not as the person left it, byte for byte")
    for zone in new.zones:
        if kept[zone.raw] > 0 and not zone.is_blank:
            kept[zone.raw] -= 1
            yield Violation("zone_written", f"line {zone.span.line_start}", "only the person writes into a user zone")
