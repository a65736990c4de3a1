"""The widget on a real home, driven by the messages that a browser sends; store and files say what came of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.places import PAGES, QUERIES, ask, asked_project, home_with, write
from tests.evaluation.recorded import record_run, request
from workbench.app import Home, Project
from workbench.core.case import EvidenceRef
from workbench.core.errors import StorageError
from workbench.core.progress import Progress
from workbench.core.run import RunError
from workbench.evaluation.figures import Report
from workbench.evaluation.runs import INTERRUPTED
from workbench.evaluation.sets import Selection, SetFormat
from workbench.models.fake import FakeEmbedder
from workbench.storage.faults import on_step
from workbench.views.diagnostics import DiagnosticsWidget, diagnose

QUEUE, TEA = "decisions/queue.md", "user/tea.md"


@pytest.fixture
def widget(project: Project) -> Iterator[DiagnosticsWidget]:
    opened = opened_on(project)
    yield opened
    opened.close()


def opened_on(project: Project, **options: Any) -> DiagnosticsWidget:
    return diagnose(project.home, project.home.select(project=project), (project,), **options)


def say(widget: DiagnosticsWidget, do: str, **more: Any) -> None:
    """One message of the front end, in the envelope that it comes in."""
    content = {"do": do, "number": 1.0, **more}
    widget._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


def choose(widget: DiagnosticsWidget, **chosen: Any) -> list[str]:
    """The queries that a filter shows."""
    say(widget, "filter", **{"end": "", "project": "", "zero_hits": False, "degraded": False} | chosen)
    return [row["query"] for row in widget.runs["rows"]]


def make_case(project: Project, query: str, resource_id: str) -> str:
    """Confirm a resource for the run of a query; the case's id."""
    cases, runs = project.home.cases, project.home.history.list(project.project_id, 100)
    case = cases.create(next(run.run_id for run in runs if run.query == query))
    cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=resource_id)], False)
    return case.case_id


def stored(project: Project) -> list[str]:
    return [run.query for run in project.home.history.list(project.project_id, 1_000)]


def breaking(broken: str) -> Callable[[str], None]:
    def handler(name: str) -> None:
        if name == broken:
            raise StorageError("home_unwritable", f"No room for {name}.")

    return handler


@pytest.mark.field(145)
def test_the_newest_run_is_open_with_every_rank_score_and_outcome(project: Project, widget: DiagnosticsWidget) -> None:
    record = project.home.history.get(widget.run_id)

    assert widget.run["query"] == "green tea water"
    assert [row["query"] for row in widget.runs["rows"]] == list(reversed(QUERIES))
    for shown, one in zip(widget.run["candidates"], record.trace.candidates, strict=True):
        assert (shown["path"], shown["excerpt"], shown["final"]) == (one.path, one.excerpt, one.final_rank)
        assert shown["vector"] == [one.vector_rank, one.vector_score]
        assert shown["bm25"] == [one.bm25_rank, one.bm25_score]
        assert shown["rerank"] == [None, None]
        assert shown["outcome"] == "selected"
    assert dict(widget.run["stages"]) == {name: us / 1000 for name, us in record.summary.stage_us.items()}
    assert widget.run["index"]["miv"] == record.summary.index.miv if record.summary.index else None
    assert widget.run["budget"]["budget_tokens"] == 2_400


def test_a_run_is_opened_by_the_beginning_of_its_id(project: Project) -> None:
    oldest = project.home.history.list(project.project_id, 9)[-1]

    widget = opened_on(project, run_id=oldest.run_id[:12])

    assert widget.run_id == oldest.run_id
    widget.close()


def test_a_run_that_is_not_there_is_said_and_the_list_is_shown_all_the_same(project: Project) -> None:
    widget = opened_on(project, run_id="nothing")

    assert "No run is called 'nothing'" in widget.head["message"] and widget.head["bad"]
    assert widget.run == {} and widget.runs["total"] == 3
    widget.close()


def test_candidates_are_sorted_by_a_head_and_back(widget: DiagnosticsWidget) -> None:
    def ranks() -> list[int]:
        return [one["vector"][0] for one in widget.run["candidates"]]

    say(widget, "sort", column="vector")
    assert ranks() == [1, 2, 3, 4]
    say(widget, "sort", column="vector")
    assert ranks() == [4, 3, 2, 1] and widget.run["descending"]
    say(widget, "neighbour", by=1)
    assert ranks() == [4, 3, 2, 1]


