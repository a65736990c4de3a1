"""A home and memories on disk, as the app opens them; only the embedding engine is the shipped fake."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import PAGES, write
from workbench.app import Home, Project


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Four pages of two scopes and two languages."""
    return write(tmp_path / "memory", PAGES)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with the fake engine."""
    return Home.open(tmp_path / "home", engine="fake")


@pytest.fixture
def project(home: Home, memory: Path) -> Project:
    """The memory's project, indexed."""
    project = home.project(memory)
    project.refresh()
    return project
