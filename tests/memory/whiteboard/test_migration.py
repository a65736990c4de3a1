"""A proposed migration adds lines and takes none, whatever stands on the page."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.memory.whiteboard.pages import BOARD, BOM, CRLF, LF, encoded
from workbench.markdown.cards import read_page
from workbench.memory.whiteboard.migration import describe, propose

PIECES = (
    "# Title\n",
    "## Part\n",
    "### Card\n",
    "### 卡片\n",
    "Setext\n---\n",
    "One line.\n",
    "- a\n- b\n",
    "> quote\n",
    "```\n### no card\n<!-- user:begin -->\n```\n",
    "| a | b |\n|---|---|\n| c | d |\n",
    "    code\n",
    "<div>\ntext\n</div>\n",
    "<!-- a comment -->\n",
    "<!-- card:own -->\n### Own\n\nMine.\n",
    "<!-- user:begin -->\nzone\n<!-- user:end -->\n",
    "[ref]: #x\n",
    "***\n",
    "\n",
)
ADDED = ("<!-- card:", "<!-- user:begin -->", "<!-- user:end -->")


def drawn(pieces: list[str], line_end: str, mark: bool, ends: bool) -> bytes:
    text = "".join(piece for number, piece in enumerate(pieces) if "own" not in piece or piece not in pieces[:number])
    return encoded(text if ends else text.rstrip("\n"), line_end=line_end, mark=mark)


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=8),
    line_end=st.sampled_from([LF, CRLF]),
    mark=st.booleans(),
    ends=st.booleans(),
)
def test_a_proposal_adds_only_marks_and_makes_a_card_of_every_heading_that_can_be_one(
    pieces: list[str], line_end: str, mark: bool, ends: bool
) -> None:
    raw = drawn(pieces, line_end, mark, ends)
    proposed = propose(raw, ())
    before, after = read_page(raw), read_page(proposed)
    assume(not before.faults)
    left = iter(proposed.removeprefix(BOM).splitlines())
    for line in raw.removeprefix(BOM).splitlines():
        added = list(iter(lambda line=line: next(left), line))
        assert all(one.decode().startswith(ADDED) for one in added)
    assert all(one.decode().startswith(ADDED) for one in left)
    assert after.faults == ()
    assert [zone for zone in (one.raw for one in before.zones) if zone not in [one.raw for one in after.zones]] == []
    assert {one.card_id for one in before.cards} <= {one.card_id for one in after.cards}
    assert propose(proposed, ()) == proposed


@pytest.mark.parametrize("raw", [b"", b"\n", BOM, BOARD.encode(), encoded(BOARD, line_end=CRLF, mark=True)])
def test_a_page_with_nothing_to_add_is_left_alone(raw: bytes) -> None:
    page = raw.replace(b"What is not decided.\n\n", b"").replace(b"What is not decided.\r\n\r\n", b"")
    assert propose(page, ()) == page
    assert describe("p.md", page, page).diff == ""


def test_no_new_card_gets_an_id_that_is_taken() -> None:
    proposed = propose(b"### Queue\n\n### Queue\n", {"card-queue"})
    assert [one.card_id for one in read_page(proposed).cards] == ["card-queue-2", "card-queue-3"]


def test_a_page_without_a_last_line_end_keeps_its_text_apart_from_the_marks() -> None:
    assert propose(b"Text", ()) == b"<!-- user:begin -->\nText\n<!-- user:end -->\n"