def test_why_a_page_is_not_there_is_answered_by_path_and_by_title(widget: DiagnosticsWidget) -> None:
    say(widget, "why", resource="Tea")
    assert widget.run["asked"]["sentence"].startswith("Tea was selected at rank 1")
    assert [one["path"] for one in widget.run["candidates"] if one["asked"]] == [TEA]

    say(widget, "why", resource="absent.md")
    assert widget.run["asked"]["sentence"] == "absent.md was not in the corpus that this run searched."

    say(widget, "why", resource="  ")
    assert widget.run["asked"] is None


def test_a_failed_run_says_where_and_why(project: Project) -> None:
    history = project.home.history
    run_id = history.begin(project.project_id, request("broken"), "key")
    assert history.fail(run_id, RunError(stage="dense", code="internal", summary="The vectors could not be read."))

    widget = opened_on(project)

    assert widget.run["error"] == {"stage": "dense", "code": "internal", "summary": "The vectors could not be read."}
    say(widget, "why", resource="Tea")
    assert widget.run["asked"]["sentence"] == "The run did not succeed: The vectors could not be read."
    widget.close()


@pytest.mark.field(134)
def test_runs_are_filtered_by_state_zero_hits_degradation_and_project(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", engine="fake")
    first, second = home.project(write(tmp_path / "a", PAGES)), home.project(write(tmp_path / "b", PAGES))
    first.refresh()
    ask(first, "green tea")
    record_run(home.history, project=second.project_id)
    home.history.begin(second.project_id, request("under way"), "key")
    for error in (INTERRUPTED, RunError(stage="fusion", code="internal", summary="broke")):
        home.history.fail(home.history.begin(first.project_id, request(error.code), "key"), error)
    widget = diagnose(home, Selection("both", (first.project_id, second.project_id)), (first, second))

    assert choose(widget) == ["internal", "retrieval_interrupted", "under way", "how are hits fused", "green tea"]
    assert choose(widget, end="failed") == ["internal"]
    assert choose(widget, end="interrupted") == ["retrieval_interrupted"]
    assert choose(widget, end="running") == ["under way"]
    assert choose(widget, zero_hits=True) == choose(widget, degraded=True) == ["how are hits fused"]
    assert choose(widget, project=second.project_id) == ["under way", "how are hits fused"]
    assert widget.head["counts"]["total"] == 2
    assert choose(widget, end="succeeded", project=first.project_id) == ["green tea"]
    widget.close()


def test_pages_go_to_the_end_and_back_and_keep_the_open_run(project: Project) -> None:
    ids = [record_run(project.home.history, project=project.project_id) for _ in range(97)]
    widget = opened_on(project)
    assert (widget.runs["total"], widget.runs["first"], widget.runs["newer"]) == (100, 1, False)

    say(widget, "older")
    say(widget, "older")

    assert (widget.runs["first"], len(widget.runs["rows"]), widget.runs["more"]) == (81, 20, False)
    assert [row["query"] for row in widget.runs["rows"][-3:]] == list(reversed(QUERIES))
    assert widget.run_id == ids[-1]
    say(widget, "older")
    assert widget.runs["first"] == 81
    say(widget, "neighbour", by=1)
    assert widget.run_id == widget.runs["rows"][0]["run"]
    say(widget, "newest")
    assert widget.runs["rows"][0]["run"] == ids[-1]


def test_cases_are_counted_and_their_runs_show_them(project: Project, widget: DiagnosticsWidget) -> None:
    cases = project.home.cases
    make_case(project, QUERIES[2], TEA)
    say(widget, "newest")
    assert widget.head["cases"] == {"draft": 0, "ready": 1, "needs_evidence": 0, "without": 2}

    cases.create(widget.runs["rows"][1]["run"])
    say(widget, "newest")

    assert widget.head["cases"] == {"draft": 1, "ready": 1, "needs_evidence": 0, "without": 1}
    assert [row["case"] for row in widget.runs["rows"]] == ["ready", "draft", None]


def test_an_index_is_current_until_the_memory_moves_on_and_looking_builds_nothing(
    project: Project, widget: DiagnosticsWidget
) -> None:
    (row,) = widget.indexes["rows"]
    assert (row["state"], row["head"]["resources"], row["head"]["engine"]) == ("current", 4, "fake")
    write(project.root, {"new.md": "# New\n", TEA: "# Tea\n\nBlack tea.\n", "bad.md": "---\n: [\n---\n"})
    (project.root / QUEUE).unlink()

    say(widget, "look")

    (row,) = widget.indexes["rows"]
    assert (row["state"], row["new"], row["changed"], row["removed"]) == ("behind", 1, 1, 1)
    assert row["target_miv"] != row["head"]["miv"] and row["head"]["revision"] == 1
    assert [one.split(":")[0] for one in row["unreadable"]] == ["bad.md"]
    head = project.index.head()
    assert head is not None and head.revision_id == 1


def test_an_index_that_was_never_built_and_a_memory_that_has_gone_are_said(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", engine="fake")
    fresh, gone = home.project(write(tmp_path / "a", PAGES)), home.project(write(tmp_path / "b", PAGES))
    gone.refresh()
    for page in PAGES:
        (gone.root / page).unlink()

    widget = diagnose(home, Selection("both", (fresh.project_id, gone.project_id)), (fresh, gone))

    first, second = widget.indexes["rows"]
    assert (first["state"], first["head"]) == ("none", None)
    assert "is suddenly empty" in second["problem"] and second["head"]["resources"] == 4
    widget.close()


def test_a_failed_build_and_another_engine_are_said(tmp_path: Path) -> None:
    memory = write(tmp_path / "memory", PAGES)
    project = home_with(tmp_path / "home", FakeEmbedder()).project(memory)
    project.refresh()
    other = home_with(tmp_path / "home", FakeEmbedder(name="other", fail_after=0)).project(memory)
    widget = opened_on(other)
    assert widget.indexes["rows"][0]["state"] == "behind"

    with pytest.raises(Exception, match="told to fail"):
        other.refresh()
    say(widget, "look")

    (row,) = widget.indexes["rows"]
    assert row["state"] == "failed" and "told to fail" in row["problem"]
    assert row["head"]["engine"] == "fake"
    widget.close()


def test_the_report_is_the_one_of_the_command_and_says_when_it_is_old(project: Project) -> None:
    make_case(project, QUERIES[2], TEA)
    make_case(project, QUERIES[0], QUEUE)
    widget = opened_on(project)

    say(widget, "measure")

    made = project.home.report(project.home.select(project=project))
    assert (widget.report["cases"], widget.report["set_digest"]) == (2, made.set_digest)
    assert list(widget.report["orders"]) == ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf"]
    for variant in made.variants:
        for metric, figures in widget.report["orders"][variant.variant].items():
            assert figures == variant.means[metric].model_dump()
    assert [one["detail"] for one in widget.report["notes"]] == [one.detail for one in made.notes]
    assert widget.head["task"] is None and widget.report["ready_now"] == 2

    make_case(project, QUERIES[1], "runbooks/release.md")
    say(widget, "newest")
    assert widget.report["ready_now"] == 3
    widget.close()


@pytest.mark.field(141)
@pytest.mark.parametrize("what", [{"do": "measure"}, {"do": "export", "folder": "out"}])
def test_no_ready_case_is_a_sentence(widget: DiagnosticsWidget, what: dict[str, str], tmp_path: Path) -> None:
    if "folder" in what:
        what = what | {"folder": str(tmp_path / "out")}

    say(widget, **what)

    assert "no case is ready. Confirm evidence of one" in widget.head["message"] and widget.head["bad"]
    assert widget.report == {} and widget.head["saved"] is None and widget.head["task"] is None
    assert not (tmp_path / "out").exists()


def test_an_export_is_the_one_of_the_command_and_gives_the_same_report_elsewhere(
    project: Project, widget: DiagnosticsWidget, tmp_path: Path
) -> None:
    make_case(project, QUERIES[2], TEA)

    say(widget, "export", folder=str(tmp_path / "new" / "out"))

    saved = widget.head["saved"]
    files = {Path(one["path"]).name: Path(one["path"]) for one in saved["files"]}
    assert sorted(files) == ["cases.csv", "fixture.json", "report.json"]
    exported = project.home.export(project.home.select(project=project))
    assert files["fixture.json"].read_text("utf-8") == exported.fixture_json
    assert Report.model_validate_json(files["report.json"].read_bytes()) == exported.report
    assert saved["set_digest"] == exported.report.set_digest and saved["cases"] == 1
    other = Home.open(tmp_path / "other", engine="fake")
    imported = other.import_set(SetFormat.FIXTURE, files["fixture.json"])
    assert other.report(other.select(imported.name)).set_digest == saved["set_digest"]


def test_an_export_replaces_nothing(project: Project, widget: DiagnosticsWidget, tmp_path: Path) -> None:
    make_case(project, QUERIES[2], TEA)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "fixture.json").write_text("mine", "utf-8")
    (tmp_path / "file").write_text("mine", "utf-8")

    for folder in (tmp_path / "out", tmp_path / "file"):
        say(widget, "export", folder=str(folder))
        assert widget.head["message"] == f"{folder} holds something already; name a new folder."
    say(widget, "export", folder=" ")
    assert widget.head["message"] == "Name a folder for the export."

    assert [file.read_text("utf-8") for file in (tmp_path / "out").iterdir()] == ["mine"]
    assert widget.head["saved"] is None


def test_an_export_into_an_empty_folder_that_cannot_be_written_is_a_sentence(
    project: Project, widget: DiagnosticsWidget, tmp_path: Path
) -> None:
    make_case(project, QUERIES[2], TEA)
    (tmp_path / "file").write_text("", "utf-8")

    say(widget, "export", folder=str(tmp_path / "file" / "out"))

    assert widget.head["bad"] and "file" in widget.head["message"] and widget.head["task"] is None


@pytest.mark.spec("D11")
def test_clearing_asks_how_many_go_and_how_many_stay_and_a_no_changes_nothing(
    project: Project, widget: DiagnosticsWidget
) -> None:
    make_case(project, QUERIES[2], TEA)
    project.home.history.begin(project.project_id, request("under way"), "key")

    say(widget, "ask_to_clear")

    assert widget.head["question"] == {
        "projects": (project.project_id,),
        "removable": 2,
        "pinned": 1,
        "running": 1,
    }
    say(widget, "keep")
    assert widget.head["question"] is None and len(stored(project)) == 4
    say(widget, "clear")
    assert len(stored(project)) == 4


@pytest.mark.spec("D11")
def test_a_yes_removes_what_was_counted_and_closes_a_run_that_has_gone(
    project: Project, widget: DiagnosticsWidget
) -> None:
    make_case(project, QUERIES[0], QUEUE)
    say(widget, "ask_to_clear")

    say(widget, "clear")

    assert stored(project) == [QUERIES[0]]
    assert widget.head["message"] == "2 runs removed." and not widget.head["bad"]
    assert widget.run == {} and [row["query"] for row in widget.runs["rows"]] == [QUERIES[0]]
    say(widget, "ask_to_clear")
    assert widget.head["question"] is None
    assert widget.head["message"] == "There is no run to remove. 1 run with a case stays."


def test_what_changed_between_question_and_answer_is_said(project: Project, widget: DiagnosticsWidget) -> None:
    say(widget, "ask_to_clear")
    make_case(project, QUERIES[2], TEA)

    say(widget, "clear")

    assert widget.head["message"].startswith("2 runs removed. 1 fewer than were counted")
    assert stored(project) == [QUERIES[2]]


def test_only_the_project_that_is_looked_at_is_cleared(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", engine="fake")
    for name in ("one", "two"):
        record_run(home.history, project=name)
    widget = diagnose(home, Selection("both", ("one", "two")))
    choose(widget, project="two")

    say(widget, "ask_to_clear")
    assert widget.head["question"]["projects"] == ("two",)
    say(widget, "clear")

    assert len(home.history.list("one", 9)) == 1 and home.history.list("two", 9) == ()
    assert widget.indexes == {"rows": [], "looking": False}
    widget.close()


def test_bodies_that_cannot_be_collected_are_said_and_the_runs_that_went_are_no_longer_shown(
    project: Project, widget: DiagnosticsWidget
) -> None:
    say(widget, "ask_to_clear")
    with on_step(breaking("central.collect")):
        say(widget, "clear")

    assert widget.head["message"] == "No room for central.collect." and widget.head["bad"]
    assert stored(project) == [] and widget.runs["total"] == 0


@pytest.mark.parametrize("step", ["central.clear_runs", "central.clear_runs.commit"])
def test_a_clear_that_cannot_be_written_removes_nothing_and_says_so(
    project: Project, widget: DiagnosticsWidget, step: str
) -> None:
    say(widget, "ask_to_clear")
    with on_step(breaking(step)):
        say(widget, "clear")

    assert widget.head["message"] == f"No room for {step}." and widget.head["bad"]
    assert len(stored(project)) == 3 and widget.head["task"] is None


def test_a_memory_without_runs_says_nothing_wrong(tmp_path: Path) -> None:
    project = Home.open(tmp_path / "home", engine="fake").project(write(tmp_path / "memory", PAGES))

    widget = opened_on(project)

    for step in ("older", "newer", "newest", "neighbour", "why", "sort", "keep", "clear", "stop"):
        say(widget, step, by=1, resource="x", column="rrf")
    assert widget.runs == {"total": 0, "first": 1, "newer": False, "more": False, "rows": [], "open": ""}
    assert widget.run == {} and widget.head["message"] == ""
    widget.close()


def test_markup_of_a_memory_stays_the_text_it_is(tmp_path: Path) -> None:
    hostile = "# <b>Tea</b>\n\n<script>alert('tea')</script> <img src=x onerror=alert(1)> about tea\n"

    widget = opened_on(asked_project(tmp_path, {"a.md": hostile}, ["<script>alert('tea')</script>"]))

    assert "<script>alert('tea')</script>" in widget.run["candidates"][0]["excerpt"]
    assert widget.run["query"] == "<script>alert('tea')</script>"
    json.dumps([widget.head, widget.runs, widget.run, widget.indexes])
    widget.close()


class SlowHome:
    """A home whose report waits between two words until it is let go."""

    def __init__(self, home: Home) -> None:
        self._home, self.begun, self.go_on = home, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    def report(self, selection: Selection, *, progress: Progress) -> Report:
        progress("read", 1, 3)
        self.begun.set()
        assert self.go_on.wait(20)
        progress("read", 3, 3)
        return self._home.report(selection, progress=progress)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def test_while_a_report_is_computed_the_widget_answers_and_tells_how_far_it_is(project: Project) -> None:
    make_case(project, QUERIES[2], TEA)
    home = SlowHome(project.home)

    async def look() -> None:
        widget = diagnose(home, project.home.select(project=project), (project,))
        say(widget, "measure")
        await until(lambda: bool(widget.head["task"]["total"]))
        say(widget, "neighbour", by=1)
        say(widget, "export", folder="out")

        assert widget.run["query"] == QUERIES[1]
        assert "Wait until the benchmark is done" in widget.head["message"]
        assert widget.head["task"] == {"kind": "benchmark", "phase": "read", "done": 1, "total": 3, "stopping": False}
        home.go_on.set()
        await until(lambda: bool(widget.report))
        assert widget.head["task"] is None and widget.indexes["rows"][0]["state"] == "current"
        widget.close()

    asyncio.run(look())


def test_a_report_that_is_stopped_ends_and_another_can_begin(project: Project) -> None:
    make_case(project, QUERIES[2], TEA)
    home = SlowHome(project.home)

    async def look() -> None:
        widget = diagnose(home, project.home.select(project=project))
        say(widget, "measure")
        await until(home.begun.is_set)
        say(widget, "stop")
        assert widget.head["task"]["stopping"]
        home.go_on.set()
        await until(lambda: widget.head["task"] is None)
        assert widget.head["message"] == "Stopped; nothing was written." and widget.report == {}

        say(widget, "measure")
        await until(lambda: bool(widget.report))
        widget.close()

    asyncio.run(look())


class BrokenHome(SlowHome):
    """A home whose report has a fault of its own."""

    def report(self, selection: Selection, *, progress: Progress) -> Report:
        raise ZeroDivisionError


def test_a_fault_of_the_program_is_a_sentence_and_a_log_entry(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    widget = diagnose(BrokenHome(project.home), project.home.select(project=project))

    say(widget, "measure")

    assert "internal error" in widget.head["message"] and widget.head["task"] is None
    assert "ZeroDivisionError" in caplog.text
    widget.close()


def test_an_imported_set_is_looked_into_beside_its_memory(project: Project, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [{"id": text, "text": text, "evidence": [{"resource_id": TEA}]} for text in ("warm tea", "cold tea")]
    questions.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    made = project.home.import_set(SetFormat.QUESTIONS, questions, memory=project.root)
    projects = project.home.set_projects(made.name)

    widget = diagnose(project.home, project.home.select(made.name), projects)

    assert [row["root"] for row in widget.indexes["rows"]] == [str(project.root)]
    assert widget.head["cases"]["ready"] == 2 and widget.runs["total"] == 5
    say(widget, "measure")
    assert widget.report["cases"] == 2
    widget.close()
