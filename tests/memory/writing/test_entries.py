"""What people ask of the gate: write, append, supersede, retract, restore, and look back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.memory.conftest import fill
from tests.memory.writing.world import World
from workbench.core.errors import InputError
from workbench.core.resource import Status
from workbench.memory.writing import entries
from workbench.memory.writing.entries import By
from workbench.memory.writing.history import read_log, resource_history, writing_health

DATABASE, EDITOR, LOG = "decisions/database.md", "user/editor.md", "log/2026-11-02.md"
BY = By("user", "it changed")


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    world = World(root)
    fill(world)
    return world


def entries_of(world: World, ref: str) -> list[str]:
    """The bodies of the entries of a source."""
    return [resource.body for resource, _ in world.capture().read(ref)]


def test_an_appended_text_is_a_dated_section_in_the_line_ends_of_its_file(world: World) -> None:
    entries.append_entry(world.gate(), LOG, "Rolled back.\n", BY, title="Rollback")
    assert world.read(LOG).endswith("It worked.\n\n## 2026-11-02 Rollback\n\nRolled back.\n")
    world.write("log/windows.md", "## One\r\n\r\nText.")
    entries.append_entry(world.gate(), "log/windows.md", "## Two\n\nMore.", BY)
    raw = (world.root / "log/windows.md").read_bytes()
    assert raw == b"## One\r\n\r\nText.\r\n\r\n## Two\r\n\r\nMore.\r\n"
    for ref in ("log/windows.md", LOG):
        entries.append_entry(world.gate(), ref, "## Three\r\n\r\nFrom a Windows shell.\r\n", BY)
    assert (
        (world.root / "log/windows.md").read_bytes().endswith(b"More.\r\n\r\n## Three\r\n\r\nFrom a Windows shell.\r\n")
    )
    assert world.read(LOG).endswith("back.\n\n## Three\n\nFrom a Windows shell.\n")
    entries.append_entry(world.gate(), "reflection/new.md", "\ufeffFirst.", BY)
    assert world.read("reflection/new.md") == "## 2026-11-02\n\nFirst.\n"


@pytest.mark.parametrize("open_end", ["```\ncode\n", "<!-- a comment\n", "## Last\n\n~~~~\n"])
def test_an_entry_that_would_vanish_inside_a_fence_is_not_appended(world: World, open_end: str) -> None:
    world.write(LOG, f"## One\n\nText.\n\n{open_end}")
    with pytest.raises(InputError, match="fence"):
        entries.append_entry(world.gate(), LOG, "More.", BY)
    assert world.read(LOG).endswith(open_end)


@pytest.mark.parametrize("open_end", ["```\ncode", "<!-- a comment", "Text.\n\n~~~~"])
def test_an_entry_that_would_swallow_the_next_one_is_not_appended(world: World, open_end: str) -> None:
    before = world.read(LOG)
    with pytest.raises(InputError, match="leaves a code fence or a comment open"):
        entries.append_entry(world.gate(), LOG, open_end, BY)
    assert world.read(LOG) == before


@pytest.mark.parametrize("blank", [b"   ", b"\t", b"\n    ", b"\r\n\t"])
def test_a_file_of_white_space_takes_its_first_entry(world: World, blank: bytes) -> None:
    (world.root / LOG).write_bytes(blank)
    entries.append_entry(world.gate(), LOG, "First.", BY)
    assert (world.root / LOG).read_bytes().startswith(blank)
    assert entries_of(world, LOG) == ["## 2026-11-02\n\nFirst."]


@pytest.mark.parametrize("text", ["  ## Rollback\n\nDone.", "Rollback\n---\n\nDone.", "##\tRollback\n\nDone."])
def test_a_section_in_any_form_of_heading_gets_no_second_one(world: World, text: str) -> None:
    before = entries_of(world, LOG)
    entries.append_entry(world.gate(), LOG, text, BY)
    assert entries_of(world, LOG) == [*before, text]


def test_a_text_of_nothing_but_a_link_definition_is_an_entry(world: World) -> None:
    before = entries_of(world, LOG)
    entries.append_entry(world.gate(), LOG, "[runbook]: /runbook.md", BY)
    assert entries_of(world, LOG) == [*before, "## 2026-11-02\n\n[runbook]: /runbook.md"]


def test_an_anchor_that_touches_no_heading_stands_in_the_dated_entry(world: World) -> None:
    before = entries_of(world, LOG)
    entries.append_entry(world.gate(), LOG, "<!-- memory:rollback -->\n\nDone.", BY)
    assert entries_of(world, LOG) == [*before, "## 2026-11-02\n\n<!-- memory:rollback -->\n\nDone."]
    assert "rollback" in world.told()["states"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# Rollback\n\nDone.", "level-1 heading"),
        ("Done.\n\nWhy\n===\n\nIt broke.", "level-1 heading"),
        ("---\nid: rollback\n---\nDone.", "Front matter"),
        ("+++\nid = 'rollback'\n+++\n\n## Rollback\n\nDone.", "Front matter"),
        ("\u00a0\n", "blank"),
        ("", "blank"),
        ("Done. \ud83d", "half a character"),
        ("Done.\0", "nul"),
    ],
)
def test_a_text_that_would_be_another_thing_in_a_log_is_not_appended(world: World, text: str, why: str) -> None:
    before = world.read(LOG)
    with pytest.raises(InputError, match=why) as error:
        entries.append_entry(world.gate(), LOG, text, BY)
    assert error.value.code == "invalid_argument"
    assert world.read(LOG) == before


@pytest.mark.parametrize("ref", [DATABASE, "whiteboard/board.md", "../log/x.md"])
def test_only_logs_and_reflections_are_appended_to(world: World, ref: str) -> None:
    with pytest.raises(InputError) as error:
        entries.append_entry(world.gate(), ref, "More.", BY)
    assert error.value.code == "invalid_argument"


@pytest.mark.field(122, 127)
def test_a_new_text_takes_the_place_of_an_old_one_in_one_transaction(world: World) -> None:
    commit, new_id = entries.supersede_by_text(world.gate(), "db", "# Database\n\nPostgreSQL now.\n", BY)
    assert (commit.written, new_id, commit.record_state_version) == (("decisions/database-2.md",), commit.written[0], 1)
    third, last = entries.supersede_by_text(world.gate(), new_id, "---\nid: db3\n---\n# Third\n\nMariaDB.\n", BY)
    assert (third.written, last) == (("decisions/database-3.md",), "db3")
    states = world.told()["states"]
    assert [states[one] for one in ("db", new_id, last)] == [
        (Status.SUPERSEDED, new_id),
        (Status.SUPERSEDED, last),
        (Status.CURRENT, None),
    ]
    assert "SQLite" in world.read(DATABASE)


@pytest.mark.parametrize(
    ("old", "new"), [("adr-7.md", "adr-7-2.md"), ("2026-11-02.md", "2026-11-02-2.md"), ("v-2.md", "v-3.md")]
)
def test_a_number_that_belongs_to_a_name_is_not_counted_on(world: World, old: str, new: str) -> None:
    world.write("notes/v.md", "# First\n")
    world.write(f"notes/{old}", "# Old\n")
    assert entries.supersede_by_text(world.gate(), f"notes/{old}", "# New\n", BY)[1] == f"notes/{new}"


def test_an_entry_of_a_log_is_superseded_in_that_log(world: World) -> None:
    old = f"{LOG}#2026-11-02 Deploy"
    _, new_id = entries.supersede_by_text(world.gate(), old, "It had worked after all.", BY, title="Deploy")
    assert new_id == f"{LOG}#2026-11-02 Deploy~2"
    assert world.told()["states"][old] == (Status.SUPERSEDED, new_id)


def test_what_takes_the_place_of_an_entry_is_one_entry(world: World) -> None:
    before = world.read(LOG)
    with pytest.raises(InputError, match="2 entries"):
        entries.supersede_by_text(world.gate(), f"{LOG}#2026-11-02 Deploy", "## One\n\nA.\n\n## Two\n\nB.", BY)
    assert world.read(LOG) == before


def test_a_card_is_not_superseded_past_its_page(world: World) -> None:
    with pytest.raises(InputError, match="rename the card"):
        entries.supersede_by_text(world.gate(), "c1", "### Other\n", BY)


@pytest.mark.field(127, 123)
def test_everything_that_was_done_to_a_resource_can_be_read_back(world: World) -> None:
    gate = world.gate()
    for number, text in enumerate(("Uses Emacs.", "Uses Vim.")):
        entries.write_source(
            gate, EDITOR, f"# Editor\n\n{text}\n", world.seen(EDITOR), By("model", f"change {number}", f"tx-{number}")
        )
    entries.retract(gate, EDITOR, By("user", "not known", "tx-2"))
    entries.restore(gate, EDITOR, By("user", "it was right", "tx-3"))
    found = resource_history(world.root, world.capture(), EDITOR)
    assert [(one.text.splitlines()[-1], one.replaced_by) for one in found.versions] == [
        ("Prefers a dark theme.", "tx-0"),
        ("Uses Emacs.", "tx-1"),
        ("Uses Vim.", None),
    ]
    assert [(one.tx_id, one.before, one.after, one.actor, one.reason) for one in found.changes] == [
        ("tx-2", "current", "retracted", "user", "not known"),
        ("tx-3", "retracted", "current", "user", "it was right"),
    ]
    log = read_log(world.root, world.capture(), limit=3)
    assert [(one.tx_id, one.number, one.entries) for one in log] == [
        ("tx-3", 4, {}),
        ("tx-2", 3, {}),
        ("tx-1", 2, {EDITOR: "changed"}),
    ]


def test_a_resource_that_a_write_removed_keeps_its_last_text(world: World) -> None:
    removed = f"{LOG}#2026-11-02 Deploy"
    entries.write_source(world.gate(), LOG, "## 2026-11-03 Retry\n\nIt worked.\n", world.seen(LOG), By(tx_id="tx"))
    found = resource_history(world.root, world.capture(), removed)
    assert found.source_ref is None
    assert [(one.text.splitlines()[-1], one.replaced_by) for one in found.versions] == [("The deploy failed.", "tx")]
    assert "tx" in {one.tx_id for one in read_log(world.root, world.capture()) if removed in one.entries}


def test_an_id_that_never_was_has_no_history(world: World) -> None:
    with pytest.raises(InputError, match="nobody"):
        resource_history(world.root, world.capture(), "nobody")


@pytest.mark.field(123)
def test_a_retracted_file_that_a_person_deleted_can_be_restored_and_written_anew(world: World) -> None:
    entries.retract(world.gate(), EDITOR, BY)
    (world.root / EDITOR).unlink()
    with pytest.raises(InputError, match="restore it first"):
        entries.write_source(world.gate(), EDITOR, "# Editor\n\nUses Vim.\n", None, BY)
    entries.restore(world.gate(), EDITOR, BY)
    entries.write_source(world.gate(), EDITOR, "# Editor\n\nUses Vim.\n", None, BY)
    assert world.told()["states"][EDITOR] == (Status.CURRENT, None)
    with pytest.raises(InputError, match="no resource has this id"):
        entries.restore(world.gate(), "user/nobody.md", BY)


def test_a_repeated_append_gives_the_first_result_whatever_became_of_the_file(world: World) -> None:
    by = By("user", tx_id="tx")
    first = entries.append_entry(world.gate(), LOG, "Rolled back.", by)
    (world.root / LOG).write_text(f"{world.read(LOG)}\n```\nopen", encoding="utf-8")
    assert entries.append_entry(world.gate(), LOG, "Rolled back.", by) == first
    (world.root / LOG).unlink()
    assert entries.append_entry(world.gate(), LOG, "Rolled back.", by) == first


@pytest.mark.field(97)
def test_entries_of_one_log_that_are_superseded_at_once_are_all_superseded(world: World) -> None:
    world.write(LOG, "".join(f"## Entry {number}\n\nText {number}.\n\n" for number in range(8)))
    olds = [f"{LOG}#Entry {number}" for number in range(8)]
    with ThreadPoolExecutor(len(olds)) as threads:
        done = threads.map(lambda old: entries.supersede_by_text(World(world.root).gate(), old, old, BY)[1], olds)
    states = world.told()["states"]
    assert [states[old] for old in olds] == [(Status.SUPERSEDED, new) for new in done]


@pytest.mark.parametrize("resource_id", ["db", f"{LOG}#2026-11-02 Deploy"])
def test_a_repeated_supersession_names_the_first_successor(world: World, resource_id: str) -> None:
    by = By("user", tx_id="tx")
    first = entries.supersede_by_text(world.gate(), resource_id, "PostgreSQL now.", by)
    told = world.told()
    assert entries.supersede_by_text(world.gate(), resource_id, "PostgreSQL now.", by) == first
    assert world.told() == told
    with pytest.raises(InputError, match="tx is another change"):
        entries.supersede_by_text(world.gate(), EDITOR, "Vim.", by)


def test_half_a_character_in_a_title_or_a_reason_stops_no_change(world: World) -> None:
    entries.append_entry(world.gate(), LOG, "Done.", By("user", "why \udcff"), title="T \udcff")
    entries.retract(world.gate(), EDITOR, By("user", "no \ud83d", "tx"))
    assert entries_of(world, LOG)[-1] == "## 2026-11-02 T \ufffd\n\nDone."
    assert [one.reason for one in read_log(world.root, world.capture())] == ["no \ufffd", "why \ufffd"]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_retraction_says_why(world: World, reason: str) -> None:
    with pytest.raises(InputError, match="Say why"):
        entries.retract(world.gate(), EDITOR, By("user", reason))


def test_what_has_to_be_looked_at_is_reported(world: World) -> None:
    assert writing_health(world.root).model_dump() == {"pending": (), "conflicts": ()}
    world.write(".memory/journal/x.json", "{")
    assert [one.file for one in writing_health(world.root).pending] == [".memory/journal/x.json"]
    world.gate().recover()
    assert [one.file for one in writing_health(world.root).conflicts] == [".memory/conflicts/x.json"]
