"""A home with a path short enough for sockets, and a memory beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.serving import new_memory


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="mw-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(place: Path) -> Path:
    return place / "home"


@pytest.fixture
def memory(place: Path) -> Path:
    return new_memory(place)
