"""Whiteboard pages for tests: written by hand, and drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

LF, CRLF, BOM = "\n", "\r\n", b"\xef\xbb\xbf"
ZONE = "<!-- user:begin -->\n{}\n<!-- user:end -->\n"
WORDS = (
    "depots",
    "阈值",
    "naïve",
    "a `b`",
    "- item",
    "> quote",
    "1. one",
    "| a | b |",
    "**bold**",
    "é́",
    "    code",
    "",
)

BOARD = (
    "# Board\n\nWhat is not decided.\n\n"
    "<!-- card:queue -->\n### Queue\n\nWe use one queue.\n\n"
    "<!-- card:depots -->\n### Silence alarm\n\nSee [[queue]].\n\n"
    + ZONE.format("林悦：先不要动。\nAsk Verhulst.")
    + "\n"
    "<!-- card:price -->\n### Price\n\nIn December.\n\n" + ZONE.format("Mine.")
)
"""Three cards; one zone inside a card, one at the end of the page."""


def card(card_id: str, title: str, body: str = "Text.") -> str:
    """One card as it stands on a page."""
    return f"<!-- card:{card_id} -->\n### {title}\n\n{body}\n\n"


def encoded(text: str, *, line_end: str = LF, mark: bool = False) -> bytes:
    """The bytes of a page with these line ends, with or without a byte order mark."""
    return (BOM if mark else b"") + text.replace("\n", line_end).encode()


lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("\n".join)


@st.composite
def boards(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """The opening of a page, its cards, and the zones: each stands behind the opening or inside a card."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True))
    zones = [f"zone {number}: {draw(lines)}" for number in range(draw(st.integers(1, 3)))]
    parts = ["# Board\n\n", *(card(name, f"Card {name}", draw(lines)) for name in names)]
    for zone in zones:
        parts[draw(st.integers(0, len(parts) - 1))] += ZONE.format(zone) + "\n"
    return parts[0], parts[1:], zones
