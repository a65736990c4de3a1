"""What a write to a page may do: every broken rule is found with its place, and a person's zone is theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.whiteboard.pages import BOARD, CRLF, LF, ZONE, boards, card, encoded
from workbench.markdown.cards import read_page
from workbench.memory.whiteboard.contract import PageEdit, page_violations, whiteboard_rejected

ENDS = pytest.mark.parametrize("line_end", [LF, CRLF], ids=["lf", "crlf"])
USER = PageEdit(actor="user")


def broken(before: str | None, after: str, edit: PageEdit | None = None) -> list[tuple[str, str]]:
    raw = None if before is None else before.encode()
    return [(one.rule, one.place) for one in page_violations(raw, after.encode(), edit or PageEdit())]


@pytest.mark.spec("T4-2")
@given(board=boards(), line_end=st.sampled_from([LF, CRLF]), mark=st.booleans(), data=st.data())
def test_reordering_cards_keeps_ids_titles_and_zones(
    board: tuple[str, list[str], list[str]], line_end: str, mark: bool, data: st.DataObject
) -> None:
    opening, cards, _ = board
    before = encoded(opening + "".join(cards), line_end=line_end, mark=mark)
    after = encoded(opening + "".join(data.draw(st.permutations(cards))), line_end=line_end, mark=mark)
    assert page_violations(before, after, PageEdit()) == ()
    assert {(one.card_id, one.title) for one in read_page(before).cards} == {
        (one.card_id, one.title) for one in read_page(after).cards
    }


@pytest.mark.spec("T4-3")
@given(board=boards(), line_end=st.sampled_from([LF, CRLF]), mark=st.booleans(), data=st.data())
def test_any_byte_changed_inside_a_zone_by_the_model_is_refused(
    board: tuple[str, list[str], list[str]], line_end: str, mark: bool, data: st.DataObject
) -> None:
    before = encoded(board[0] + "".join(board[1]), line_end=line_end, mark=mark)
    zones = read_page(before).zones
    assert len(zones) == len(board[2])
    zone = data.draw(st.sampled_from(zones))
    at = data.draw(st.integers(zone.span.byte_start, zone.span.byte_end - 1))
    other = data.draw(st.integers(0, 255).filter(lambda value: value != before[at]))
    after = before[:at] + bytes([other]) + before[at + 1 :]
    rules = {one.rule for one in page_violations(before, after, PageEdit())}
    assert rules & {"zone_changed", "unreadable"}


@pytest.mark.spec("T4-3")
@given(board=boards(), line_end=st.sampled_from([LF, CRLF]), data=st.data())
def test_edits_elsewhere_leave_the_zone_bytes_alone(
    board: tuple[str, list[str], list[str]], line_end: str, data: st.DataObject
) -> None:
    text = board[0] + "".join(board[1])
    before = encoded(text, line_end=line_end)
    added = data.draw(st.sampled_from(["New.", "新的一行", "- a\n- b"]))
    after = encoded(text.replace("# Board\n", f"# Board\n\n{added}\n", 1) + card("new", "New card"), line_end=line_end)
    assert page_violations(before, after, PageEdit()) == ()
    assert [zone.raw for zone in read_page(after).zones] == [zone.raw for zone in read_page(before).zones]


@pytest.mark.spec("T4-1")
def test_a_lost_card_is_named_with_its_line() -> None:
    lost = BOARD.replace("<!-- card:queue -->\n### Queue\n\nWe use one queue.\n\n", "")
    assert broken(BOARD, lost) == [("card_lost", "line 5 of the page before")]
    assert broken(BOARD, lost, USER) == [("card_lost", "line 5 of the page before")]
    assert broken(BOARD, lost, PageEdit(archived={"queue": "done"})) == []


@pytest.mark.spec("T4-1")
@pytest.mark.parametrize(
    "hidden",
    [
        BOARD.replace("<!-- card:queue -->\n### Queue", "```\n<!-- card:queue -->\n### Queue"),
        BOARD.replace("### Queue", "## Queue"),
        BOARD.replace("### Queue", "Queue"),
        BOARD.replace("<!-- card:queue -->", ""),
        BOARD.replace("card:queue", "card: que ue"),
    ],
    ids=["in a fence", "another level", "no heading", "no anchor", "a broken id"],
)
def test_a_card_that_only_looks_as_if_it_stood_there_is_lost(hidden: str) -> None:
    assert ("card_lost", "line 5 of the page before") in broken(BOARD, hidden)


@pytest.mark.spec("T4-2")
def test_a_new_title_needs_a_new_id() -> None:
    retitled = BOARD.replace("### Queue", "### Job queue")
    assert broken(BOARD, retitled) == [("title_changed", "line 5 of the page before")]
    renamed = retitled.replace("card:queue", "card:job-queue")
    assert broken(BOARD, renamed, PageEdit(renamed={"queue": "job-queue"})) == []
    assert broken(BOARD, renamed) == [("card_lost", "line 5 of the page before")]


@pytest.mark.parametrize(
    ("edit", "entry"),
    [
        (PageEdit(renamed={"nobody": "queue-2"}), "renamed nobody"),
        (PageEdit(archived={"nobody": "gone"}), "archived nobody"),
        (PageEdit(renamed={"price": "price-2"}), "renamed price"),
        (PageEdit(archived={"queue": "done"}), "archived queue"),
        (PageEdit(renamed={"queue": "price"}), "renamed queue"),
        (PageEdit(moved={"queue": "price"}), "moved queue"),
    ],
    ids=["renames nothing", "archives nothing", "still there", "still there too", "onto an old card", "onto this page"],
)
def test_an_entry_that_names_nothing_or_contradicts_the_page_is_refused(edit: PageEdit, entry: str) -> None:
    assert {place for rule, place in broken(BOARD, BOARD, edit)} == {entry}


def test_an_archived_card_needs_a_reason_and_one_way_to_leave() -> None:
    without = BOARD.replace("<!-- card:queue -->\n### Queue\n\nWe use one queue.\n\n", "")
    assert broken(BOARD, without, PageEdit(archived={"queue": "  "})) == [("entry_contradicted", "archived queue")]
    twice = PageEdit(archived={"queue": "done"}, moved={"queue": "other"})
    assert broken(BOARD, without, twice) == [
        ("entry_contradicted", "moved queue"),
        ("entry_contradicted", "archived queue"),
    ]


def test_an_id_that_stands_twice_is_refused_whoever_writes() -> None:
    twice = BOARD.replace("card:price", "card:queue")
    for edit in (PageEdit(archived={"price": "done"}), PageEdit(actor="user", archived={"price": "done"})):
        assert broken(BOARD, twice, edit)[0] == ("duplicate_id", "line 20")


@pytest.mark.parametrize(
    ("page", "rule", "line"),
    [
        (BOARD + "<!-- user:begin -->\nMine, too.\n", "zone_not_closed", "line 28"),
        (BOARD + "<!-- user:end -->\n", "zone_not_begun", "line 28"),
        (BOARD.replace("Mine.", "<!-- user:begin -->"), "zone_nested", "line 26"),
    ],
)
def test_a_zone_that_is_not_closed_not_begun_or_nested_is_refused_with_its_line(
    page: str, rule: str, line: str
) -> None:
    assert (rule, line) in broken(BOARD, page, USER)


@pytest.mark.spec("T4-3")
@ENDS
def test_the_model_may_open_an_empty_zone_and_not_write_into_one(line_end: str) -> None:
    before = encoded("# Board\n", line_end=line_end)
    empty = encoded("# Board\n\n" + ZONE.format("\n"), line_end=line_end)
    written = encoded("# Board\n\n" + ZONE.format("He said yes."), line_end=line_end)
    assert page_violations(before, empty, PageEdit()) == ()
    assert [one.rule for one in page_violations(before, written, PageEdit())] == ["zone_written"]
    assert page_violations(before, written, USER) == ()


@pytest.mark.spec("T4-3")
@pytest.mark.parametrize(
    "after",
    [
        BOARD.replace("Mine.", "Yours."),
        BOARD.replace(ZONE.format("Mine."), ""),
        BOARD.replace(ZONE.format("Mine."), "Mine.\n"),
        BOARD.replace("<!-- card:price -->", "```\n<!-- card:price -->"),
        BOARD.replace("\n", "\r\n"),
        BOARD.replace("<!-- user:begin -->\nMine.", "<!--  user:begin -->\nMine."),
    ],
    ids=["edited", "gone", "opened", "in a fence", "other line ends", "another marker"],
)
def test_a_zone_that_is_gone_or_other_in_any_way_is_refused_for_the_model(after: str) -> None:
    assert "zone_changed" in {rule for rule, _ in broken(BOARD, after)}


@pytest.mark.spec("T4-3")
def test_the_person_may_do_anything_in_a_zone() -> None:
    assert broken(BOARD, BOARD.replace("Mine.", "Yours."), USER) == []
    assert broken(BOARD, BOARD.replace(ZONE.format("Mine."), ""), USER) == []


def test_two_equal_zones_are_two() -> None:
    twice = BOARD + ZONE.format("Mine.")
    assert broken(twice, BOARD) == [("zone_changed", "line 28 of the page before")]


def test_markers_and_anchors_inside_a_fence_are_text() -> None:
    page = "# How to\n\n```\n<!-- card:x -->\n### X\n<!-- user:begin -->\n```\n"
    read = read_page(page.encode())
    assert (read.cards, read.zones, read.faults) == ((), (), ())
    assert broken(page, "# How to\n") == []


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("- a\n  <!-- user:begin -->\n  mine\n  <!-- user:end -->\n", 2),
        ("> <!-- user:begin --> mine <!-- user:end -->\n", 1),
        ("<div>\n<!-- user:begin -->mine<!-- user:end -->\n</div>\n", 2),
    ],
    ids=["in a list", "in a quote", "in HTML"],
)
def test_a_zone_in_a_list_a_quote_or_html_is_a_zone(page: str, line: int) -> None:
    assert broken(page, page.replace("mine", "yours")) == [
        ("zone_changed", f"line {line} of the page before"),
        ("zone_written", f"line {line}"),
    ]


@pytest.mark.parametrize("unreadable", [b"\xff\xfe", b"a\x00b", b"---\na: [\n---\n"], ids=["encoding", "nul", "yaml"])
def test_a_page_that_cannot_be_read_is_not_written_and_only_the_person_replaces_one(unreadable: bytes) -> None:
    assert [one.rule for one in page_violations(None, unreadable, USER)] == ["unreadable"]
    assert [one.rule for one in page_violations(unreadable, BOARD.encode(), PageEdit())] == ["unreadable"]
    assert page_violations(unreadable, BOARD.encode(), USER) == ()


def test_a_new_page_and_an_empty_one_break_nothing() -> None:
    assert broken(None, BOARD, USER) == []
    assert broken(None, "") == broken("", "") == broken("# No cards\n", "") == []


def test_a_refusal_lists_everything_with_page_and_place() -> None:
    violations = page_violations(BOARD.encode(), b"", PageEdit(renamed={"nobody": "x"}))
    error = whiteboard_rejected({"whiteboard/b.md": violations})
    assert error.code == "whiteboard_rejected"
    assert [one["rule"] for one in error.detail] == ["card_lost"] * 3 + ["entry_contradicted"] * 2 + [
        "zone_changed"
    ] * 2
    assert all(one["page"] == "whiteboard/b.md" and one["place"] and one["message"] for one in error.detail)
