"""What the tests of imported and exported sets share: small sets on disk, and what a home holds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.app.places import ask, write
from workbench.app import Home, Project
from workbench.core.case import EvidenceRef
from workbench.evaluation.figures import Report

DOCUMENTS = (
    {"id": "d1", "path": "a/1.md", "title": "Queue", "text": "RabbitMQ gave way to PostgreSQL for the job queue."},
    {"id": "d2", "path": "a/2.md", "title": "Tea", "text": "Green tea in the morning, water at seventy degrees."},
    {"id": "d3", "path": "b/3.md", "title": "", "text": "# 发布检查\n\n发布前先跑数据库迁移的预演，再确认告警静默。"},
)
QUERIES = (
    {"id": "q1", "text": "what replaced RabbitMQ"},
    {"id": "q2", "text": "how hot is the water for tea"},
    {"id": "q3", "text": "发布前要做什么"},
)
QRELS = ("q1\td1\t1", "q2\td2\t1", "q3\td3\t1", "q3\td1\t1")


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def beir_set(
    folder: Path,
    documents: Sequence[Mapping[str, Any]] = DOCUMENTS,
    queries: Sequence[Mapping[str, Any]] = QUERIES,
    qrels: Sequence[str] = QRELS,
    **more: str,
) -> Path:
    """A set in this project's BEIR layout; more: other files by the stem of their name, as text."""
    files = {
        "corpus.jsonl": lines(documents),
        "queries.jsonl": lines(queries),
        "qrels.tsv": "".join(f"{row}\n" for row in ("query-id\tcorpus-id\tscore", *qrels)),
    }
    if "spans" in more:
        files["spans.tsv"] = more["spans"]
    if "silent" in more:
        files["queries_no_evidence.jsonl"] = more["silent"]
    return write(folder, files)


def ready_cases(home: Home, project: Project) -> None:
    """Two ready cases of one project: a whole resource, and a unit that some arm recalled; and a draft."""
    first = home.cases.create(ask(project, "what replaced RabbitMQ").run_id or "")
    home.cases.resolve(first.case_id, 1, [EvidenceRef(resource_id="decisions/queue.md")], False)
    second = home.cases.create(ask(project, "发布前先跑什么").run_id or "")
    unit = home.history.get(second.run_id).trace.candidates[0]
    chosen = EvidenceRef(resource_id=unit.resource_id, unit_key=unit.unit_key)
    home.cases.resolve(second.case_id, 1, [chosen, EvidenceRef(resource_id="user/tea.md")], False)
    home.cases.create(ask(project, "nobody judged this").run_id or "")


def row_counts(home: Home) -> dict[str, int]:
    """table -> rows of the central store."""
    connection = sqlite3.connect(home.folder / "local.db")
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    finally:
        connection.close()


def elsewhere(report: Report) -> dict[str, Any]:
    """A report without the names that its projects have in one home."""
    rows = [row.model_copy(update={"project_id": row.project_id.partition("@")[0]}) for row in report.rows]
    return report.model_copy(update={"rows": tuple(rows)}).model_dump()
