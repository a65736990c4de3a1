"""What the product tests share: copies of real folders, the command as people type it, and a view of the index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conftest import MODELS, ROOT
from workbench.app import Home, Project

COMMAND = (sys.executable, "-c", "from workbench.cli import main; main()")


class Place:
    """A home of its own, and the command in it. engine: what `WORKBENCH_ENGINE` names."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.home, self.engine = folder / "home", engine
        self.home.mkdir(mode=0o700, parents=True)
        (self.home / "models").symlink_to(MODELS)
        self.environment = {**os.environ, "WORKBENCH_HOME": str(self.home), "WORKBENCH_ENGINE": engine}

    def starts(self, *arguments: object) -> subprocess.Popen[str]:
        """The command, running."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        return subprocess.Popen([*COMMAND, *map(str, arguments)], cwd=ROOT, env=self.environment, **pipes)

    def types(self, *arguments: object) -> Any:
        """The JSON document that the command answers with."""
        process = self.starts(*arguments, "--json")
        out, err = process.communicate()
        assert process.returncode == 0, f"{arguments}\n{out}\n{err}"
        return json.loads(out)

    def project(self, root: Path) -> Project:
        """The project, opened in this process."""
        return Home.open(self.home, engine=self.engine).project(root)


def copy(folders: Path, names: Sequence[str], root: Path) -> Path:
    """Writable copies of these folders (or pages) under a root, each at its own path."""
    for name in names:
        if (folders / name).is_dir():
            shutil.copytree(folders / name, root / name, copy_function=shutil.copyfile)
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folders / name, root / name)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
    return root


def units_of(project: Project) -> dict[str, tuple[str, str]]:
    """unit_key -> (path, content hash) of every unit of the head."""
    with project.index.reader() as reader:
        rowids = [rowid for rowid, code in enumerate(reader.scope_codes()) if code]
        return {unit.unit_key: (unit.path, unit.content_hash) for unit in reader.units(rowids).values()}
