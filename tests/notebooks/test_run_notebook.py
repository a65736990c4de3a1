"""Every notebook runs as committed; a wrong parameter is refused and a failed run keeps what it had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT
from workbench.core.errors import InputError
from workbench.views.notebooks import parse_parameter, run_notebook

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def _fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own for the kernel, which inherits the environment; no model is loaded."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WORKBENCH_ENGINE", "fake")


def write_notebook(path: Path, *cells: str) -> Path:
    """A notebook with one tagged parameters cell before the given ones."""
    parameters = nbformat.v4.new_code_cell("depth = 1  # how deep", metadata={"tags": ["parameters"]})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = [parameters, *map(nbformat.v4.new_code_cell, cells)]
    notebook = nbformat.v4.new_notebook(cells=code, metadata=kernel)
    nbformat.write(notebook, path)
    return path


def outputs(path: Path) -> list[Any]:
    """The outputs of every cell of an executed notebook, in order."""
    notebook = nbformat.read(path, as_version=4)
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def out_of_the_way(notebook: Path, folder: Path) -> dict[str, Any]:
    """The parameter that keeps what a notebook saves in `folder`, where it saves anything."""
    return {"out": str(folder / "saved")} if '"out: str' in notebook.read_text("utf-8") else {}


def about(notebook: Path, memory: Path, asked: list[str], folder: Path) -> dict[str, Any]:
    """The parameters for another memory and what is asked of it: a list, or a file of questions with their evidence."""
    given = {"memory": str(memory), **out_of_the_way(notebook, folder)}
    if "questions: str" not in notebook.read_text("utf-8"):
        return {**given, "queries": asked}
    questions = folder / "questions.jsonl"
    (page,) = memory.iterdir()
    rows = [{"id": text, "text": text, "evidence": [{"resource_id": page.name}]} for text in asked]
    questions.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return {**given, "questions": str(questions)}


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_with_its_default_parameters(notebook: Path, tmp_path: Path) -> None:
    executed = run_notebook(notebook, tmp_path / "outputs" / notebook.name, out_of_the_way(notebook, tmp_path))

    made = outputs(executed)
    assert not [output for output in made if output.output_type == "error"]
    kinds = {kind for output in made for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_on_another_folder_and_shows_no_markup_of_its_pages(notebook: Path, tmp_path: Path) -> None:
    memory = tmp_path / "my notes"
    memory.mkdir()
    (memory / "笔记.md").write_text("# <b>Bold</b> title\n\n<script>alert('tea')</script> about tea\n", "utf-8")

    asked = ["tea", "<i>tea</i>", "<script>alert('tea')</script>"]

    executed = run_notebook(notebook, tmp_path / "out.ipynb", about(notebook, memory, asked, tmp_path))

    tables = [output.data["text/html"] for output in outputs(executed) if "text/html" in output.get("data", {})]
    assert any("&lt;script&gt;" in table for table in tables)
    assert not [table for table in tables if "<script" in table or "<b>Bold" in table or "<i>tea" in table]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs_and_with_one_parameters_cell(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]

    assert [cell["outputs"] for cell in code] == [[]] * len(code)
    assert [cell["execution_count"] for cell in code] == [None] * len(code)
    tagged = [cell for cell in code if "parameters" in cell["metadata"].get("tags", ())]
    assert tagged == code[:1]


@pytest.mark.field(112)
@pytest.mark.parametrize("unknown", [{"memroy": "x"}, {"memory": "x", "top_k": 3, "Depth": 1}])
def test_an_unknown_parameter_is_refused_by_name_before_anything_runs(tmp_path: Path, unknown: dict[str, Any]) -> None:
    notebook = write_notebook(tmp_path / "note.ipynb", "open('ran', 'w').close()")

    with pytest.raises(InputError) as refused:
        run_notebook(notebook, tmp_path / "out" / "note.ipynb", {"depth": 2, **unknown})

    assert refused.value.code == "invalid_argument"
    assert refused.value.detail == sorted(unknown)
    assert all(name in refused.value.message for name in (*unknown, "depth"))
    assert not (tmp_path / "out").exists() and not (tmp_path / "ran").exists()


def test_a_missing_notebook_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.ipynb"):
        run_notebook(tmp_path / "absent.ipynb", tmp_path / "out.ipynb")


def test_parameters_reach_the_cells(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "note.ipynb", "print(depth * 2)")

    (printed,) = outputs(run_notebook(notebook, tmp_path / "out.ipynb", {"depth": 21}))

    assert printed.text == "42\n"


def test_a_failing_cell_keeps_the_executed_copy_with_its_traceback(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "note.ipynb", "print('before')", "1 / 0", "print('after')")

    with pytest.raises(Exception, match="ZeroDivisionError"):
        run_notebook(notebook, tmp_path / "out.ipynb")

    kept = outputs(tmp_path / "out.ipynb")
    assert [output.text for output in kept if output.output_type == "stream"] == ["before\n"]
    assert [output.ename for output in kept if output.output_type == "error"] == ["ZeroDivisionError"]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("first=5", ("first", 5)),
        ('queries=["a", "发布"]', ("queries", ["a", "发布"])),
        ("memory=../my notes", ("memory", "../my notes")),
        ("engine=", ("engine", "")),
        ("memory=a=b", ("memory", "a=b")),
    ],
)
def test_a_parameter_is_json_where_it_is_json_else_text(text: str, pair: tuple[str, Any]) -> None:
    assert parse_parameter(text) == pair


@pytest.mark.parametrize("text", ["memory", "=x", "a b=c", ""])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUE"):
        parse_parameter(text)
