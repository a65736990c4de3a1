"""Questions about a memory that is there: the project's own format, and what of it cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.sets import lines
from tests.conftest import ROOT
from workbench.core.errors import InputError
from workbench.evaluation.importers.parsed import Target
from workbench.evaluation.importers.questions import read_questions


def test_the_projects_own_questions_are_read_whole() -> None:
    read = read_questions(ROOT / "fixtures" / "queries.jsonl")

    (scope,) = read.scopes
    assert (read.findings, scope.documents, len(scope.questions)) == ((), (), 111)
    by_id = {one.query_id: one for one in scope.questions}
    assert by_id["q001"].evidence == (Target("FWD-0011"),)
    assert by_id["q039"].evidence == (Target("run-deploy", headings="probe-gate / Roll back"),)
    assert by_id["q111"].evidence == ()


def test_every_line_that_cannot_be_used_is_a_finding_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    good = {"id": "a", "text": "asked", "evidence": [{"resource_id": "r"}, {"resource_id": "r"}]}
    rows = [good, good, {"id": "b", "text": "no list"}, {"id": "c", "text": "x", "evidence": ["r", {}]}]
    path.write_text(lines(rows) + "no json\n", encoding="utf-8")

    read = read_questions(path)

    assert [one.partition(": ")[0] for one in read.findings] == [f"mine.jsonl line {n}" for n in (2, 3, 4, 4, 4, 5)]
    assert [(one.query_id, one.evidence) for one in read.scopes[0].questions] == [("a", (Target("r"),))]


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="no question of it can be asked"):
        read_questions(path)
