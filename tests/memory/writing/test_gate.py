"""What the gate takes, what it refuses, and what it leaves behind."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.memory.conftest import fill
from tests.memory.folder import Memory
from tests.memory.writing.world import World
from workbench.core.errors import InputError, NotReady, StorageError
from workbench.core.hashing import sha256_hex
from workbench.core.limits import resolve_limits
from workbench.core.resource import Status
from workbench.memory.snapshot import validate_hit
from workbench.memory.versions import read_version
from workbench.memory.writing.gate import Commit, PageEdit, StateChange, Write
from workbench.memory.writing.ledger import MOST_RECENT

DATABASE, EDITOR = "decisions/database.md", "user/editor.md"
RETRACTED, CURRENT = StateChange(Status.RETRACTED), StateChange(Status.CURRENT)


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    world = World(root)
    fill(world)
    return world


def superseded_by(resource_id: str) -> StateChange:
    return StateChange(Status.SUPERSEDED, resource_id)


def refused(error: pytest.ExceptionInfo[InputError], code: str, *words: str) -> bool:
    return error.value.code == code and all(word in error.value.message for word in words)


def test_a_write_answers_with_the_memory_that_the_next_capture_sees(world: World) -> None:
    before = world.capture().ref.miv
    done = world.put("tx", {"notes/new.md": "# New\n\nText.\n", DATABASE: "# Database\n\nOther.\n"})
    assert done == Commit(
        tx_id="tx", written=(DATABASE, "notes/new.md"), miv=world.capture().ref.miv, record_state_version=0
    )
    assert done.miv != before
    assert world.read("notes/new.md") == "# New\n\nText.\n"


@pytest.mark.spec("T1-5")
def test_status_alone_changes_the_miv_and_taking_it_back_gives_the_old_one(world: World) -> None:
    first = world.capture().ref
    retracted = world.put("one", {}, {EDITOR: RETRACTED})
    restored = world.put("two", {}, {EDITOR: CURRENT})
    assert (retracted.miv != first.miv, restored.miv == first.miv) == (True, True)
    assert (retracted.record_state_version, restored.record_state_version) == (1, 2)


@pytest.mark.spec("T1-5")
def test_a_change_that_changes_nothing_moves_neither_miv_nor_version(world: World) -> None:
    before = world.capture().ref
    same = world.put("one", {DATABASE: world.read(DATABASE)}, {EDITOR: CURRENT})
    assert (same.miv, same.record_state_version, same.written) == (before.miv, 0, ())
    assert world.capture().ref == before
    world.put("two", {}, {EDITOR: RETRACTED})
    assert world.put("three", {}, {EDITOR: RETRACTED}).record_state_version == 1


def test_the_same_tx_id_returns_its_first_result_and_changes_nothing(world: World) -> None:
    first = world.put("tx", {DATABASE: "# One\n"}, {EDITOR: RETRACTED})
    world.put("other", {DATABASE: "# Two\n"})
    again = world.gate().commit_mutation("tx", [Write("../bad", b"", "x")], {"nobody": RETRACTED})
    assert again == first
    assert world.read(DATABASE) == "# Two\n"


def test_a_tx_id_that_has_left_the_manifest_is_still_known(world: World) -> None:
    done = [world.put("tx-0", {"notes/a.md": "0\n"})]
    document = json.loads(world.read(".memory/state.json"))
    more = {f"more-{n}": {"number": n, "record_state_version": 0} for n in range(2, MOST_RECENT + 1)}
    world.state(0, {}, transactions={**document["transactions"], **more})
    done += [world.put(f"tx-{n}", {"notes/a.md": f"{n}\n"}) for n in (1, 2)]
    stored = json.loads(world.read(".memory/state.json"))["transactions"]
    assert ("tx-0" in stored, "tx-1" in stored, len(stored) < MOST_RECENT) == (False, True, True)
    again = [world.gate().commit_mutation(f"tx-{n}", [Write("notes/a.md", b"never", None)]) for n in range(len(done))]
    assert again == done


@pytest.mark.spec("T4-7", "T1-4")
@pytest.mark.field(49)
@pytest.mark.parametrize("expected", [None, "0" * 64, "own"])
def test_a_file_that_is_not_as_it_was_read_is_left_alone_and_named(world: World, expected: str | None) -> None:
    read = world.seen(DATABASE) if expected == "own" else expected
    world.write(DATABASE, "A person wrote this.\n")
    writes = [Write(DATABASE, b"model\n", read), Write("notes/x.md", b"x\n", "1" * 64), Write("notes/y.md", b"y", None)]
    before = world.told()
    with pytest.raises(InputError) as error:
        world.gate().commit_mutation("tx", writes, {EDITOR: RETRACTED})
    assert error.value.code == "digest_conflict"
    assert error.value.detail == [
        {"source_ref": DATABASE, "expected": read, "found": sha256_hex("A person wrote this.\n")},
        {"source_ref": "notes/x.md", "expected": "1" * 64, "found": None},
    ]
    assert world.told() == before


def test_a_writer_that_saw_another_state_is_refused(world: World) -> None:
    world.put("one", {}, {EDITOR: RETRACTED})
    with pytest.raises(InputError) as error:
        world.put("two", {}, {EDITOR: CURRENT}, expected=0)
    assert refused(error, "digest_conflict", "version 1, not 0")
    assert world.put("three", {}, {EDITOR: CURRENT}, expected=1).record_state_version == 2


@pytest.mark.parametrize(
    ("source_ref", "why"),
    [
        ("/etc/x.md", "relative"),
        ("../x.md", "relative"),
        ("a/../../x.md", "relative"),
        ("a//b.md", "relative"),
        ("", "relative"),
        ("notes/x.txt", "no such file"),
        (".memory/x.md", "hidden"),
        ("notes/.x.md", "hidden"),
        ("a/node_modules/x.md", "node_modules"),
        ("a\\b.md", "characters"),
        ("a\x00b.md", "characters"),
        ("a\ud800.md", "characters"),
        ("cafe\u0301.md", "NFC"),
        ("drafts/x.md", "ignore file"),
        ("notes/private/x.md", "ignore file"),
        ("outside/x.md", "out of the memory root"),
        ("passwords.md", "out of the memory root"),
        ("folder.md", "no file"),
        ("user/editor.md/x.md", "is a file"),
        ("twins/ö.md", "several files"),
        ("broken.md", "encoding"),
        ("nul.md", "nul"),
        ("long.md", "more than the 100"),
    ],
)
def test_what_memory_is_not_read_from_is_not_written(world: World, tmp_path: Path, source_ref: str, why: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text("kept\n")
    world.write(".gitignore", "drafts/\n")
    world.write("notes/.ignore", "private\n")
    (world.root / "outside").symlink_to(elsewhere)
    (world.root / "passwords.md").symlink_to(elsewhere / "x.md")
    (world.root / "folder.md").mkdir()
    for name in ("ö.md", "o\u0308.md"):
        world.write(f"twins/{name}", "x\n")
    content = {"broken.md": b"\xff", "nul.md": b"a\x00", "long.md": b"x" * 101}.get(source_ref, b"text\n")
    before = sorted(world.root.rglob("*"))
    with pytest.raises(InputError) as error:
        world.gate(limits=resolve_limits({"source_bytes": 100})).commit_mutation(
            "tx", [Write(source_ref, content, None), Write("notes/fine.md", b"fine\n", None)]
        )
    assert refused(error, "invalid_argument", why)
    assert len(error.value.detail) == 1
    assert [path for path in sorted(world.root.rglob("*")) if ".memory" not in path.parts] == before
    assert (elsewhere / "x.md").read_text() == "kept\n"


def test_a_link_inside_the_root_is_written_through(world: World) -> None:
    (world.root / "link.md").symlink_to("decisions/database.md")
    (world.root / "shelf").symlink_to("decisions")
    world.put("one", {"link.md": "# Through\n"})
    world.put("two", {"shelf/new.md": "# Beside\n"})
    assert (world.root / "link.md").is_symlink()
    assert (world.read(DATABASE), world.read("decisions/new.md")) == ("# Through\n", "# Beside\n")
    with pytest.raises(InputError, match="2 times at once"):
        world.put("three", {"link.md": "a\n", DATABASE: "b\n"})


def test_a_file_whose_name_is_decomposed_on_the_disk_is_replaced_there(world: World) -> None:
    world.write("notes/cafe\u0301.md", "Old.\n")
    found = sha256_hex("Old.\n")
    world.gate().commit_mutation("two", [Write("notes/caf\u00e9.md", b"New.\n", found)])
    assert [path.name for path in (world.root / "notes").iterdir()] == ["cafe\u0301.md"]
    assert world.read("notes/cafe\u0301.md") == "New.\n"


def test_a_file_that_nobody_may_write_is_left_alone(world: World) -> None:
    before = world.read(DATABASE)
    (world.root / DATABASE).chmod(0o444)
    with pytest.raises(InputError) as error:
        world.put("tx", {DATABASE: "# New\n"})
    assert refused(error, "invalid_argument", DATABASE, "protected")
    assert world.read(DATABASE) == before
    world.put("status", {}, {"db": RETRACTED})
    (world.root / DATABASE).chmod(0o644)
    world.put("restored", {DATABASE: "---\nid: db\n---\n# New\n"}, {"db": CURRENT})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_of_a_file_stay(world: World) -> None:
    os.chown(world.root / DATABASE, 1234, 4321)
    world.put("tx", {DATABASE: "# New\n"})
    status = (world.root / DATABASE).stat()
    assert (status.st_uid, status.st_gid) == (1234, 4321)


def test_the_mode_of_a_file_stays_and_a_new_one_gets_the_usual(world: World) -> None:
    (world.root / DATABASE).chmod(0o640)
    old = os.umask(0o027)
    try:
        world.put("tx", {DATABASE: "# New\n", "notes/new.md": "# New\n"})
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((world.root / ref).stat().st_mode) for ref in (DATABASE, "notes/new.md")]
    assert modes == [0o640, 0o640]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nobody": RETRACTED}, "no resource has this id"),
        ({EDITOR: superseded_by("nobody")}, "successor nobody"),
        ({EDITOR: superseded_by(EDITOR)}, "supersede itself"),
        ({EDITOR: StateChange(Status.SUPERSEDED)}, "say which"),
        ({EDITOR: StateChange(Status.RETRACTED, "db")}, "only a superseded"),
        ({EDITOR: superseded_by("db"), "db": superseded_by(EDITOR)}, "by itself in the end"),
        ({EDITOR: superseded_by("db"), "db": RETRACTED}, "is retracted; name a current one"),
    ],
)
def test_a_status_that_leads_nowhere_is_refused_and_leaves_nothing_dangling(
    world: World, changes: dict[str, StateChange], why: str
) -> None:
    before = world.told()
    with pytest.raises(InputError) as error:
        world.put("tx", {"notes/new.md": "New.\n"}, changes)
    assert refused(error, "invalid_argument", why)
    assert world.told() == before


@pytest.mark.field(123)
@pytest.mark.parametrize(
    ("ref", "text", "says"),
    [
        (EDITOR, "# Editor\n\nPrefers a light theme.\n", "user/editor.md: it is retracted"),
        ("user/again.md", "# Editor\n\nPrefers a dark theme.\n", "retracted as user/editor.md"),
        (
            "user/again.md",
            "---\nid: e2\n---\n# Other title\n\nprefers  a dark\ntheme.\n",
            "retracted as user/editor.md",
        ),
        ("log/later.md", "## 2026-12-01\n<!-- memory:x -->\n\nPrefers a dark theme.\n", "retracted as user/editor.md"),
    ],
)
def test_what_was_retracted_does_not_come_back_unasked(world: World, ref: str, text: str, says: str) -> None:
    world.put("one", {}, {EDITOR: RETRACTED})
    before = world.told()
    with pytest.raises(InputError) as error:
        world.put("two", {ref: text}, {"db": superseded_by(ref)})
    assert refused(error, "invalid_argument", says, "restore")
    assert world.told() == before


@pytest.mark.field(123)
def test_a_retracted_text_is_remembered_after_its_file_is_gone(world: World) -> None:
    world.put("one", {}, {EDITOR: RETRACTED})
    (world.root / EDITOR).unlink()
    for ref in (EDITOR, "user/again.md"):
        with pytest.raises(InputError, match=r"retracted"):
            world.put(f"two {ref}", {ref: "# Editor\n\nPrefers a dark theme.\n"})


@pytest.mark.field(123)
def test_a_whole_file_that_leaves_a_retracted_section_as_it_is_may_be_written(world: World) -> None:
    log = "log/2026-11-02.md"
    world.put("one", {}, {f"{log}#2026-11-02 Deploy": RETRACTED})
    world.put("two", {log: world.read(log) + "\n## 2026-11-04 Third\n\nA third entry.\n"})
    states = world.told()["states"]
    assert states[f"{log}#2026-11-02 Deploy"] == (Status.RETRACTED, None)
    assert states[f"{log}#2026-11-04 Third"] == (Status.CURRENT, None)


@pytest.mark.field(123)
def test_asking_for_it_brings_a_retracted_text_back(world: World) -> None:
    world.put("one", {}, {EDITOR: RETRACTED})
    world.put("two", {EDITOR: "# Editor\n\nPrefers a light theme.\n"}, {EDITOR: CURRENT})
    assert world.told()["states"][EDITOR] == (Status.CURRENT, None)


@pytest.mark.field(124)
def test_contradicting_texts_and_equal_ones_are_all_kept(world: World) -> None:
    texts = {"user/a.md": "The name is A.\n", "user/b.md": "The name is B.\n", "user/c.md": "The name is B.\n"}
    for ref, text in texts.items():
        world.put(ref, {ref: text})
    told = world.told()
    assert {ref: told["texts"][ref].decode() for ref in texts} == texts
    assert {told["states"][ref] for ref in texts} == {(Status.CURRENT, None)}


def test_an_id_cannot_be_taken_from_the_resource_that_has_it(world: World) -> None:
    """Two claims would give both resources derived ids, and the retracted one would be current under its own."""
    world.put("one", {}, {"db": RETRACTED})
    with pytest.raises(InputError, match="db: another resource has this id"):
        world.put("two", {"notes/x.md": "---\nid: db\n---\n# Other\n"})
    assert world.told()["states"]["db"] == (Status.RETRACTED, None)


@pytest.mark.field(127)
def test_the_bytes_that_a_write_replaces_are_kept(world: World) -> None:
    old = (world.root / DATABASE).read_bytes()
    world.put("one", {DATABASE: "# Two\n"})
    world.put("two", {DATABASE: "# Three\n"})
    assert [read_version(world.root, sha256_hex(data)) for data in (old, b"# Two\n")] == [old, b"# Two\n"]


@pytest.mark.spec("T4-1", "T4-3")
def test_no_write_goes_around_the_contract_of_a_whiteboard_page(world: World) -> None:
    board = "whiteboard/board.md"
    before = world.told()
    with pytest.raises(InputError) as error:
        world.put("one", {board: "# Empty\n"})
    assert refused(error, "whiteboard_rejected", "c1")
    assert world.told() == before
    new = "<!-- card:c2 -->\n### Queue two\n\nWe use two queues.\n"
    world.put("two", {board: new}, pages={board: PageEdit(renamed={"c1": "c2"})})
    assert (world.capture().manifest.status("c1"), world.capture().manifest.superseded_by("c1")) == ("superseded", "c2")
    gone = {board: PageEdit("user", archived={"c2": "done"})}
    archived = world.put("three", {board: "# Board\n"}, pages=gone)
    assert archived.record_state_version == 1
    mark = json.loads(world.read(".memory/state.json"))["archived"]["c2"]
    assert mark == {"at": "2026-11-02T12:00:00.000Z", "reason": "done"}


@pytest.mark.spec("T1-3")
@pytest.mark.field(122)
def test_what_was_recalled_and_then_retracted_is_no_hit_any_more_and_still_readable(world: World) -> None:
    recalled = next(one for one in world.capture().resources if one.resource_id == EDITOR)

    class Hit:
        resource_id, resource_hash = recalled.resource_id, recalled.content_hash

    assert validate_hit(Hit(), world.capture()) is None
    world.put("tx", {}, {EDITOR: RETRACTED})
    assert validate_hit(Hit(), world.capture()) == "not_current"
    assert [one.body for one in world.capture().resources if one.resource_id == EDITOR] == [recalled.body]


def test_reading_and_recovery_go_on_where_writing_is_switched_off(world: World) -> None:
    gate = world.gate(read_only=True)
    with pytest.raises(InputError) as error:
        gate.commit_mutation("tx", [Write("notes/a.md", b"a\n", None)])
    assert refused(error, "read_only", "memory_mutation_mode")
    gate.recover()
    assert not (world.root / "notes").exists()


@pytest.mark.field(91)
def test_a_second_writer_waits_a_little_and_then_says_so(world: World) -> None:
    with world.held():
        with pytest.raises(NotReady) as error:
            world.gate(wait_s=0.05).commit_mutation("tx", [Write("notes/a.md", b"a\n", None)])
        told = world.told()
    assert error.value.code == "writer_busy"
    assert len(told["texts"]) == 5
    assert world.put("tx", {"notes/a.md": "a\n"}).written == ("notes/a.md",)


@pytest.mark.parametrize("tx_id", ["", " ", "x" * 201, "a\nb"])
def test_a_tx_id_that_cannot_be_kept_is_refused(world: World, tx_id: str) -> None:
    with pytest.raises(InputError, match="tx_id"):
        world.put(tx_id, {})


def test_a_damaged_manifest_refuses_every_change(world: World) -> None:
    world.write(".memory/state.json", "{")
    with pytest.raises(StorageError) as error:
        world.put("tx", {DATABASE: "# New\n"}, {EDITOR: RETRACTED})
    assert error.value.code == "state_damaged"
    assert world.read(".memory/state.json") == "{"
    assert "SQLite" in world.read(DATABASE)


def test_every_commit_is_told_once_it_is_done(world: World) -> None:
    told: list[Commit] = []
    gate = world.gate()
    gate.on_commit.append(told.append)
    done = gate.commit_mutation("tx", [Write("notes/a.md", b"a\n", None)])
    gate.commit_mutation("tx", [])
    assert told == [done]


def test_a_retraction_is_a_small_readable_diff_under_version_control(world: World) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=world.root, capture_output=True, check=True, text=True
        )
        return done.stdout

    git("init", "-q")
    world.put("tx-1", {"notes/a.md": "A.\n"})
    git("add", "-A")
    git("commit", "-qm", "first")
    assert not [name for name in git("ls-files").split() if "journal" in name or "lock" in name]
    world.put("tx-2", {}, {EDITOR: RETRACTED}, reason="it was wrong", actor="user")
    diff = git("diff", "--numstat").split()
    assert diff[2] == ".memory/state.json"
    assert (int(diff[0]) <= 22, int(diff[1]) <= 4, len(diff)) == (True, True, 3)
    assert git("status", "--porcelain").split() == ["M", ".memory/state.json"]


def test_a_hostile_journal_writes_nothing_outside_of_the_sources(memory: Memory) -> None:
    """A journal can come with a cloned folder: it is data, and can name Markdown inside the root only."""
    world = World(memory.root)
    world.write("notes/a.md", "A.\n")
    (world.root / "out.md").symlink_to(world.root.parent / "outside.md")
    manifest = {"format": "memory-state-1", "record_state_version": 0}
    for number, ref in enumerate(["../outside.md", ".git/hooks/post-commit", "notes/run.sh", "out.md", "/tmp/x.md"]):
        write = {"before": None, "target": sha256_hex("evil"), "bytes": "ZXZpbA=="}
        entry = {"format": "memory-journal-1", "tx_id": "t", "writes": {ref: write}, "before": manifest}
        world.write(f".memory/journal/{number}.json", json.dumps({**entry, "after": manifest}))
    before = sorted(world.root.parent.rglob("*.md"))
    world.gate().recover()
    assert sorted(world.root.parent.rglob("*.md")) == before
    assert len(list((world.root / ".memory/conflicts").iterdir())) == 5
