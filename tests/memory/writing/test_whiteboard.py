"""Whiteboard pages through the real gate: nothing is lost, the person wins, and what leaves a page can be found."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.memory.whiteboard.pages import BOARD, ZONE, card
from tests.memory.writing.world import World, killed_at
from workbench.core.errors import WorkbenchError
from workbench.core.resource import Status
from workbench.markdown.cards import read_page
from workbench.memory.whiteboard.contract import PageEdit
from workbench.memory.whiteboard.index import check_page, derive_index, pages_of
from workbench.memory.writing.history import read_log
from workbench.memory.writing.values import Commit
from workbench.memory.writing.whiteboard import apply_migration, move_card, propose_migration, write_whiteboard
from workbench.storage.faults import on_step

PAGE, ARCHIVE = "whiteboard/board.md", "whiteboard/archive/board.md"
QUEUE = "<!-- card:queue -->\n### Queue\n\nWe use one queue.\n\n"
USER = PageEdit(actor="user")


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    world = World(root)
    world.write(PAGE, BOARD)
    world.write("decisions/db.md", "---\nid: db\n---\n# Database\n\nWe chose SQLite.\n")
    return world


def write(world: World, text: str, edit: PageEdit | None = None, expected: str | None = "", page: str = PAGE) -> Commit:
    digest = world.seen(page) if expected == "" else expected
    return write_whiteboard(world.gate(), page, text.encode(), digest, edit)


def refused(world: World, code: str, work: Callable[[], object]) -> WorkbenchError:
    """The error of a work that must change nothing."""
    before = world.told()
    with pytest.raises(WorkbenchError) as caught:
        work()
    assert caught.value.code == code
    assert world.told() == before
    return caught.value


def test_a_repeated_edit_of_a_page_gives_the_first_result_and_keeps_its_reason(world: World) -> None:
    content, digest = BOARD.replace(QUEUE, "").encode(), world.seen(PAGE)
    edit = PageEdit(archived={"queue": "done"})
    first, again = (
        write_whiteboard(world.gate(), PAGE, content, digest, edit, reason="cleared up", tx_id="tx") for _ in range(2)
    )
    assert (first, again.tx_id) == (again, "tx")
    assert [one.reason for one in read_log(world.root, world.capture())] == ["cleared up"]


@pytest.mark.spec("T4-1")
def test_a_page_that_loses_a_card_unsaid_is_refused_and_no_byte_changes(world: World) -> None:
    lost = BOARD.replace(QUEUE, "")
    error = refused(world, "whiteboard_rejected", lambda: write(world, lost))
    assert [(one["page"], one["rule"], one["place"]) for one in error.detail] == [
        (PAGE, "card_lost", "line 5 of the page before")
    ]
    assert world.read(PAGE) == BOARD


@pytest.mark.spec("T4-1")
def test_every_route_through_the_gate_keeps_the_contract(world: World) -> None:
    refused(world, "whiteboard_rejected", lambda: world.put("tx", {PAGE: BOARD.replace(QUEUE, "")}))
    refused(world, "whiteboard_rejected", lambda: world.put("tx", {PAGE: BOARD.replace("Mine.", "Yours.")}))


@pytest.mark.spec("T4-2")
def test_reordering_keeps_the_ids_and_their_status(world: World) -> None:
    page = read_page(BOARD.encode())
    blocks = [
        BOARD.encode()[one.place.byte_start : one.place.byte_end].decode().rstrip() + "\n\n" for one in page.cards
    ]
    before = {one: member.status for one, member in world.capture().members.items()}
    random.Random(7).shuffle(blocks)
    commit = write(world, "# Board\n\n" + "".join(blocks))
    assert commit.written == (PAGE,)
    assert {one: member.status for one, member in world.capture().members.items()} == before
    assert commit.record_state_version == 0


@pytest.mark.spec("T4-2")
def test_a_rename_shows_the_new_id_and_the_superseded_one_together(world: World) -> None:
    old_miv = world.capture().ref.miv
    renamed = BOARD.replace("card:queue", "card:job-queue").replace("### Queue", "### Job queue")
    commit = write(world, renamed, PageEdit(renamed={"queue": "job-queue"}))
    snapshot = world.capture()
    assert (snapshot.ref.miv, snapshot.ref.record_state_version) == (commit.miv, 1)
    assert commit.miv != old_miv
    assert snapshot.members["job-queue"].status is Status.CURRENT
    assert snapshot.manifest.status("queue") is Status.SUPERSEDED
    assert snapshot.manifest.superseded_by("queue") == "job-queue"
    assert "queue" not in snapshot.members


@pytest.mark.spec("T4-2")
def test_a_rename_killed_at_any_step_is_done_whole_or_not_at_all(tmp_path: Path, world: World) -> None:
    renamed = BOARD.replace("card:queue", "card:job-queue").replace("### Queue", "### Job queue")
    names: list[str] = []

    def rename(place: World) -> None:
        write(place, renamed, PageEdit(renamed={"queue": "job-queue"}))

    recording = _copy(world, tmp_path / "recording")
    with on_step(names.append):
        rename(recording)
    for number, name in enumerate(names):
        broken = _copy(world, tmp_path / f"copy-{number}")
        killed_at(number, lambda broken=broken: rename(broken))
        snapshot = broken.capture()
        done = "job-queue" in snapshot.members
        assert (snapshot.manifest.superseded_by("queue") == "job-queue") == done, name
        assert ("queue" in snapshot.members) != done, name


@pytest.mark.spec("T4-2")
def test_moving_a_card_gives_it_a_new_id_there_and_supersedes_the_old_one(world: World) -> None:
    commit = move_card(world.gate(), "depots", "whiteboard/next.md", "depots-2")
    assert commit.written == (PAGE, "whiteboard/next.md")
    snapshot = world.capture()
    assert snapshot.members["depots-2"].source_ref == "whiteboard/next.md"
    assert snapshot.manifest.superseded_by("depots") == "depots-2"
    assert world.read("whiteboard/next.md") == "# next\n\n<!-- card:depots-2 -->\n### Silence alarm\n\nSee [[queue]].\n"
    zones = [zone.raw for zone in read_page(BOARD.encode()).zones]
    assert [zone.raw for zone in read_page(world.read(PAGE).encode()).zones] == zones


@pytest.mark.parametrize(
    ("card_id", "page", "new_id"),
    [
        ("nobody", "whiteboard/next.md", "new"),
        ("db", "whiteboard/next.md", "new"),
        ("queue", PAGE, "new"),
        ("queue", "whiteboard/next.md", "price"),
        ("queue", "whiteboard/next.md", "two words"),
        ("queue", "whiteboard/next.md", "x-->"),
        ("queue", "decisions/next.md", "new"),
    ],
)
def test_a_move_that_cannot_be_is_refused(world: World, card_id: str, page: str, new_id: str) -> None:
    refused(world, "invalid_argument", lambda: move_card(world.gate(), card_id, page, new_id))


def test_an_archived_card_leaves_the_page_with_reason_and_time_and_can_still_be_found(world: World) -> None:
    commit = write(world, BOARD.replace(QUEUE, ""), PageEdit(archived={"queue": "decided"}))
    assert commit.written == (ARCHIVE, PAGE)
    snapshot = world.capture()
    assert snapshot.manifest.archived == {"queue": {"at": "2026-11-02T12:00:00.000Z", "reason": "decided"}}
    assert snapshot.members["queue"].source_ref == ARCHIVE
    assert snapshot.members["queue"].status is Status.CURRENT
    assert commit.record_state_version == 0
    assert world.read(ARCHIVE) == f"# Archive of {PAGE}\n\n{QUEUE.rstrip()}\n"
    assert [(one.card_id, one.archived) for one in check_page(snapshot, ARCHIVE).cards] == [("queue", "decided")]


def test_cards_archived_one_after_the_other_stand_behind_each_other(world: World) -> None:
    without = BOARD.replace(QUEUE, "")
    write(world, without, PageEdit(archived={"queue": "decided"}))
    second = without.replace("<!-- card:depots -->\n### Silence alarm\n\nSee [[queue]].\n\n", "")
    write(world, second, PageEdit(archived={"depots": "dropped"}))
    assert [one.card_id for one in read_page(world.read(ARCHIVE).encode()).cards] == ["queue", "depots"]
    assert "林悦" in world.read(PAGE)
    assert "林悦" not in world.read(ARCHIVE)


def test_a_zone_that_the_person_archives_with_its_card_goes_along(world: World) -> None:
    cards = read_page(BOARD.encode())
    start, end = cards.cards[1].place.byte_start, cards.cards[1].place.byte_end
    gone = (BOARD.encode()[:start] + BOARD.encode()[end:]).decode()
    refused(world, "whiteboard_rejected", lambda: write(world, gone, PageEdit(archived={"depots": "dropped"})))
    write(world, gone, PageEdit(actor="user", archived={"depots": "dropped"}))
    assert ZONE.format("林悦：先不要动。\nAsk Verhulst.").rstrip() in world.read(ARCHIVE)


@pytest.mark.spec("T4-3")
def test_the_model_cannot_touch_a_zone_and_an_edit_elsewhere_leaves_it_alone(world: World) -> None:
    error = refused(world, "whiteboard_rejected", lambda: write(world, BOARD.replace("Ask Verhulst.", "Ask Verhulst")))
    assert [one["rule"] for one in error.detail] == ["zone_changed", "zone_written"]
    write(world, BOARD.replace("We use one queue.", "We use two queues."))
    before, after = read_page(BOARD.encode()), read_page(world.read(PAGE).encode())
    assert [zone.raw for zone in after.zones] == [zone.raw for zone in before.zones]
    write(world, world.read(PAGE).replace("Ask Verhulst.", "Ask nobody."), USER)
    assert "Ask nobody." in world.read(PAGE)


@pytest.mark.spec("T4-4")
def test_the_derived_cards_are_resources_of_the_snapshot_itself(world: World) -> None:
    world.write("whiteboard/plain.md", "# No cards\n\nText.\n")
    world.state(1, {"price": {"status": "retracted"}})
    snapshot = world.capture()
    derived = [one for page in pages_of(snapshot) for one in derive_index(snapshot, page)]
    own = {one.resource_id: one for one in snapshot.resources}
    assert [one.resource_id for one in derived] == ["queue", "depots", "price"]
    assert all(own[one.resource_id] == one for one in derived)
    page = read_page(BOARD.encode())
    assert [(one.title, one.body, one.span) for one in page.cards] == [
        (one.title, one.body, one.span) for one in derived
    ]
    shown = [(one.card_id, one.status, one.l0) for one in check_page(snapshot, PAGE).cards]
    assert shown == [(one.resource_id, one.status, one.l0) for one in derived]
    assert {one.resource_id for one in derived if one.status is Status.CURRENT} == {"queue", "depots"}


@pytest.mark.spec("T4-7")
def test_an_edit_by_the_person_after_the_model_read_wins(world: World) -> None:
    read = world.seen(PAGE)
    theirs = BOARD.replace("In December.", "In January.")
    world.write(PAGE, theirs)
    error = refused(world, "digest_conflict", lambda: write(world, BOARD + card("new", "New"), expected=read))
    assert error.detail == [{"source_ref": PAGE, "expected": read, "found": world.seen(PAGE)}]
    assert world.read(PAGE) == theirs


@pytest.mark.spec("T4-7")
def test_a_page_that_the_person_made_or_removed_meanwhile_is_a_conflict(world: World) -> None:
    refused(world, "digest_conflict", lambda: write(world, BOARD, expected=None))
    read = world.seen(PAGE)
    (world.root / PAGE).unlink()
    refused(world, "digest_conflict", lambda: write(world, BOARD, expected=read))


def test_a_new_page_needs_no_digest_and_another_layer_is_no_whiteboard(world: World) -> None:
    assert write(world, card("n", "New"), page="whiteboard/new.md").written == ("whiteboard/new.md",)
    refused(world, "invalid_argument", lambda: write(world, card("m", "Other"), page="decisions/new.md"))


def test_an_id_that_is_or_was_somebodys_cannot_be_taken_by_a_new_card(world: World) -> None:
    world.write("whiteboard/other.md", card("theirs", "Theirs"))
    world.state(1, {"gone": {"status": "superseded", "superseded_by": "db"}})
    added = BOARD + card("theirs", "A") + card("gone", "B") + card("db", "C")
    error = refused(world, "whiteboard_rejected", lambda: write(world, added))
    assert [one["rule"] for one in error.detail] == ["duplicate_id"] * 3


def test_the_switch_leaves_reading_and_refuses_writing_on_every_route(world: World) -> None:
    gate = world.gate(whiteboard_write=False)
    digest = world.seen(PAGE)
    refused(world, "read_only", lambda: write_whiteboard(gate, PAGE, (BOARD + card("n", "New")).encode(), digest))
    refused(world, "read_only", lambda: move_card(gate, "queue", "whiteboard/next.md", "queue-2"))
    assert len(derive_index(world.capture(), PAGE)) == 3


@pytest.mark.parametrize("unreadable", [b"\xff\xfe", b"a\x00b", b"---\na: [\n---\n"], ids=["encoding", "nul", "yaml"])
def test_a_page_that_cannot_be_read_is_replaced_by_the_person_only_and_never_written(
    world: World, unreadable: bytes
) -> None:
    digest, gate = world.seen(PAGE), world.gate()
    refused(world, "whiteboard_rejected", lambda: write_whiteboard(gate, PAGE, unreadable, digest, USER))
    world.write(PAGE, unreadable)
    digest = world.seen(PAGE)
    refused(world, "whiteboard_rejected", lambda: write_whiteboard(gate, PAGE, BOARD.encode(), digest))
    write_whiteboard(gate, PAGE, BOARD.encode(), digest, USER)
    assert world.read(PAGE) == BOARD


def test_an_archive_page_that_would_swallow_the_card_is_refused(world: World) -> None:
    world.write(ARCHIVE, "# Archive\n\n```\nopen\n")
    edit = PageEdit(archived={"queue": "decided"})
    error = refused(world, "whiteboard_rejected", lambda: write(world, BOARD.replace(QUEUE, ""), edit))
    assert error.detail[0]["page"] == ARCHIVE


OLD_PAGE = (
    "# Board\n\nOpen things.\n\n### Queue\n\nOne queue.\n\n- a\n- b\n### 价格\n十二月。\n\n## Later\n\n### Queue\n"
)


def test_a_migration_is_shown_first_and_applied_by_its_digest(world: World) -> None:
    world.write("whiteboard/old.md", OLD_PAGE)
    shown, _ = propose_migration(world.capture(), "whiteboard/old.md")
    assert world.read("whiteboard/old.md") == OLD_PAGE
    assert (shown.cards, shown.zones) == (("card-queue", "card-价格", "card-queue-2"), 3)
    assert [line for line in shown.diff.splitlines()[2:] if line.startswith("-")] == []
    apply_migration(world.gate(), "whiteboard/old.md", shown.digest)
    assert [one.resource_id for one in derive_index(world.capture(), "whiteboard/old.md")] == list(shown.cards)
    again, _ = propose_migration(world.capture(), "whiteboard/old.md")
    assert (again.diff, again.cards, again.zones) == ("", (), 0)


def test_after_a_migration_the_model_can_overwrite_nothing_that_stood_there(world: World) -> None:
    world.write("whiteboard/old.md", OLD_PAGE)
    shown, _ = propose_migration(world.capture(), "whiteboard/old.md")
    apply_migration(world.gate(), "whiteboard/old.md", shown.digest)
    migrated = world.read("whiteboard/old.md")
    for word in ("Open things.", "One queue.", "- b", "十二月。"):
        edited = migrated.replace(word, "Mine now.")
        refused(world, "whiteboard_rejected", lambda edited=edited: write(world, edited, page="whiteboard/old.md"))


def test_a_page_that_changed_since_the_migration_was_shown_is_not_migrated(world: World) -> None:
    world.write("whiteboard/old.md", OLD_PAGE)
    shown, _ = propose_migration(world.capture(), "whiteboard/old.md")
    world.write("whiteboard/old.md", OLD_PAGE + "More.\n")
    refused(world, "digest_conflict", lambda: apply_migration(world.gate(), "whiteboard/old.md", shown.digest))


@pytest.mark.parametrize(
    "page", [BOARD + "<!-- user:begin -->\n", "# Board\n\nText\n\n```\nopen\n", card("a", "A") * 2]
)
def test_a_page_with_a_fault_is_mended_before_it_is_migrated(world: World, page: str) -> None:
    world.write("whiteboard/old.md", page)
    refused(world, "whiteboard_rejected", lambda: propose_migration(world.capture(), "whiteboard/old.md"))


def _copy(world: World, root: Path) -> World:
    copy = World(root)
    for ref in (PAGE, "decisions/db.md"):
        copy.write(ref, world.read(ref))
    return copy
