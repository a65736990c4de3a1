"""A small memory with three stored runs, which the widgets are opened on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import asked_project
from workbench.app import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Four pages and three runs, the newest first: about tea, in Chinese, about a queue."""
    return asked_project(tmp_path)
