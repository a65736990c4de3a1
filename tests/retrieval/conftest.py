"""Worlds in temporary folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes a world of files, path → text, and indexes it. Further arguments are `World`'s."""
    made: list[World] = []

    def make(texts: dict[str, str], **how: Any) -> World:
        made.append(World(tmp_path / str(len(made)), **how))
        return made[-1].write(texts).build()

    yield make
    for one in made:
        one.index.close()
