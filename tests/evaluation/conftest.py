from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.evaluation.recorded import history
from workbench.evaluation.runs import RunHistory


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[RunHistory]:
    """A history in a home of its own."""
    opened = history(tmp_path)
    yield opened
    opened.close()
