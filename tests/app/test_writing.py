"""A project's gate: what it commits is known at once, forgotten at once, and what the index builds next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, paths, write
from workbench.app import Home, Project
from workbench.core.resource import Status
from workbench.memory.writing.entries import By, restore, retract
from workbench.memory.writing.gate import StateChange, Write

TEA = "user/tea.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = write(tmp_path / "memory", PAGES)
    return Home.open(tmp_path / "home", engine="fake").project(root)


@pytest.mark.spec("T1-3")
@pytest.mark.field(128)
def test_what_was_retracted_is_gone_although_the_index_cannot_be_written(project: Project) -> None:
    project.refresh()
    assert TEA in paths(ask(project, "green tea"))
    retract(project.gate, TEA, By("user", "wrong"))
    project.index.path.chmod(0o400)
    project.index.path.parent.chmod(0o500)
    try:
        assert TEA not in paths(ask(project, "green tea"))
    finally:
        project.index.path.parent.chmod(0o700)
    restore(project.gate, TEA, By("user"))
    assert TEA in paths(ask(project, "green tea"))


def test_a_commit_is_the_snapshot_that_the_next_build_indexes(project: Project) -> None:
    project.refresh()
    commit = project.gate.commit_mutation("tx", [Write("notes/kiosk.md", b"# Kiosk\n\nBlue.\n", None)])
    assert project.known is not None
    assert (project.known.miv, ask(project, "kiosk").index.stale) == (commit.miv, True)
    project.refresh()
    head = project.index.head()
    assert head is not None
    assert (head.miv, head.record_state_version) == (commit.miv, commit.record_state_version)
    assert "notes/kiosk.md" in paths(ask(project, "kiosk"))


@pytest.mark.parametrize("indexed", [False, True])
def test_the_gate_agrees_with_the_index_about_every_file_that_came_and_went(project: Project, indexed: bool) -> None:
    """The index counts how often a file was made anew; a commit says the miv that the next build has all the same."""
    page = project.root / "notes/kiosk.md"
    for round_number in range(3):
        if indexed:
            project.refresh()
        write(project.root, {"notes/kiosk.md": f"Round {round_number}.\n"})
        project.gate.commit_mutation(f"a{round_number}", (), {TEA: StateChange(Status.RETRACTED)})
        page.unlink()
        project.gate.commit_mutation(f"b{round_number}", (), {TEA: StateChange(Status.CURRENT)})
        write(project.root, {"notes/kiosk.md": f"Again {round_number}.\n"})
        commit = project.gate.commit_mutation(f"c{round_number}", (), {TEA: StateChange(Status.RETRACTED)})
        project.refresh()
        head = project.index.head()
        assert head is not None
        assert head.miv == commit.miv
        page.unlink()


def test_a_second_commit_reads_only_what_changed(project: Project) -> None:
    project.gate.commit_mutation("one", [Write("notes/a.md", b"A.\n", None)])
    for name in PAGES:
        os.utime(project.root / name, ns=(1, 1))
    first = project.gate.capture()
    second = project.gate.capture()
    assert all(second.stamps[name].entries is first.stamps[name].entries for name in PAGES)
