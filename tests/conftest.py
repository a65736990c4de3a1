"""What every test stands on: a home of its own, no settings from outside, and visible skips for what is not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
MODELS = Path(os.environ.get("WORKBENCH_HOME") or ROOT / ".home") / "models"

pytest_plugins = ["pytester", "tests.spec_report"]

# A shell that runs the tests in the background has them ignore Ctrl-C, and so every command that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, print_blob=True)
hypothesis.settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads the settings or writes the home of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WORKBENCH_")]:
            patch.delenv(name)
        patch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """Where installed models lie; a test that needs one asks `installed_model`."""
    return MODELS


@pytest.fixture(scope="session")
def installed_model() -> Callable[[str], Path]:
    """The folder of a catalogue entry by name; skips when it is not installed."""

    def folder(name: str) -> Path:
        if not (MODELS / name / "install.json").is_file():
            pytest.skip(f"model {name} is not installed: workbench models install {name}")
        return MODELS / name

    return folder


@pytest.fixture(scope="session")
def real_folders() -> Path:
    """Real Markdown folders to index; skips when they are not beside the checkout."""
    return _beside("kb")


@pytest.fixture(scope="session")
def evaluation_sets() -> Path:
    """Real evaluation sets; skips when they are not beside the checkout."""
    return _beside("data")


def _beside(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder
