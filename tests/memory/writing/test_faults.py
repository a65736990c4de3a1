"""A write is broken at every step it takes, by an exception and by the end of its process: all of it, or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.memory.conftest import fill
from tests.memory.writing.world import Broken, World, broken_at, killed_at
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Status
from workbench.memory.journal import entry_files
from workbench.memory.writing.gate import StateChange, Write
from workbench.memory.writing.ledger import MOST_RECENT
from workbench.storage.faults import on_step

DATABASE, QUEUE = "decisions/database.md", "decisions/queue.md"
TEXTS = {DATABASE: "---\nid: db\n---\n# Database\n\nWe chose PostgreSQL.\n", QUEUE: "# Queue\n\nWe use a table.\n"}
CHANGES = {"user/editor.md": StateChange(Status.RETRACTED)}
HANDS = "# Queue\n\nA person wrote this meanwhile.\n"

Break = Callable[[int, Callable[[], object]], None]


def raised_at(number: int, work: Callable[[], object]) -> None:
    with broken_at(number):
        try:
            work()
        except Broken:
            return


BREAKS = [pytest.param(raised_at, id="raised"), pytest.param(killed_at, id="killed")]


def small(root: Path) -> World:
    root.mkdir()
    world = World(root)
    fill(world)
    return world


def long_history(root: Path) -> World:
    """One with so many transactions that the next one moves old ones to the log."""
    world = small(root)
    transactions = {f"tx-{n}": {"number": n, "record_state_version": 0} for n in range(1, MOST_RECENT + 1)}
    world.state(0, {}, transactions=transactions)
    return world


MEMORIES = [pytest.param(small, id="small"), pytest.param(long_history, id="long history")]


def change(world: World) -> Any:
    return world.put("tx", TEXTS, CHANGES)


def steps_of(world: World, work: Callable[[World], object]) -> Sequence[str]:
    """The steps of a work, found by doing it once on a copy."""
    copy = World(world.root.with_name("recording"))
    shutil.copytree(world.root, copy.root)
    names: list[str] = []
    with on_step(names.append):
        work(copy)
    shutil.rmtree(copy.root)
    return names


def copies(world: World, count: int) -> list[World]:
    return [World(Path(shutil.copytree(world.root, world.root.with_name(f"copy-{n}")))) for n in range(count)]


@pytest.mark.spec("T1-2")
@pytest.mark.field(98, 99)
@pytest.mark.parametrize("memory_of", MEMORIES)
@pytest.mark.parametrize("break_at", BREAKS)
def test_a_write_broken_at_any_step_is_entirely_old_or_entirely_new(
    tmp_path: Path, memory_of: Callable[[Path], World], break_at: Break
) -> None:
    world = memory_of(tmp_path / "memory")
    steps = steps_of(world, change)
    assert {"memory.journal.prepare", "memory.version.sync", "memory.file.replace", "memory.manifest.replace"} <= {
        *steps
    }
    done = copies(world, 1)[0]
    change(done)
    old, new = world.told(), done.told()
    shutil.rmtree(done.root)
    outcomes = []
    for number, broken in enumerate(copies(world, len(steps))):
        break_at(number, lambda broken=broken: change(broken))
        before_recovery = World(broken.root).told()
        broken.gate().recover()
        told = World(broken.root).told()
        assert told in (old, new), steps[number]
        assert before_recovery == told, steps[number]
        assert broken.litter() == [], steps[number]
        outcomes.append(told == new)
        assert change(broken).written == tuple(sorted(TEXTS)), steps[number]
        assert World(broken.root).told() == new, steps[number]
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


@pytest.mark.spec("T1-2")
@pytest.mark.parametrize("break_at", BREAKS)
def test_a_recovery_broken_at_any_step_is_done_by_the_next_one(tmp_path: Path, break_at: Break) -> None:
    world = small(tmp_path / "memory")
    done = copies(world, 1)[0]
    change(done)
    new = done.told()
    shutil.rmtree(done.root)
    killed_at(steps_of(world, change).index("memory.manifest.prepare") - 3, lambda: change(world))
    assert entry_files(world.root)
    steps = steps_of(world, lambda copy: copy.gate().recover())
    for number, broken in enumerate(copies(world, len(steps))):
        break_at(number, broken.gate().recover)
        assert World(broken.root).told() == new, steps[number]
        assert broken.litter() == [], steps[number]


@pytest.mark.spec("T1-2", "T1-4")
@pytest.mark.parametrize("break_at", BREAKS)
def test_a_person_who_edits_after_the_crash_wins_at_every_step(tmp_path: Path, break_at: Break) -> None:
    world = small(tmp_path / "memory")
    world.write(QUEUE, "# Queue\n\nOld.\n")
    old, steps = world.told(), steps_of(world, change)
    conflicts = []
    for number, broken in enumerate(copies(world, len(steps))):
        break_at(number, lambda broken=broken: change(broken))
        broken.write(QUEUE, HANDS)
        told = World(broken.root).told()
        assert told["texts"][QUEUE] == HANDS.encode(), steps[number]
        committed = told["states"]["user/editor.md"][0] is Status.RETRACTED
        assert (told["texts"][DATABASE] == TEXTS[DATABASE].encode()) == committed, steps[number]
        assert committed or told["states"] == old["states"], steps[number]
        broken.gate().recover()
        assert broken.litter() == [], steps[number]
        conflicts.append(len(entry_files(broken.root, ".memory/conflicts")))
    assert (1 in conflicts) == (break_at is killed_at)


@pytest.mark.spec("T1-2")
@pytest.mark.parametrize("break_at", BREAKS)
def test_putting_a_conflict_back_can_be_broken_at_any_step(tmp_path: Path, break_at: Break) -> None:
    world = small(tmp_path / "memory")
    killed_at(steps_of(world, change).index("memory.manifest.prepare"), lambda: change(world))
    world.write(QUEUE, HANDS)
    steps = steps_of(world, lambda copy: copy.gate().recover())
    for number, broken in enumerate(copies(world, len(steps))):
        break_at(number, broken.gate().recover)
        told = World(broken.root).told()
        assert told["texts"][QUEUE] == HANDS.encode(), steps[number]
        assert b"SQLite" in told["texts"][DATABASE], steps[number]
        assert told["states"]["user/editor.md"][0] is Status.CURRENT
        assert (broken.litter(), len(entry_files(broken.root, ".memory/conflicts"))) == ([], 1), steps[number]


@pytest.mark.spec("T1-2")
@pytest.mark.parametrize("manifest", ["there", "lost"])
def test_half_a_transaction_that_nobody_can_settle_now_is_not_shown(tmp_path: Path, manifest: str) -> None:
    """With every file replaced, a lost manifest can only have been the new one; one that is there is the old one."""
    world = small(tmp_path / "memory")
    world.put("first", {"notes/other.md": "Other.\n"})
    killed_at(steps_of(world, change).index("memory.manifest.prepare"), lambda: change(world))
    if manifest == "lost":
        (world.root / ".memory/state.json").unlink()
    with world.held():
        told = world.told()
    hidden = [] if manifest == "lost" else [f"{DATABASE}: unfinished_write", f"{QUEUE}: unfinished_write"]
    assert sorted(one.detail for one in told["unreadable"]) == hidden
    assert told["states"]["user/editor.md"][0] == ("retracted" if manifest == "lost" else "current")
    assert "log/2026-11-02.md" in told["texts"]
    assert World(world.root).told()["texts"][DATABASE] == TEXTS[DATABASE].encode()


@pytest.mark.spec("T1-1")
def test_text_status_and_miv_are_there_together_after_a_restart(tmp_path: Path) -> None:
    world = small(tmp_path / "memory")
    done = change(world)
    again = World(world.root)
    told = again.told()
    assert told["ref"].miv == done.miv
    assert told["ref"].record_state_version == done.record_state_version == 1
    assert told["texts"][DATABASE] == TEXTS[DATABASE].encode()
    assert told["states"]["user/editor.md"][0] is Status.RETRACTED
    assert again.gate().commit_mutation("tx", [Write(QUEUE, b"never", None)]) == done


@pytest.mark.spec("T1-4")
@pytest.mark.field(49)
@pytest.mark.parametrize("place", [DATABASE, QUEUE])
@pytest.mark.parametrize("step", ["memory.journal.prepare", "memory.file.prepare", "memory.file.replace"])
def test_an_edit_in_the_last_moment_wins_and_the_rest_is_put_back(tmp_path: Path, place: str, step: str) -> None:
    world = small(tmp_path / "memory")
    old = world.told()

    def edit(name: str) -> None:
        if name == step:
            world.write(place, HANDS)

    with on_step(edit), pytest.raises(InputError) as refused:
        change(world)
    told = World(world.root).told()
    assert refused.value.code == "digest_conflict"
    assert [one["source_ref"] for one in refused.value.detail] == [place]
    assert refused.value.detail[0]["found"] == sha256_hex(HANDS)
    assert told["texts"] == {**old["texts"], place: HANDS.encode()}
    assert told["states"]["user/editor.md"] == old["states"]["user/editor.md"]
    assert (world.litter(), entry_files(world.root, ".memory/conflicts")) == ([], [])


@pytest.mark.spec("T1-4")
@pytest.mark.parametrize("step", ["memory.journal.prepare", "memory.file.prepare", "memory.file.replace"])
@pytest.mark.parametrize("what", ["a folder", "a pipe", "a link out", "nothing", "nobody's"])
def test_a_file_that_becomes_another_thing_in_the_last_moment_is_left_as_it_is(
    tmp_path: Path, step: str, what: str
) -> None:
    world = small(tmp_path / "memory")
    path, outside = world.root / DATABASE, tmp_path / "outside.md"
    outside.write_text("Kept.", encoding="utf-8")
    makes: dict[str, Callable[[], object]] = {
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a link out": lambda: path.symlink_to(outside),
        "nothing": lambda: None,
        "nobody's": lambda: path.touch(0o000),
    }

    def become(name: str) -> None:
        if name == step and path.is_file() and not path.is_symlink() and path.stat().st_size:
            path.unlink()
            makes[what]()

    with on_step(become), pytest.raises(WorkbenchError) as refused:
        change(world)
    assert refused.value.code in ("digest_conflict", "home_unwritable")
    assert path.is_file() == (what in ("a link out", "nobody's"))
    assert (path.is_symlink(), outside.read_text(encoding="utf-8")) == (what == "a link out", "Kept.")
    assert not (world.root / QUEUE).exists()
    assert World(world.root).told()["states"]["user/editor.md"][0] is Status.CURRENT
    world.gate().recover()
    assert world.litter() == []
