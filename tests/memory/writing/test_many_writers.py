"""Writers in several processes, and a person who edits by hand: nobody's work is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.memory.writing.busy import SHARED
from tests.memory.writing.world import World


def at_once(root: Path, *works: tuple[str, str, int]) -> list[list[object]]:
    """Run processes side by side; what each of them met."""
    command = [sys.executable, "-m", "tests.memory.writing.busy"]
    started = [
        subprocess.Popen([*command, role, str(root), name, str(count)], stdout=subprocess.PIPE, cwd=ROOT)
        for role, name, count in works
    ]
    outs = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(works)
    return [json.loads(out) for out in outs]


def lines_of(world: World) -> list[str]:
    return [line for ref in SHARED for line in world.read(ref).splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "memory")
    for ref in SHARED:
        world.write(ref, f"# {ref}\n")
    return world


@pytest.mark.spec("T1-4")
@pytest.mark.field(49, 96)
@pytest.mark.parametrize("count", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_two_writers_and_a_person_lose_nothing(world: World, count: int) -> None:
    at_once(world.root, ("gate", "a", count), ("gate", "b", count), ("hands", "person", count))
    lines = lines_of(world)
    for name, mark in (("a", "## a"), ("b", "## b"), ("person", "person")):
        assert sorted(line for line in lines if line.startswith(f"{mark} ")) == sorted(
            f"{mark} {number}" for number in range(count)
        ), name
    assert world.litter() == []
    assert len(world.told()["texts"]) == len(SHARED)


@pytest.mark.field(96, 97)
def test_twenty_appenders_in_two_processes_lose_nothing(world: World) -> None:
    at_once(world.root, ("append", "a", 10), ("append", "b", 10))
    told = sorted(line for line in lines_of(world) if line.startswith("## "))
    assert told == sorted(f"## {name} {number}" for name in "ab" for number in range(10))
    assert len(world.capture().manifest.transactions) == 20
