"""Importing sets end to end: ready cases of a project like any other, once, and on after an interruption."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.places import write
from tests.app.sets import DOCUMENTS, QUERIES, beir_set, lines, row_counts
from tests.conftest import ROOT
from tests.evaluation.importers.test_locomo import asked, sample
from workbench.app import Home
from workbench.core.case import CaseState
from workbench.core.errors import InputError, NotReady
from workbench.evaluation.sets import ImportedSet, SetFormat, list_sets, read_set
from workbench.storage.faults import on_step


def case_states(home: Home, imported: ImportedSet) -> list[str]:
    return [home.cases.get(case_id).state for case_id in imported.cases]


def evidence_of(home: Home, imported: ImportedSet, number: int) -> list[tuple[str, str | None]]:
    return [(one.resource_id, one.unit_key) for one in home.cases.get(imported.cases[number]).evidence]


def test_a_beir_set_becomes_an_indexed_memory_with_ready_cases(home: Home, tmp_path: Path) -> None:
    silent = lines([{"id": "q9", "text": "what is the wifi password"}])
    imported = home.import_set(SetFormat.BEIR, beir_set(tmp_path / "tea-set", silent=silent))

    assert case_states(home, imported) == [CaseState.READY] * 3 + [CaseState.NEEDS_EVIDENCE]
    assert [evidence_of(home, imported, number) for number in range(4)] == [
        [("a/1.md", None)],
        [("a/2.md", None)],
        [("b/3.md", None), ("a/1.md", None)],
        [],
    ]
    assert (imported.name, imported.findings) == ("tea-set", ())
    assert imported == read_set(home.folder, "tea-set")
    assert [one.name for one in list_sets(home.folder)] == ["tea-set"]
    assert all(home.history.get(home.cases.get(one).run_id).summary.pinned for one in imported.cases)
    report = home.report(home.select("tea-set"))
    assert (report.cases, report.origin) == (3, f"beir set tea-set, sha256 {imported.digest}")


def test_spans_are_confirmed_on_units_that_no_arm_had_to_recall(home: Home, tmp_path: Path) -> None:
    text = "".join(f"# Part {n}\n\n{'Sentence of this part. ' * 60}\n\nmarker{n} stands here.\n\n" for n in range(6))
    at = text.index("marker4")
    folder = beir_set(
        tmp_path / "spans",
        [*DOCUMENTS, {"id": "d4", "path": "d4.md", "title": "Long", "text": text}],
        [{"id": "q", "text": "water for tea"}],
        ("q\td4\t1",),
        spans=f"q\td4\t{at}\t{at + 7}\n",
    )
    imported = home.import_set(SetFormat.BEIR, folder)

    ((resource_id, unit_key),) = evidence_of(home, imported, 0)
    assert (resource_id, unit_key) == ("d4.md", "d4.md#Part 4@1")
    assert "marker4" not in home.cases.get(imported.cases[0]).evidence[0].excerpt
    assert home.cases.get(imported.cases[0]).evidence[0].excerpt.startswith("# Part 4")


def test_each_scope_is_a_project_of_its_own(home: Home, tmp_path: Path) -> None:
    documents = [{**one, "scope": "one" if one["id"] == "d1" else "two"} for one in DOCUMENTS]
    queries = [{**QUERIES[0], "scope": "one"}, {**QUERIES[1], "scope": "two"}]
    imported = home.import_set(
        SetFormat.BEIR, beir_set(tmp_path / "scoped", documents, queries, ("q1\td1\t1", "q2\td2\t1"))
    )

    assert len(imported.project_ids) == 2
    frozen = [home.cases.frozen(home.cases.get(one)).entries for one in imported.cases]
    assert [[entry.path for entry in entries] for entries in frozen] == [["a/1.md"], ["a/2.md", "b/3.md"]]


def test_locomo_comes_in_with_evidence_by_turn(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "locomo10.json"
    trap = {"question": "What did Jon plant?", "adversarial_answer": "x", "category": 5, "evidence": ["D1:1"]}
    bad = asked(question="lost?", evidence=["D"])
    qa = [asked(question="what is ripe", evidence=["D10:1; D1:1"]), trap, bad]
    path.write_text(json.dumps([sample(qa=qa), sample(sample_id="conv-2")]), encoding="utf-8")

    imported = home.import_set(SetFormat.LOCOMO, path)

    assert len(imported.project_ids) == 2
    assert case_states(home, imported) == [CaseState.READY, CaseState.NEEDS_EVIDENCE, CaseState.READY]
    assert evidence_of(home, imported, 0) == [("session-10/001.md", None), ("session-01/001.md", None)]
    assert len(imported.findings) == 3


@pytest.mark.slow
def test_the_projects_own_questions_come_in_over_the_living_memory(home: Home, tmp_path: Path) -> None:
    memory = Path(shutil.copytree(ROOT / "fixtures" / "memory", tmp_path / "memory"))
    imported = home.import_set(SetFormat.QUESTIONS, ROOT / "fixtures" / "queries.jsonl", memory=memory)

    assert imported.findings == ()
    assert imported.project_ids == (home.project(memory).project_id,)
    states = case_states(home, imported)
    assert (len(states), states.count(CaseState.NEEDS_EVIDENCE)) == (111, 10)


def test_questions_are_judged_on_the_memory_as_it_is(home: Home, memory: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "what replaced RabbitMQ", "evidence": [{"resource_id": "decisions/queue.md"}]},
        {"id": "b", "text": "tea", "evidence": [{"resource_id": "user/tea.md", "unit": "Tea"}]},
        {"id": "c", "text": "gone", "evidence": [{"resource_id": "gone.md"}]},
        {"id": "d", "text": "nothing", "evidence": []},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text(lines(rows), encoding="utf-8")

    imported = home.import_set(SetFormat.QUESTIONS, path, memory=memory)

    assert case_states(home, imported) == [CaseState.READY, CaseState.READY, CaseState.NEEDS_EVIDENCE]
    assert imported.findings == (
        "question 'b': no one unit of 'user/tea.md' has 'Tea'; all of it counts",
        "question 'c': its evidence 'gone.md' is not here",
    )
    assert not (memory / "memory.toml").exists()


def test_importing_twice_changes_no_row_and_asks_nothing(home: Home, tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "set", silent=lines([{"id": "q9", "text": "wifi"}]))
    first = home.import_set(SetFormat.BEIR, folder)
    before = row_counts(home)
    files = {one: one.stat().st_mtime_ns for one in (home.folder / "sets").rglob("*.md")}

    again = Home.open(home.folder, engine="fake").import_set(SetFormat.BEIR, folder)

    assert (again, row_counts(home)) == (first, before)
    assert {one: one.stat().st_mtime_ns for one in files} == files


def test_what_was_found_is_said_again_by_a_later_import(home: Home, tmp_path: Path) -> None:
    queries = [{"id": "q1", "text": "RabbitMQ " * 1_000}, *QUERIES[1:]]
    folder = beir_set(tmp_path / "set", queries=queries, spans="q2\td2\t0\t9\n")
    questions = tmp_path / "mine.jsonl"
    evidence = [{"resource_id": "tea.md", "unit": "No such heading"}, {"resource_id": "gone.md"}]
    questions.write_text(lines([{"id": "a", "text": "tea", "evidence": evidence}]), encoding="utf-8")
    memory = write(tmp_path / "tea", {"tea.md": "# Tea\n\nGreen tea.\n"})

    first = home.import_set(SetFormat.BEIR, folder)
    mine = home.import_set(SetFormat.QUESTIONS, questions, memory=memory)
    before = row_counts(home)
    (home.folder / "sets" / "set" / "set.json").unlink()  # as if the first import had been killed at its end

    assert (len(first.findings), len(mine.findings)) == (1, 2)
    assert home.import_set(SetFormat.BEIR, folder) == first
    assert home.import_set(SetFormat.QUESTIONS, questions, memory=memory) == mine
    assert row_counts(home) == before


def test_evidence_that_came_after_its_case_was_frozen_is_said_and_not_confirmed(home: Home, tmp_path: Path) -> None:
    questions, memory = tmp_path / "mine.jsonl", write(tmp_path / "tea", {"tea.md": "# Tea\n\nGreen tea.\n"})
    late = {"resource_id": "late.md", "unit": "Late"}
    rows = [
        {"id": "a", "text": "tea", "evidence": [{"resource_id": "tea.md"}, late]},
        {"id": "b", "text": "late", "evidence": [{"resource_id": "tea.md"}]},
    ]
    questions.write_text(lines(rows), encoding="utf-8")

    def stop(name: str) -> None:
        if name == "central.resolve_case":
            raise InterruptedError

    with on_step(stop), pytest.raises(InterruptedError):
        home.import_set(SetFormat.QUESTIONS, questions, memory=memory)
    write(memory, {"late.md": "# Late\n\nIt came later.\n"})

    imported = home.import_set(SetFormat.QUESTIONS, questions, memory=memory)

    assert imported.findings == ("question 'a': its evidence 'late.md' is not in the corpus that its case froze",)
    assert case_states(home, imported) == ["ready", "ready"]
    assert evidence_of(home, imported, 0) == [("tea.md", None)]
    assert home.import_set(SetFormat.QUESTIONS, questions, memory=memory) == imported


def test_another_set_never_takes_the_name_of_one_that_is_there(home: Home, tmp_path: Path) -> None:
    home.import_set(SetFormat.BEIR, beir_set(tmp_path / "set"))
    before = row_counts(home)
    other = beir_set(tmp_path / "more" / "set", qrels=("q1\td2\t1",))

    with pytest.raises(InputError, match="--name"):
        home.import_set(SetFormat.BEIR, other)
    assert row_counts(home) == before

    assert home.import_set(SetFormat.BEIR, other, name="second").name == "second"
    assert len(home.select("set").project_ids) == 1


def test_questions_keep_their_name_to_the_memory_that_they_were_asked_of(
    home: Home, memory: Path, tmp_path: Path
) -> None:
    path, second = tmp_path / "mine.jsonl", tmp_path / "second"
    shutil.copytree(memory, second)
    evidence = [{"resource_id": "decisions/queue.md"}]
    path.write_text(lines([{"id": "a", "text": "queue", "evidence": evidence}]), encoding="utf-8")
    first = home.import_set(SetFormat.QUESTIONS, path, memory=memory)

    with pytest.raises(InputError, match="--name"):
        home.import_set(SetFormat.QUESTIONS, path, memory=second)

    assert home.import_set(SetFormat.QUESTIONS, path, memory=memory) == first
    assert home.import_set(SetFormat.QUESTIONS, path, memory=second, name="second").roots == (str(second),)
    assert read_set(home.folder, "mine") == first


def test_a_set_or_a_scope_may_be_called_as_a_file_of_ours(home: Home, tmp_path: Path) -> None:
    documents = [{**one, "scope": "set.json"} for one in DOCUMENTS]
    queries = [{**one, "scope": "set.json"} for one in QUERIES]
    folder = beir_set(tmp_path / "set", documents, queries)

    imported = home.import_set(SetFormat.BEIR, folder, name="import.lock")

    assert (len(imported.cases), read_set(home.folder, "import.lock")) == (3, imported)


@pytest.mark.parametrize("name", ["../x", "", "A", "x" * 65, ".hidden", "a/b"])
def test_a_name_that_is_none_is_refused(home: Home, tmp_path: Path, name: str) -> None:
    folder = beir_set(tmp_path / "set")
    if name == "":
        assert home.import_set(SetFormat.BEIR, folder, name=name).name == "set"
        return
    with pytest.raises(InputError, match="cannot name a set"):
        home.import_set(SetFormat.BEIR, folder, name=name)


def test_a_query_that_is_too_long_is_cut_and_an_empty_one_left_out(home: Home, tmp_path: Path) -> None:
    queries = [{"id": "q1", "text": "RabbitMQ " * 1_000}, {"id": "q2", "text": " \n"}, {"id": "q3", "text": "a\x00b"}]
    imported = home.import_set(
        SetFormat.BEIR, beir_set(tmp_path / "set", queries=queries, qrels=("q1\td1\t1", "q2\td2\t1", "q3\td3\t1"))
    )

    assert [len(home.cases.get(one).query) for one in imported.cases] == [4_096, 3]
    assert imported.findings == (
        "question 'q1': its 8999 characters are cut to 4096",
        "question 'q2': it is empty and left out",
    )


def test_more_questions_than_unpinned_runs_are_kept_are_all_there(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", engine="fake", limits={"retained_runs": 5})
    queries = [{"id": f"q{number}", "text": f"tea number {number}"} for number in range(12)]
    qrels = [f"q{number}\td2\t1" for number in range(12)]
    imported = home.import_set(SetFormat.BEIR, beir_set(tmp_path / "set", queries=queries, qrels=qrels))
    assert case_states(home, imported) == [CaseState.READY] * 12


@pytest.mark.parametrize("format_", list(SetFormat))
def test_what_is_not_there_is_bad_input_and_makes_no_set(home: Home, tmp_path: Path, format_: SetFormat) -> None:
    with pytest.raises(InputError):
        home.import_set(format_, tmp_path / "none", memory=tmp_path if format_ is SetFormat.QUESTIONS else None)
    assert list_sets(home.folder) == ()


def test_questions_need_a_memory_and_nothing_else_takes_one(home: Home, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Name the memory"):
        home.import_set(SetFormat.QUESTIONS, ROOT / "fixtures" / "queries.jsonl")
    with pytest.raises(InputError, match="bring their own"):
        home.import_set(SetFormat.BEIR, beir_set(tmp_path / "set"), memory=tmp_path)


@pytest.mark.field(141)
def test_questions_about_another_memory_are_refused_and_no_set_of_zeros(
    home: Home, memory: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(lines([{"id": "c", "text": "gone", "evidence": [{"resource_id": "gone.md"}]}]), encoding="utf-8")
    with pytest.raises(InputError, match=r"no case: question 'c': its evidence 'gone\.md' is not here"):
        home.import_set(SetFormat.QUESTIONS, path, memory=memory)
    assert list_sets(home.folder) == ()


def test_a_second_import_at_the_same_time_is_told_to_wait(home: Home, tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "set")

    def again(phase: str, done: int, total: int) -> None:
        with pytest.raises(NotReady) as refused:
            Home.open(home.folder, engine="fake").import_set(SetFormat.BEIR, folder)
        assert refused.value.code == "writer_busy"

    assert case_states(home, home.import_set(SetFormat.BEIR, folder, progress=again)) == [CaseState.READY] * 3


class Broken(Exception):
    """What a test raises at a step."""


@pytest.mark.slow
def test_an_import_that_breaks_at_any_step_goes_on_the_next_time(tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "set", silent=lines([{"id": "q9", "text": "wifi"}]))
    names: list[str] = []
    whole = Home.open(tmp_path / "whole", engine="fake")
    with on_step(names.append):
        whole.import_set(SetFormat.BEIR, folder)
    expected = row_counts(whole)

    for broken in dict.fromkeys(name for name in names if not name.endswith((".migrate.40", ".migrate.41"))):
        home = Home.open(tmp_path / "homes" / broken, engine="fake")

        def stop(name: str, at: str = broken) -> None:
            if name == at:
                raise Broken

        with on_step(stop):
            try:
                home.import_set(SetFormat.BEIR, folder)
            except Exception:  # noqa: BLE001 - a fault at a step of the history is no failure of an answer
                assert list_sets(home.folder) == ()
        imported = home.import_set(SetFormat.BEIR, folder)
        assert case_states(home, imported) == [CaseState.READY] * 3 + [CaseState.NEEDS_EVIDENCE], broken
        counts = row_counts(home)
        for table in ("evaluation_cases", "evaluation_evidence"):
            assert counts[table] == expected[table], broken
        home.store.close()


KILLED = """
import os, sys
from pathlib import Path
from workbench.app import Home
from workbench.evaluation.sets import SetFormat
from workbench.storage.faults import on_step
seen = []
def kill(name):
    seen.append(name)
    if seen.count("central.create_case.commit") == 2:
        os.kill(os.getpid(), 9)
