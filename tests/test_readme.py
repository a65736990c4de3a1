"""What the README tells people to type works as it stands there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import MODELS, ROOT

ELSEWHERE = ("git ", "cd ", "export ", ". ")
STAYS_OPEN = {"lab", "serve", "watch", "--watch"}


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


class Reader:
    """A person with the commands on the path, a fresh home, and a folder of notes where the README says one is."""

    def __init__(self, folder: Path) -> None:
        self.folder, home = folder, folder / "home"
        home.mkdir(mode=0o700)
        (home / "models").symlink_to(MODELS)
        shutil.copytree(ROOT / "fixtures" / "memory", folder / "path" / "to" / "notes")
        releases = folder / "path" / "to" / "notes" / "notes" / "releases.md"
        releases.parent.mkdir(exist_ok=True)
        releases.write_text("# Releases\n\nTo roll back a release, deploy the tag before it.\n", encoding="utf-8")
        question = {"id": "q1", "text": "roll back a release", "evidence": [{"resource_id": "notes/releases.md"}]}
        (folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        self.environment = {**os.environ, "WORKBENCH_HOME": str(home), "PATH": path}

    def types(self, command: str) -> str:
        """The command's output; `RUN` and `CASE` in it stand for the newest run and the newest case."""
        for word, listing in (("RUN", "runs --limit 1"), ("CASE", "case list")):
            if re.search(rf"\b{word}\b", command):
                rows = json.loads(self.types(f"workbench --project path/to/notes --json {listing}"))
                command = re.sub(rf"\b{word}\b", rows[-1][f"{word.lower()}_id"], command)
        done = _run(["bash", "-c", command], self.folder, self.environment)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def reader(tmp_path: Path, installed_model: Callable[[str], Path]) -> Reader:
    installed_model("e5-small")
    return Reader(tmp_path)


def test_it_names_the_two_commands_that_newcomers_need() -> None:
    assert {"make quickstart", "make test"} <= set(commands())


def test_every_make_target_exists() -> None:
    for line in commands():
        if line.startswith("make"):
            done = _run(["make", "-n", *line.split()[1:2]], ROOT, None)
            assert done.returncode == 0, done.stderr


def test_every_other_command_is_one_that_people_have() -> None:
    known = ("make ", "workbench ", "WORKBENCH_", "echo ", "python3 ", "pip ", "claude ", "curl ", *ELSEWHERE)
    assert [line for line in commands() if not line.startswith(known)] == []


@pytest.mark.slow
@pytest.mark.model
def test_every_workbench_command_runs(reader: Reader) -> None:
    for line in commands():
        if line.startswith(("workbench ", "WORKBENCH_", "echo ")):
            reader.types(f"{line.split(' -', 1)[0]} --help" if STAYS_OPEN & set(line.split()) else line)


@pytest.mark.slow
@pytest.mark.model
def test_its_python_runs(reader: Reader) -> None:
    script = "\n".join(blocks("python"))
    done = _run([sys.executable, "-c", script], reader.folder, reader.environment)
    assert done.returncode == 0, done.stderr


def _run(command: list[str], folder: Path, environment: dict[str, str] | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
