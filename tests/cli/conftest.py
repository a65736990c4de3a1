"""The command, run in this process as a person would type it, with a small memory and the shipped fake engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import main

PAGES = {
    "decisions/queue.md": "---\ntitle: Queue choice\n---\n# Queue choice\n\nRabbitMQ gave way to PostgreSQL.\n",
    "decisions/storage.md": "# Storage\n\nUploads go to object storage, thumbnails to the CDN cache.\n",
    "runbooks/release.md": "# 发布检查\n\n发布前先跑数据库迁移的预演，再确认告警静默。\n",
    "log/2026-11.md": "## 2026-11-03\n\nRotated the signing key.\n\n## 2026-11-05\n\nThe importer hung on DEC-0054.\n",
}


@dataclass(frozen=True)
class Answer:
    """What a call left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Answer]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A memory of four files in two layers and two languages."""
    root = tmp_path / "memory"
    for name, text in PAGES.items():
        page = root / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def workbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Call the command; a home of its own, the fake engine."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WORKBENCH_ENGINE", "fake")

    def call(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Answer(int(stop.value.code or 0), out, err)

    return call
