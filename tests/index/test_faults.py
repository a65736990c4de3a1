"""A build is broken at every step that changes the disk, by an exception and by the end of its process."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.index.builds import PROJECT, build, check_integrity, contents, write
from workbench.models.fake import FakeEmbedder
from workbench.storage.faults import on_step
from workbench.storage.project_index import ProjectIndex

AFTER_THE_COMMIT = ("index.tidy",)
EDITS = {
    "notes/rust.md": "# Rust\n\n## Ownership\n\nEach value has one owner.\n\n## Lifetimes\n\nA region.\n",
    "notes/new.md": "# New\n\nA note that was not there.\n",
}


class Broken(Exception):
    """What a test raises at a step."""


def edit(root: Path) -> None:
    """One source changed, one new, one gone."""
    write(root, EDITS)
    (root / "user/tea.md").unlink(missing_ok=True)


def steps_of_an_edit(tmp_path: Path, root: Path) -> list[str]:
    """The names of the steps that building the edit passes, each once, in order."""
    names: list[str] = []
    copy = tmp_path / "recording"
    shutil.copytree(root, copy)
    index = ProjectIndex(tmp_path / "recording-home", PROJECT)
    build(copy, index, FakeEmbedder())
    edit(copy)
    with on_step(names.append):
        build(copy, index, FakeEmbedder())
    return list(dict.fromkeys(names))


def run_killed(home: Path, root: Path, *arguments: str) -> int:
    command = [sys.executable, "-m", "tests.index.kill_during_build", str(home), str(root), *arguments]
    return subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode


def is_published(step: str) -> bool:
    return step.startswith(AFTER_THE_COMMIT)


def states(tmp_path: Path, root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the index holds before and after the edit, when nothing goes wrong."""
    copy = tmp_path / "expected"
    shutil.copytree(root, copy)
    index = ProjectIndex(tmp_path / "expected-home", PROJECT)
    build(copy, index, FakeEmbedder())
    old = contents(index)
    edit(copy)
    build(copy, index, FakeEmbedder())
    return old, contents(index)


@pytest.mark.spec("D2")
@pytest.mark.spec("T2-6")
def test_an_exception_at_any_step_leaves_one_whole_head_and_the_next_build_succeeds(
    tmp_path: Path, root: Path, home: Path
) -> None:
    old, new = states(tmp_path, root)
    steps = steps_of_an_edit(tmp_path, root)
    assert {"index.begin", "index.vectors", "index.publish.head", "index.tidy.checkpoint"} <= set(steps)
    for number, broken in enumerate(steps):
        copy = tmp_path / f"memory-{number}"
        shutil.copytree(root, copy)
        index = ProjectIndex(home / str(number), PROJECT)
        build(copy, index, FakeEmbedder())
        edit(copy)

        def fail(name: str, broken: str = broken) -> None:
            if name == broken:
                raise Broken

        with pytest.raises(Broken), on_step(fail):
            build(copy, index, FakeEmbedder())
        assert contents(index) == (new if is_published(broken) else old), broken
        build(copy, index, FakeEmbedder())
        assert contents(index) == new, broken
        check_integrity(index)


@pytest.mark.slow
@pytest.mark.spec("D2")
@pytest.mark.spec("T2-6")
@pytest.mark.field(98)
def test_a_process_killed_at_any_step_leaves_one_whole_head_and_the_next_build_succeeds(
    tmp_path: Path, root: Path, home: Path
) -> None:
    old, new = states(tmp_path, root)
    for number, killed in enumerate(steps_of_an_edit(tmp_path, root)):
        copy = tmp_path / f"memory-{number}"
        shutil.copytree(root, copy)
        own = home / str(number)
        build(copy, ProjectIndex(own, PROJECT), FakeEmbedder())
        edit(copy)
        assert run_killed(own, copy, killed) == 9
        index = ProjectIndex(own, PROJECT)
        assert contents(index) == (new if is_published(killed) else old), killed
        assert index.last_error() == (None if is_published(killed) or killed == "index.begin" else "interrupted")
        build(copy, index, FakeEmbedder())
        assert contents(index) == new, killed
        check_integrity(index)


@pytest.mark.spec("D2")
@pytest.mark.field(98)
def test_a_process_killed_at_random_moments_never_leaves_a_torn_head(tmp_path: Path, root: Path, home: Path) -> None:
    old, new = states(tmp_path, root)
    index = ProjectIndex(home, PROJECT)
    build(root, index, FakeEmbedder())
    edit(root)
    chance = random.Random(2)
    command = [sys.executable, "-m", "tests.index.kill_during_build", str(home), str(root)]
    for _ in range(8):
        process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
        time.sleep(chance.uniform(0.2, 0.9))
        process.kill()
        process.wait()
        assert contents(index) in (old, new)
    build(root, index, FakeEmbedder())
    assert contents(index) == new
    check_integrity(index)


def test_vectors_encoded_by_a_killed_build_are_not_encoded_again(root: Path, home: Path) -> None:
    assert run_killed(home, root, "index.publish.start") == 9
    embedder = FakeEmbedder()
    report = build(root, ProjectIndex(home, PROJECT), embedder)
    assert embedder.inputs == []
    assert report.reused == report.units
