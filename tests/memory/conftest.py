from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.folder import Memory

NOBODY = 65534


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    root = tmp_path / "memory"
    root.mkdir()
    return Memory(root)


@pytest.fixture
def five_layers(memory: Memory) -> Memory:
    """One source of each layer."""
    return fill(memory)


@pytest.fixture
def ordinary_memory() -> Iterator[Memory]:
    """One source of each layer, and nobody's special rights: permissions hold even when root runs the tests."""
    root = Path(tempfile.mkdtemp())
    was = os.geteuid()
    if was == 0:
        os.chown(root, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield fill(Memory(root))
    finally:
        os.seteuid(was)
        shutil.rmtree(root)


def fill(memory: Memory) -> Memory:
    memory.write("user/editor.md", "# Editor\n\nPrefers a dark theme.\n")
    memory.write(
        "log/2026-11-02.md", "## 2026-11-02 Deploy\n\nThe deploy failed.\n\n## 2026-11-03 Retry\n\nIt worked.\n"
    )
    memory.write("reflection/november.md", "## On haste\n\nSlow is smooth.\n")
    memory.write("whiteboard/board.md", "<!-- card:c1 -->\n### Queue\n\nWe use one queue.\n")
    memory.write("decisions/database.md", "---\nid: db\n---\n# Database\n\nWe chose SQLite.\n")
    return memory