with on_step(kill):
    Home.open(Path(sys.argv[1]), engine="fake").import_set(SetFormat.BEIR, Path(sys.argv[2]))
"""


def test_an_import_that_was_killed_goes_on_where_it_was(home: Home, tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "set")
    killed = subprocess.run([sys.executable, "-c", KILLED, home.folder, folder], cwd=ROOT, check=False)
    assert killed.returncode == -9
    connection = sqlite3.connect(home.folder / "local.db")
    (kept,) = connection.execute("SELECT case_id FROM evaluation_cases").fetchall()
    connection.close()

    imported = home.import_set(SetFormat.BEIR, folder)

    assert imported.cases[0] == kept[0]
    assert case_states(home, imported) == [CaseState.READY] * 3
    assert row_counts(home)["evaluation_cases"] == 3


def test_a_damaged_record_is_said_and_never_overwritten(home: Home, tmp_path: Path) -> None:
    folder = beir_set(tmp_path / "set")
    home.import_set(SetFormat.BEIR, folder)
    write(home.folder, {"sets/set/set.json": "{"})
    with pytest.raises(Exception, match="not readable"):
        home.import_set(SetFormat.BEIR, folder)
    assert (home.folder / "sets/set/set.json").read_text(encoding="utf-8") == "{"


@pytest.mark.parametrize("name", [pytest.param("devmembench", marks=pytest.mark.slow), "precisionmembench"])
def test_a_small_real_set_comes_in_whole(evaluation_sets: Path, home: Home, name: str) -> None:
    imported = home.import_set(SetFormat.BEIR, evaluation_sets / name)
    states = case_states(home, imported)
    expected = {"devmembench": (175, 25), "precisionmembench": (43, 30)}[name]
    assert (states.count(CaseState.READY), states.count(CaseState.NEEDS_EVIDENCE)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memorycode", "madial-zh", "xquad-zh2en", "javaguide-questions"])
def test_a_slice_of_a_real_set_comes_in_and_goes_out(
    evaluation_sets: Path, home: Home, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    shutil.copytree(evaluation_sets / name, folder)
    queries = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "queries.jsonl").write_text("".join(queries[:40]), encoding="utf-8")

    imported = home.import_set(SetFormat.BEIR, folder)
    exported = home.export(home.select(imported.name))

    assert case_states(home, imported) == [CaseState.READY] * 40
    given = home.folder / "given.json"
    given.write_text(exported.fixture_json, encoding="utf-8")
    other = Home.open(tmp_path / "other", engine="fake")
    again = other.import_set(SetFormat.FIXTURE, given)
    assert other.export(other.select(again.name)) == exported
