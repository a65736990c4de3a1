"""A small memory with three stored runs, which the widgets are opened on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, write
from workbench.app import Home, Project

QUERIES = ("which database keeps the job queue", "发布前检查什么", "green tea water")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Four pages and three runs, the newest first: about tea, in Chinese, about a queue."""
    project = Home.open(tmp_path / "home", engine="fake").project(write(tmp_path / "memory", PAGES))
    project.refresh()
    for query in QUERIES:
        ask(project, query)
    return project
