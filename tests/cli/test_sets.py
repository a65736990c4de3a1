"""`import` and `export` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.sets import beir_set
from tests.cli.conftest import Command


def test_a_set_is_imported_exported_and_imported_elsewhere(
    workbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = workbench("import", "beir", beir_set(tmp_path / "tea"))
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[1].split("\t")[:2] == ["tea", "beir"]
    exported = workbench("export", "--set", "tea", "--out", tmp_path / "out", "--trec", "--json")
    assert exported.json["cases"] == 3
    names = ["fixture.json", "report.json", "cases.csv", "qrels.txt"]
    names += [f"{variant}.run" for variant in ("b1_bm25", "b2_dense_vector", "b3_hybrid_rrf")]
    assert [Path(file).name for file in exported.json["files"]] == names

    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "elsewhere"))
    again = workbench("import", "fixture", tmp_path / "out" / "fixture.json", "--name", "mine", "--json")
    assert (again.status, again.json["format"], len(again.json["cases"])) == (0, "fixture", 3)
    assert workbench("export", "--set", "mine", "--out", tmp_path / "again").status == 0
    for name in names[:3]:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_findings_are_few_on_stderr_and_all_in_the_document(workbench: Command, tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "tea", qrels=("q1\td1\t1", *(f"q1\tgone{number}\t1" for number in range(30))))
    shown = workbench("import", "beir", folder)
    assert len(shown.err.splitlines()) == 21
    assert "11 more findings" in shown.err
    assert len(workbench("import", "beir", folder, "--json").json["findings"]) == 31


def test_questions_are_about_the_project(workbench: Command, memory: Path, tmp_path: Path) -> None:
    row = {"id": "a", "text": "queue", "evidence": [{"resource_id": "decisions/queue.md"}]}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row), encoding="utf-8")
    done = workbench("import", "questions", tmp_path / "mine.jsonl", "--project", memory, "--json")
    assert (done.status, done.json["findings"]) == (0, [])
    assert workbench("export", "--project", memory, "--out", tmp_path / "out").status == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "beir", "nowhere"), "is missing"),
        (("import", "trec", "nowhere"), "trec"),
        (("import", "fixture", "nowhere"), "cannot be read"),
        (("export", "--set", "none", "--out", "out"), "No imported set is called none"),
        (("export", "--case", "abc", "--out", "out"), "case_not_found"),
        (("export", "--set", "none", "--case", "abc", "--out", "out"), "one of them"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    workbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = workbench(*arguments)
    assert (refused.status, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert said in refused.err
    assert not (tmp_path / "out").exists()


@pytest.mark.spec("D15")
def test_a_damaged_fixture_is_refused_with_every_finding_in_the_document(workbench: Command, tmp_path: Path) -> None:
    workbench("import", "beir", beir_set(tmp_path / "tea"))
    workbench("export", "--set", "tea", "--out", tmp_path / "out")
    fixture = tmp_path / "out" / "fixture.json"
    document = json.loads(fixture.read_text(encoding="utf-8"))
    for case in document["cases"]:
        case["evidence"][0]["resource_id"] = "gone.md"
    fixture.write_text(json.dumps(document), encoding="utf-8")

    refused = workbench("import", "fixture", fixture, "--json")

    assert (refused.status, refused.json["error"]["code"]) == (2, "fixture_invalid")
    assert len(refused.json["error"]["detail"]) == 4
