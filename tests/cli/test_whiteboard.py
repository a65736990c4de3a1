"""`workbench whiteboard` as a person types it: pages by their bytes, and refusals with every reason."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Command
from tests.memory.whiteboard.pages import BOARD, CRLF, card, encoded

PAGE = "whiteboard/board.md"
QUEUE = "<!-- card:queue -->\n### Queue\n\nWe use one queue.\n\n"


class Board:
    """The command `whiteboard` on one memory, with bytes for its stdin."""

    def __init__(self, root: Path, workbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self._workbench, self._patch = root, workbench, monkeypatch
        self.page(PAGE, BOARD.encode())

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Answer:
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        return self._workbench("whiteboard", *arguments, "--project", self.root)

    def page(self, ref: str, raw: bytes) -> None:
        path = self.root / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)

    def read(self, ref: str = PAGE) -> bytes:
        return (self.root / ref).read_bytes()

    def digest(self, ref: str = PAGE) -> str:
        return str(self("check", ref, "--json").json[0]["digest"])


@pytest.fixture
def board(memory: Path, workbench: Command, monkeypatch: pytest.MonkeyPatch) -> Board:
    return Board(memory, workbench, monkeypatch)


def test_check_lists_cards_zones_and_the_digest_to_write_with(board: Board) -> None:
    shown = board("check")
    assert (shown.status, shown.err) == (0, "")
    assert "6\tqueue\tcurrent\tQueue" in shown.out
    page = board("check", PAGE, "--json").json[0]
    assert [one["card_id"] for one in page["cards"]] == ["queue", "depots", "price"]
    assert (page["zones"], page["faults"]) == ([15, 25], [])


def test_check_says_no_for_a_page_with_a_fault_and_names_its_line(board: Board) -> None:
    board.page(PAGE, BOARD.encode() + b"<!-- user:begin -->\n")
    answer = board("check")
    assert answer.status == 1
    assert "line 28: a user zone is never closed" in answer.err
    assert board("check", "--json").json[0]["faults"][0]["rule"] == "zone_not_closed"


@pytest.mark.spec("T4-5")
def test_lint_reports_and_only_strict_makes_a_finding_a_no(board: Board) -> None:
    answer = board("lint", "--json")
    assert answer.status == 0
    assert {one["rule"] for one in answer.json["findings"]} == {"orphan"}
    contradiction = answer.json["checks"][-1]
    assert (contradiction["rule"], contradiction["checked"], contradiction["findings"]) == (
        "contradiction",
        False,
        None,
    )
    assert board("lint", "--strict").status == 1
    assert "contradiction: not checked" in board("lint").out
    assert board.read() == BOARD.encode()


def test_strict_lint_of_a_clean_board_is_done(board: Board) -> None:
    linked = card("a", "A", "[[b]]\n\nDate: 2020-01-01") + card("b", "B", "[[a]]")
    board.page(PAGE, linked.encode())
    assert board("lint", "--strict", "--stale-days", 100_000).status == 0
    assert board("lint", "--strict", "--stale-days", 30).status == 1


@pytest.mark.spec("T4-3")
def test_write_keeps_crlf_pages_to_the_byte(board: Board) -> None:
    raw = encoded(BOARD, line_end=CRLF, mark=True)
    board.page(PAGE, raw)
    edited = raw.replace(b"We use one queue.", b"We use two queues.")
    answer = board("write", PAGE, "--expect", board.digest(), "--json", stdin=edited)
    assert answer.json["written"] == [PAGE]
    assert board.read() == edited
    refused = board("write", PAGE, "--expect", board.digest(), stdin=edited.replace(b"\r\n", b"\n"))
    assert (refused.status, refused.err.split(":")[0]) == (2, "whiteboard_rejected")
    assert board.read() == edited


@pytest.mark.spec("T4-1")
def test_write_lists_every_violation_with_its_place_and_changes_nothing(board: Board) -> None:
    broken = BOARD.replace(QUEUE, "").replace("Mine.", "Yours.").encode()
    answer = board("write", PAGE, "--expect", board.digest(), "--archived", "price=done", "--json", stdin=broken)
    assert (answer.status, answer.json["error"]["code"]) == (2, "whiteboard_rejected")
    assert [(one["rule"], one["place"]) for one in answer.json["error"]["detail"]] == [
        ("card_lost", "line 5 of the page before"),
        ("entry_contradicted", "archived price"),
        ("zone_changed", "line 25 of the page before"),
        ("zone_written", "line 20"),
    ]
    assert board.read() == BOARD.encode()


@pytest.mark.spec("T4-2")
def test_a_rename_and_an_archive_are_said_with_the_write(board: Board) -> None:
    text = BOARD.replace(QUEUE, "").replace("card:depots", "card:alarms").replace("### Silence alarm", "### Alarms")
    said = ("--renamed", "depots=alarms", "--archived", "queue=a = b")
    answer = board("write", PAGE, "--expect", board.digest(), *said, "--json", stdin=text.encode())
    assert answer.json["written"] == ["whiteboard/archive/board.md", PAGE]
    archive = board("check", "whiteboard/archive/board.md", "--json").json[0]
    assert [(one["card_id"], one["status"], one["archived"]) for one in archive["cards"]] == [
        ("queue", "current", "a = b")
    ]
    assert "queue\tarchived" in board("check").out


@pytest.mark.spec("T4-7")
def test_a_digest_of_an_older_page_is_refused_and_so_is_a_page_that_should_be_new(board: Board) -> None:
    read = board.digest()
    board.page(PAGE, BOARD.replace("In December.", "In January.").encode())
    stale = board("write", PAGE, "--expect", read, stdin=BOARD.encode())
    assert (stale.status, stale.err.split(":")[0]) == (2, "digest_conflict")
    assert board("write", PAGE, stdin=BOARD.encode()).err.startswith("digest_conflict")
    assert b"In January." in board.read()


@pytest.mark.spec("T4-3")
def test_only_with_user_a_zone_is_written(board: Board) -> None:
    edited = BOARD.replace("Mine.", "Yours.").encode()
    assert board("write", PAGE, "--expect", board.digest(), stdin=edited).status == 2
    assert board("write", PAGE, "--expect", board.digest(), "--user", stdin=edited).status == 0
    assert board.read() == edited


def test_move_and_its_refusal(board: Board) -> None:
    assert board("move", "queue", "whiteboard/next.md", "--as", "price").status == 2
    answer = board("move", "queue", "whiteboard/next.md", "--as", "queue-2")
    assert answer.out == f"written: {PAGE}, whiteboard/next.md\n"


@pytest.mark.spec("T4-6")
def test_archive_answer_twice_keeps_one_and_activate_finds_it(board: Board, workbench: Command) -> None:
    said = ("archive-answer", "r-1", "--title", "Leap seconds", "--evidence", "queue", "--json")
    first = board(*said, stdin="The importer stalled on leap seconds. 闰秒。".encode())
    assert first.status == 0
    assert board(*said, stdin=b"Something else.").json == first.json
    found = workbench("activate", "stalled on leap seconds", "--project", board.root, "--json").json["fragments"]
    assert [one["resource_id"] for one in found].count(first.json["resource_id"]) == 1
    unknown = board("archive-answer", "r-2", "--title", "T", "--evidence", "nobody", stdin=b"Text.")
    assert (unknown.status, unknown.err.split(":")[0]) == (2, "evidence_invalid")


def test_migrate_shows_a_diff_and_applies_only_what_was_shown(board: Board) -> None:
    board.page("whiteboard/old.md", "# Old\n\n### 价格\n\n十二月。\n".encode())
    shown = board("migrate", "whiteboard/old.md")
    assert "+<!-- card:card-价格 -->\n" in shown.out
    assert "--apply" in shown.err
    digest = board("migrate", "whiteboard/old.md", "--json").json["digest"]
    assert board("migrate", "whiteboard/old.md", "--apply", "0" * 64).status == 2
    assert board("migrate", "whiteboard/old.md", "--apply", digest).out == "written: whiteboard/old.md\n"
    assert board("migrate", "whiteboard/old.md").err == "Nothing is to be done.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "decisions/queue.md"),
        ("write", PAGE, "--renamed", "a"),
        ("write", PAGE, "--archived", "=x"),
        ("write", PAGE, "--renamed", "a=b", "--renamed", "a=c"),
        ("lint", "--stale-days", "-1"),
        ("archive-answer", "r", "--title", "T", "--target", "elsewhere"),
        ("migrate", "whiteboard/none.md"),
    ],
)
def test_bad_input_is_status_2_with_one_line(board: Board, arguments: tuple[str, ...]) -> None:
    answer = board(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("invalid_argument: ")
    assert answer.err.count("\n") == 1


def test_with_the_switch_off_a_write_says_what_to_do(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_WHITEBOARD_WRITE", "false")
    answer = board("write", PAGE, "--expect", board.digest(), stdin=BOARD.encode() + b"More.\n")
    assert (answer.status, answer.err.split(":")[0]) == (2, "read_only")
    assert board("check").status == 0
