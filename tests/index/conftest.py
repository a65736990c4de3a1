from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.builds import PROJECT, write
from workbench.storage.project_index import ProjectIndex

NOTES = {
    "user/tea.md": "# Tea\n\nThe person drinks green tea.\n",
    "notes/rust.md": "# Rust\n\n## Ownership\n\nEach value has one owner.\n\n## Borrowing\n\nA reference borrows.\n",
    "notes/花名.md": "# 花名\n\n小云的花名是风清扬。\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small memory."""
    folder = tmp_path / "memory"
    write(folder, NOTES)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def index(home: Path) -> ProjectIndex:
    """The empty index of the project."""
    return ProjectIndex(home, PROJECT)
