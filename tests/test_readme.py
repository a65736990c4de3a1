"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import MODELS, ROOT

ELSEWHERE = ("git", "cd", "export", "#")
STAYS_OPEN = {"lab", "serve", "--watch"}


def blocks(*languages: str) -> list[str]:
    """The fenced blocks of the README in these languages, in order."""
    tokens = MarkdownIt().parse((ROOT / "README.md").read_text(encoding="utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info.strip() in languages]


def commands() -> list[str]:
    """Every command line of the README, once, in order; in a console block those behind a `$`."""
    typed = [line for block in blocks("sh", "bash") for line in _joined(block)]
    shown = [line.removeprefix("$ ") for block in blocks("console") for line in _joined(block) if line.startswith("$ ")]
    return [line for line in dict.fromkeys(typed + shown) if line]


def _joined(block: str) -> list[str]:
    return [line.strip() for line in block.replace("\\\n", " ").splitlines()]


def run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The command, finished, from the root of the checkout."""
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A fresh home with the models of this checkout, and this environment's commands first on the path."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    if MODELS.is_dir():
        (home / "models").symlink_to(MODELS)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return {**os.environ, "WORKBENCH_HOME": str(home), "PATH": path}


def test_it_names_the_two_commands_that_newcomers_need() -> None:
    assert {"make quickstart", "make test"} <= set(commands())


def test_every_make_target_exists() -> None:
    for line in commands():
        if line.startswith("make"):
            done = run(["make", "-n", *line.split()[1:2]])
            assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.model
def test_every_workbench_command_runs(environment: dict[str, str], installed_model) -> None:
    installed_model("e5-small")
    for line in commands():
        if "workbench" not in line or line.startswith(("make", *ELSEWHERE)):
            continue
        command = f"{line.split(' --', 1)[0]} --help" if STAYS_OPEN & set(line.split()) else line
        done = run(["bash", "-c", command], environment)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_every_other_command_is_one_that_people_have() -> None:
    known = ("make", "workbench", "WORKBENCH_HOME=", "python3", "pip", *ELSEWHERE)
    assert [line for line in commands() if not line.startswith(known) and "workbench" not in line] == []


@pytest.mark.slow
@pytest.mark.model
def test_its_python_runs(environment: dict[str, str], installed_model) -> None:
    installed_model("e5-small")
    script = "\n".join(blocks("python"))
    done = run([sys.executable, "-c", script], environment)
    assert done.returncode == 0, done.stderr
