"""The life of a memory as a notebook shows it: each step with what it brings back, in words as well as in colours."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.app import Home, Project
from workbench.memory.writing import entries, history
from workbench.memory.writing.entries import By
from workbench.views import lifecycle, plots


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "tea.md").write_text("# Tea\n\nGreen <b>tea</b> at seventy degrees.\n", encoding="utf-8")
    return Home.open(tmp_path / "home", engine="none").project(root)


def test_each_look_shows_what_came_back_and_the_picture_says_it_in_words(project: Project) -> None:
    life = lifecycle.Lifecycle(["green tea", "coffee"], project.refresh, project.activate, project.capture)
    first = life.look("first")
    entries.retract(project.gate, "tea.md", By("user", "cold"))
    second = life.look("taken back")
    assert [tuple(row) for row in first[["query", "path"]].to_numpy()] == [
        ("green tea", "tea.md"),
        ("coffee", "nothing"),
    ]
    assert first["rank"].fillna(0).tolist() == [1, 0]
    assert second["path"].tolist() == ["nothing", "nothing"]
    image = plots.picture(life.picture(["tea.md", "gone.md"]))
    assert image.alt == (
        "tea.md: first: current, at rank 1; taken back: retracted, not found. "
        "gone.md: first: not there; taken back: not there."
    )
    assert image.data.startswith(b"\x89PNG")


def test_log_and_versions_are_tables_of_what_the_memory_keeps(project: Project) -> None:
    old = project.capture().stamps["tea.md"].source.file_digest
    entries.write_source(project.gate, "tea.md", "# Tea\n\nBlack.\n", old, By("model", "changed"))
    now = project.capture()
    log = lifecycle.log_table(history.read_log(project.root, now))
    assert log.drop(columns="at").to_dict("records") == [
        {"actor": "model", "statuses": "", "entries": "tea.md changed", "reason": "changed"}
    ]
    versions = lifecycle.versions_table(history.resource_history(project.root, now, "tea.md"))
    assert (versions["until"].tolist()[1], "seventy" in versions["text"][0]) == ("now", True)
    assert lifecycle.log_table([]).columns.tolist() == log.columns.tolist()
