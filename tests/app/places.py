"""What the tests of the app share: pages, and short ways to write, ask and change a status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from workbench.app import Home, Project
from workbench.core.activation import ActivationRequest, ActivationResult
from workbench.models.base import Embedder

PAGES = {
    "decisions/queue.md": "# Queue choice\n\nRabbitMQ gave way to PostgreSQL for the job queue.\n",
    "decisions/storage.md": "# Storage\n\nUploads go to object storage, thumbnails to the cache.\n",
    "user/tea.md": "# Tea\n\nGreen tea in the morning, water at seventy degrees.\n",
    "runbooks/release.md": "# 发布检查\n\n发布前先跑数据库迁移的预演，再确认告警静默。\n",
}

QUERIES = ("which database keeps the job queue", "发布前检查什么", "green tea water")
"""About a queue, in Chinese, about tea."""


def write(root: Path, pages: Mapping[str, str]) -> Path:
    """Write Markdown files under a root; the root."""
    for name, text in pages.items():
        page = root / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    return root


def set_states(root: Path, version: int, **states: str) -> None:
    """Replace the state manifest, as the write gate will."""
    document = {
        "format": "memory-state-1",
        "record_state_version": version,
        "states": {resource_id: {"status": status} for resource_id, status in states.items()},
    }
    write(root, {".memory/state.json": json.dumps(document)})


def ask(project: Project, query: str, **request: Any) -> ActivationResult:
    """One activation."""
    return project.activate(ActivationRequest(query=query, **request))


def asked_project(folder: Path, pages: Mapping[str, str] = PAGES, queries: Sequence[str] = QUERIES) -> Project:
    """An indexed memory of these pages and its runs, the newest last, in a home of its own with the fake engine."""
    project = Home.open(folder / "home", engine="fake").project(write(folder / "memory", pages))
    project.refresh()
    for query in queries:
        ask(project, query)
    return project


def paths(result: ActivationResult) -> list[str]:
    """The paths of the fragments, in order."""
    return [fragment.path for fragment in result.fragments]


def codes(result: ActivationResult) -> list[str]:
    """The degradation codes of an answer."""
    return [note.code for note in result.degradations]


def home_with(folder: Path, embedder: Embedder, **settings: Any) -> Home:
    """A home whose engine is this very object."""
    home = Home.open(folder, engine="fake", **settings)
    home.embedder = embedder
    return home


def workbench(home: Path, *arguments: object, engine: str = "fake") -> subprocess.Popen[str]:
    """The command in a process of its own."""
    environment = {**os.environ, "WORKBENCH_HOME": str(home), "WORKBENCH_ENGINE": engine}
    command = [sys.executable, "-c", "from workbench.cli import main; main()", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err
