"""A home with a path short enough for sockets, and a memory beside it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.serve.serving import Daemon, daemon_of, new_memory


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="mw-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def home(place: Path) -> Path:
    return place / "home"


@pytest.fixture
def memory(place: Path) -> Path:
    return new_memory(place)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A running service that the tests of a module share; none of them may end it or leave it changed."""
    with short_folder() as folder, daemon_of(folder / "home", new_memory(folder)) as running:
        yield running


@pytest.fixture
def client(daemon: Daemon) -> Iterator[httpx.Client]:
    with daemon.client() as client:
        yield client
