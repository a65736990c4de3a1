"""Projects of one home: a stable id for every root, and nothing of one in the answers or the history of another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.places import ask, paths, write
from workbench.app import Home, project_id_of
from workbench.core.activation import ActivationRequest
from workbench.core.errors import InputError
from workbench.core.resource import Scope

ODD_NAMES = ("my-notes", "My Notes", "3f2b-11", "notes.v2", "status: done", "a'b", "笔记", "🐘", "x" * 120, "--json")


@pytest.mark.field(12)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_root_of_any_name_is_a_project_that_answers(home: Home, tmp_path: Path, name: str) -> None:
    root = write(tmp_path / "roots" / name, {"tea.md": "# Tea\n\nGreen tea.\n"})

    project = home.project(root)
    project.refresh()

    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}-[0-9a-f]{10}", project.project_id)
    assert paths(ask(project, "green")) == ["tea.md"]


def test_one_root_has_one_id_however_it_is_written(
    home: Home, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(memory.parent)
    link = tmp_path / "link"
    link.symlink_to(memory)

    spellings = (memory, Path("memory"), Path("./memory/../memory/"), link)

    assert len({home.project(root).project_id for root in spellings}) == 1


@pytest.mark.field(51)
def test_roots_of_the_same_name_or_another_case_are_different_projects(home: Home, tmp_path: Path) -> None:
    roots = [tmp_path / "a" / "notes", tmp_path / "b" / "notes", tmp_path / "a" / "Notes"]
    for number, root in enumerate(roots):
        write(root, {"page.md": f"# Page\n\ntea number{number}\n"})

    projects = [home.project(root) for root in roots]
    for project in projects:
        project.refresh()

    assert len({project.project_id for project in projects}) == 3
    texts = [[fragment.text for fragment in ask(project, "tea").fragments] for project in projects]
    assert [len(found) for found in texts] == [1, 1, 1]
    assert all(f"number{number}" in (found[0] or "") for number, found in enumerate(texts))


def test_the_id_depends_on_the_place_only(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    before = project_id_of(root)
    write(root, {"a.md": "# A\n"})

    assert project_id_of(root) == before


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_what_is_no_folder_is_refused(home: Home, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "page.md"
    if kind == "file":
        place.write_text("# A\n", encoding="utf-8")

    with pytest.raises(InputError) as refused:
        home.project(place)

    assert refused.value.code == "project_unknown"
    assert str(place) in refused.value.message


@pytest.mark.field(64)
def test_a_small_project_is_found_whole_beside_one_a_thousand_times_as_large(home: Home, tmp_path: Path) -> None:
    page = "# Page\n\nHow the importer retries a failed upload.\n"
    large = write(tmp_path / "large", {"all.md": page, **{f"log/{n:02}.md": _days(n) for n in range(20)}})
    small = home.project(write(tmp_path / "small", {"mine.md": page}))
    home.project(large).refresh()
    small.refresh()

    result = ask(small, "importer retries failed upload")

    assert paths(result) == ["mine.md"]
    record = home.history.get(result.run_id or "")
    assert [one.path for one in record.trace.candidates] == ["mine.md"]
    assert record.trace.fused_out == ()
    assert record.corpus_size == 1


@pytest.mark.field(64)
@pytest.mark.parametrize("query", ["importer retries failed upload", "importer", "失败 重试"])
def test_a_scope_of_one_page_is_found_behind_a_thousand_better_ones(home: Home, tmp_path: Path, query: str) -> None:
    mine = {"user/mine.md": "# Mine\n\nOnce, after lunch, I saw the importer: 失败 重试 again and again and again.\n"}
    project = home.project(write(tmp_path / "memory", {**mine, **{f"log/{n:02}.md": _days(n) for n in range(20)}}))
    project.refresh()

    result = ask(project, query, scopes=(Scope.USER,))

    assert paths(result) == ["user/mine.md"]
    (candidate,) = home.history.get(result.run_id or "").trace.candidates
    assert (candidate.bm25_rank, candidate.vector_rank) == (1, 1)


def test_the_history_of_one_project_is_not_the_other_ones(home: Home, tmp_path: Path) -> None:
    one = home.project(write(tmp_path / "one", {"a.md": "# A\n\ntea\n"}))
    two = home.project(write(tmp_path / "two", {"a.md": "# A\n\ntea\n"}))
    for project in (one, two):
        project.refresh()
        project.activate(ActivationRequest(query=f"tea in {project.root.name}"))

    home.history.clear(one.project_id)

    assert home.history.list(one.project_id, 10) == ()
    assert [run.query for run in home.history.list(two.project_id, 10)] == ["tea in two"]


def test_a_state_of_one_project_is_refused_by_the_other(home: Home, tmp_path: Path) -> None:
    one = home.project(write(tmp_path / "one", {"a.md": "# A\n\ntea\n"}))
    two = home.project(write(tmp_path / "two", {"a.md": "# A\n\ntea\n"}))
    one.refresh()
    two.refresh()

    with pytest.raises(InputError) as refused:
        ask(two, "tea", state=ask(one, "tea").state)

    assert refused.value.code == "activation_state_invalid"


def _days(month: int) -> str:
    text = "The importer retries a failed upload. 失败 重试"
    return "".join(f"## 20{month:02}-{day // 28 + 1:02}-{day % 28 + 1:02}\n\n{text} {day}\n\n" for day in range(50))
