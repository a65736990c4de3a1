"""Looks over a set of whiteboard pages: what is not linked, too old, or has no card. Reports, never repairs.

Rules are literal: exact ids, exact titles, the glossary, dates that are written down. What a model would have to judge
is reported as not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, timedelta

from workbench.core.resource import Status
from workbench.markdown.cards import Card, read_page
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.mentions import Mentions, Prose, Term, glossary_terms, links_in, read_prose
from workbench.memory.whiteboard.places import is_archive
from workbench.memory.whiteboard.report import Check, Coverage, Finding, LintReport, LintRule

STALE_DAYS = 30
GLOSSARY_KIND = "glossary"
LEAST_CARDS_FOR_A_TERM = 2
_DATED = re.compile(
    r"^[ \t>*_-]*(?:date|updated|checked|日期|更新|核对)[*_]*\s*[:：][\s*_]*(\d{4}-\d{2}-\d{2})\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class LintInput:
    """What a lint reads. pages: by source_ref; others: sources that are no pages, each read once and let go.

    unreadable: sources that are not there to be read, and why. status: of a card by its id.
    """

    pages: Mapping[str, bytes]
    others: Iterable[tuple[str, bytes]] = ()
    unreadable: Sequence[str] = ()
    status: Callable[[str], Status] = lambda _: Status.CURRENT


@dataclass(slots=True)
class _Around:
    """What stands around the cards: links from there, and what glossaries define."""

    links: set[str] = field(default_factory=set)
    linking_sources: int = 0
    glossaries: list[str] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)

    def add(self, source_ref: str, prose: Prose, text: str) -> None:
        self.links |= links_in(text)
        if prose.fields.get("kind") == GLOSSARY_KIND:
            self.glossaries.append(source_ref)
            self.terms += glossary_terms(prose)


@dataclass(frozen=True, slots=True)
class _Looked:
    """A card as the rules see it. text: its prose; links: what it refers to; dated: the day it was last cared for."""

    page: str
    card: Card
    text: str
    links: frozenset[str]
    dated: date | None

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.card.card_id, self.card.title})

    def finding(self, rule: LintRule, message: str, lines_below: int = 0) -> Finding:
        line = self.card.span.line_start + lines_below
        return Finding(rule=rule, page=self.page, card=self.card.card_id, line=line, message=message)


def lint(given: LintInput, today: date, stale_days: int = STALE_DAYS) -> LintReport:
    """The report. A page or source that cannot be read is skipped and named; no order of the input matters."""
    around, skipped = _Around(), list(given.unreadable)
    live: dict[str, list[_Looked]] = {}
    archived: dict[str, list[_Looked]] = {}
    for page, prose in _readable(sorted(given.pages.items()), skipped):
        on_page = list(_cards(page, given.pages[page], prose))
        (archived if is_archive(page) else live)[page] = on_page
        around.add(page, prose, _outside(on_page, prose))
    for source_ref, prose in _readable(given.others, skipped):
        around.add(source_ref, prose, prose.text)
        around.linking_sources += 1
    cards = [card for page in live.values() for card in page]
    known = cards + [card for page in archived.values() for card in page]
    findings = [
        *_orphans(cards, around.links),
        *_stale(cards, given.status, today - timedelta(days=min(stale_days, (today - date.min).days))),
        *_missing_cards(cards, known, sorted(around.terms)),
        *_missing_links(cards),
    ]
    findings.sort(key=lambda one: (one.page, one.line, one.rule, one.message))
    coverage = Coverage(
        pages=tuple(live),
        cards=len(cards),
        undated=sum(card.dated is None for card in cards),
        archive_pages=tuple(archived),
        linking_sources=around.linking_sources,
        glossaries=tuple(sorted(around.glossaries)),
        terms=len(around.terms),
        skipped=tuple(sorted(skipped)),
    )
    return LintReport(findings=tuple(findings), checks=tuple(_checks(findings, coverage)), coverage=coverage)


def _readable(sources: Iterable[tuple[str, bytes]], skipped: list[str]) -> Iterator[tuple[str, Prose]]:
    for source_ref, raw in sources:
        try:
            yield source_ref, read_prose(raw)
        except UnreadableSource as error:
            skipped.append(f"{source_ref}: {error.reason}")


def _cards(page: str, raw: bytes, prose: Prose) -> Iterator[_Looked]:
    fields = prose.fields
    of_page = _newest([fields.get("updated") or fields.get("date", "")])
    for card in read_page(raw).cards:
        text = prose.lines(card.span.line_start, card.span.line_end)
        yield _Looked(page, card, text, links_in(text), _newest(_DATED.findall(text)) or of_page)


def _newest(texts: list[str]) -> date | None:
    days = []
    for text in texts:
        try:
            days.append(date.fromisoformat(text[:10]))
        except ValueError:
            continue
    return max(days, default=None)


def _outside(cards: list[_Looked], prose: Prose) -> str:
    """The text of a page around its cards."""
    lines = prose.text.split("\n")
    for looked in cards:
        first, last = looked.card.span.line_start - 1, looked.card.span.line_end
        lines[first:last] = [""] * (last - first)
    return "\n".join(lines)


def _orphans(cards: list[_Looked], outside: Set[str]) -> Iterator[Finding]:
    """Cards that nothing links to; a link to oneself is none."""
    linked_from: dict[str, set[int]] = {}
    for number, card in enumerate(cards):
        for target in card.links:
            linked_from.setdefault(target, set()).add(number)
    for number, card in enumerate(cards):
        inbound = set().union(*(linked_from.get(name, ()) for name in card.names)) - {number}
        if not inbound and not card.names & outside:
            yield card.finding(LintRule.ORPHAN, "nothing links to this card by its id or its title")


def _stale(cards: list[_Looked], status: Callable[[str], Status], oldest: date) -> Iterator[Finding]:
    for card in cards:
        now = status(card.card.card_id)
        if now is not Status.CURRENT:
            yield card.finding(LintRule.STALE, f"the card is {now} and still stands on the page")
        if card.dated is not None and card.dated < oldest:
            yield card.finding(LintRule.STALE, f"dated {card.dated}, older than {oldest}")


def _missing_cards(cards: list[_Looked], known: list[_Looked], terms: list[Term]) -> Iterator[Finding]:
    """Terms that several cards use while no card's id or title names them. The place is the first use."""
    titles = Mentions([text.casefold() for card in known for text in card.names])
    bodies = [card.text.casefold() for card in cards]
    mentions = Mentions(bodies)
    for term in terms:
        names = [name.casefold() for name in term.names]
        if any(True for name in names for _ in titles.find(name)):
            continue
        uses: dict[int, int] = {}
        for number, at in (found for name in names for found in mentions.find(name)):
            uses[number] = min(at, uses.get(number, at))
        if len(uses) >= LEAST_CARDS_FOR_A_TERM:
            first, users = min(uses), ", ".join(cards[number].card.card_id for number in sorted(uses))
            message = f"the term {' / '.join(term.names)} has no card and is used by {users}"
            lines_below = bodies[first].count("\n", 0, uses[first])
            yield cards[first].finding(LintRule.MISSING_CARD, message, lines_below)


def _missing_links(cards: list[_Looked]) -> Iterator[Finding]:
    mentions = Mentions([card.text for card in cards])
    for other in cards:
        for number, at in mentions.find(other.card.title) if other.card.title else ():
            card = cards[number]
            if not other.names & (card.names | card.links):
                message = f"names {other.card.title} and has no link to [[{other.card.card_id}]]"
                yield card.finding(LintRule.MISSING_LINK, message, card.text.count("\n", 0, at))


def _checks(findings: list[Finding], coverage: Coverage) -> Iterator[Check]:
    notes = {
        LintRule.STALE: f"{coverage.undated} of {coverage.cards} cards have no date and cannot be too old",
        LintRule.MISSING_CARD: f"{coverage.terms} terms of {len(coverage.glossaries)} glossaries",
        LintRule.CONTRADICTION: "needs a model, and none was asked",
    }
    for rule in LintRule:
        checked = rule is not LintRule.CONTRADICTION
        count = sum(finding.rule is rule for finding in findings) if checked else None
        yield Check(rule=rule, checked=checked, findings=count, note=notes.get(rule, ""))
