"""The widget on a real home, driven by the messages that a browser sends: what is decided is what the store has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.app.places import PAGES, QUERIES, ask, asked_project, write
from workbench.app import Home, Project
from workbench.core.case import Case, CaseState, EvidenceRef
from workbench.core.errors import StorageError
from workbench.evaluation.growing import GrowingReport
from workbench.evaluation.sets import Selection, SetFormat
from workbench.storage.faults import on_step
from workbench.views.labeling import LabelingWidget, label
from workbench.views.labeling.session import LabelingSession

QUEUE, TEA, STORAGE = "decisions/queue.md", "user/tea.md", "decisions/storage.md"
STEPS = ("blobs.secure", "central.create_case", "central.create_case.commit")
STEPS += ("central.resolve_case", "central.resolve_case.evidence", "central.resolve_case.commit")


@pytest.fixture
def widget(project: Project) -> Iterator[LabelingWidget]:
    opened = opened_on(project)
    yield opened
    opened.close()


def opened_on(project: Project, **options: Any) -> LabelingWidget:
    return label(project.home, project.home.select(project=project), **options)


def say(widget: LabelingWidget, do: str, **more: Any) -> None:
    """One message of the front end, in the envelope that it comes in."""
    content = {"do": do, "number": 1.0, "at": widget.head["run"], **more}
    widget._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


def press_mark(widget: LabelingWidget, path: str, *, whole: bool = False) -> None:
    """Go to the candidate of this path and mark it."""
    place = next(place for place, card in enumerate(widget.cards["cards"]) if card["path"] == path)
    say(widget, "point", place=place)
    say(widget, "mark", whole=whole)


def case_of(project: Project, query: str) -> Case | None:
    """What the store has about a query."""
    runs = project.home.history.list(project.project_id, 100)
    return project.home.cases.of_run(next(run.run_id for run in runs if run.query == query))


def breaking(broken: str) -> Callable[[str], None]:
    def handler(name: str) -> None:
        if name == broken:
            raise StorageError("home_unwritable", f"No room for {name}.")

    return handler


def test_the_newest_run_is_on_the_table_with_its_candidates_and_the_best_ones_text(widget: LabelingWidget) -> None:
    assert widget.head["query"] == "green tea water"
    assert [row["query"] for row in widget.queue["rows"]] == list(reversed(QUERIES))
    assert {card["path"] for card in widget.cards["cards"]} == set(PAGES)
    assert widget.cards["cards"][0]["path"] == widget.text["path"] == TEA
    assert "".join(widget.text["unit"]) == PAGES[TEA].strip()
    assert widget.text["unit"][1::2] == ("Tea", "Green", "tea", "water")
    assert widget.counts() == {"open": 3, "skipped": 0, "ready": 0, "needs_evidence": 0}


def test_marks_are_no_decision_until_they_are_confirmed(project: Project, widget: LabelingWidget) -> None:
    press_mark(widget, TEA)
    press_mark(widget, QUEUE, whole=True)
    assert case_of(project, "green tea water") is None
    assert widget.head["changed"]

    say(widget, "confirm")

    case = case_of(project, "green tea water")
    assert case is not None and case.state is CaseState.READY
    assert [(one.resource_id, one.unit_key) for one in case.evidence] == [(TEA, f"{TEA}#@root"), (QUEUE, None)]
    assert widget.head["query"] == "发布前检查什么"
    assert widget.counts() == {"open": 2, "skipped": 0, "ready": 1, "needs_evidence": 0}


def test_the_report_grows_with_every_confirmed_case(widget: LabelingWidget) -> None:
    assert widget.report == {"cases": 0, "means": {}}
    press_mark(widget, TEA)
    say(widget, "confirm")
    assert widget.report["cases"] == 1
    assert widget.report["means"]["b3_hybrid_rrf"]["mrr@10"] == 1.0

    press_mark(widget, widget.cards["cards"][1]["path"])
    say(widget, "confirm")

    assert widget.report["cases"] == 2
    assert widget.report["means"]["b3_hybrid_rrf"]["mrr@10"] == (1 + 1 / 2) / 2
    assert "b4_reranked" not in widget.report["means"]


def test_none_matched_needs_evidence_and_undo_makes_it_a_draft_again(project: Project, widget: LabelingWidget) -> None:
    say(widget, "none")
    case = case_of(project, "green tea water")
    assert case is not None and (case.state, case.version) == (CaseState.NEEDS_EVIDENCE, 2)

    say(widget, "undo")

    case = case_of(project, "green tea water")
    assert case is not None and (case.state, case.version) == (CaseState.DRAFT, 3)
    assert widget.head["query"] == "green tea water"


def test_undo_of_a_changed_decision_brings_the_first_one_back(project: Project, widget: LabelingWidget) -> None:
    run_id = widget.run_id
    press_mark(widget, TEA)
    say(widget, "confirm")
    say(widget, "open", run=run_id)
    press_mark(widget, QUEUE)
    say(widget, "confirm")

    say(widget, "undo")

    case = case_of(project, "green tea water")
    assert case is not None and [one.resource_id for one in case.evidence] == [TEA]
    assert [one["resource_id"] for one in widget.head["marks"]] == [TEA, QUEUE]


def test_evidence_that_no_arm_recalled_is_found_and_confirmed_as_a_whole_resource(tmp_path: Path) -> None:
    project = Home.open(tmp_path / "home", engine="none").project(write(tmp_path / "memory", PAGES))
    project.refresh()
    ask(project, "how warm is a morning drink")
    widget = opened_on(project)
    assert STORAGE not in {card["path"] for card in widget.cards["cards"]}

    say(widget, "search", text="THUMBNAILS uploads")
    assert [card["path"] for card in widget.cards["cards"]] == [STORAGE]
    assert "".join(widget.text["unit"]) == PAGES[STORAGE].strip()
    say(widget, "mark", whole=False)
    say(widget, "confirm")

    (evidence,) = project.home.cases.list([project.project_id])
    assert evidence.state is CaseState.READY
    assert [(one.resource_id, one.unit_key) for one in project.home.cases.get(evidence.case_id).evidence] == [
        (STORAGE, None)
    ]
    widget.close()


@pytest.mark.spec("D8")
@pytest.mark.parametrize(("choice", "stands"), [("mine", TEA), ("theirs", QUEUE)])
def test_a_conflict_shows_both_versions_and_the_chosen_one_stands(
    project: Project, widget: LabelingWidget, choice: str, stands: str
) -> None:
    other = Home.open(project.home.folder, engine="fake")
    case = other.cases.create(widget.run_id)
    other.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=QUEUE)], False)
    press_mark(widget, TEA)

    say(widget, "confirm")

    conflict = widget.head["conflict"]
    assert [one["resource_id"] for one in conflict["mine"]["marks"]] == [TEA]
    assert [one["resource_id"] for one in conflict["theirs"]["marks"]] == [QUEUE]
    assert other.cases.get(case.case_id).evidence[0].resource_id == QUEUE
    say(widget, choice)
    assert widget.head["conflict"] is None
    assert [one.resource_id for one in other.cases.get(case.case_id).evidence] == [stands]
    other.store.close()


def test_letting_theirs_stand_goes_on_to_the_next_run(project: Project, widget: LabelingWidget) -> None:
    """As storing one's own does: the next keys are meant for another case."""
    other = Home.open(project.home.folder, engine="fake")
    case = other.cases.create(widget.run_id)
    other.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=QUEUE)], False)
    other.store.close()
    press_mark(widget, TEA)
    say(widget, "confirm")

    say(widget, "theirs")

    assert widget.head["query"] == "发布前检查什么"
    assert widget.counts() == {"open": 2, "skipped": 0, "ready": 1, "needs_evidence": 0}


@pytest.mark.parametrize("way", ["skip", "confirm"])
def test_runs_that_were_cleared_meanwhile_leave_the_queue(project: Project, widget: LabelingWidget, way: str) -> None:
    """Two of three go: the one on the table, and the next one. The last one, which is a case, waits."""
    last = project.home.history.list(project.project_id, 3)[-1]
    project.home.cases.create(last.run_id)
    press_mark(widget, TEA)
    assert project.home.history.clear(project.project_id) == 2

    say(widget, way)

    assert widget.run_id == last.run_id
    assert "was removed from the history meanwhile" in widget.head["message"]
    assert [row["query"] for row in widget.queue["rows"]] == [last.query]
    assert widget.head["progress"]["unsaved"] == 0


def test_a_queue_whose_runs_are_all_gone_is_empty(project: Project, widget: LabelingWidget) -> None:
    project.home.history.clear(project.project_id)

    say(widget, "none")

    assert (widget.run_id, widget.head["query"], widget.cards["cards"], widget.text) == ("", "", [], {})
    assert "was removed from the history meanwhile" in widget.head["message"]
    for do in ("none", "confirm", "skip", "undo"):
        say(widget, do)
    assert sum(widget.counts().values()) == 0


@pytest.mark.parametrize("step", STEPS)
def test_a_decision_that_cannot_be_written_is_kept_over_a_restart_and_stored_later(
    project: Project, widget: LabelingWidget, step: str
) -> None:
    press_mark(widget, TEA)
    with on_step(breaking(step)):
        say(widget, "confirm")
    assert widget.head["unsaved"] and "No room" in widget.head["message"]
    assert widget.head["query"] == "green tea water"

    restarted = opened_on(project)

    assert restarted.head["unsaved"] and [one["resource_id"] for one in restarted.head["marks"]] == [TEA]
    say(restarted, "confirm")
    case = case_of(project, "green tea water")
    assert case is not None and [one.resource_id for one in case.evidence] == [TEA]
    assert restarted.head["progress"]["unsaved"] == 0
    restarted.close()


def test_a_none_matched_that_cannot_be_written_is_kept_as_such(project: Project, widget: LabelingWidget) -> None:
    with on_step(breaking("central.resolve_case")):
        say(widget, "none")
    assert widget.head["unsaved"]

    say(widget, "confirm")

    case = case_of(project, "green tea water")
    assert case is not None and case.state is CaseState.NEEDS_EVIDENCE


def test_drafts_that_cannot_be_kept_are_said_and_decisions_are_stored_all_the_same(
    project: Project, widget: LabelingWidget
) -> None:
    with on_step(breaking("labeling.draft")):
        press_mark(widget, TEA)
        assert "cannot be kept" in widget.head["message"]
        say(widget, "confirm")

    case = case_of(project, "green tea water")
    assert case is not None and case.state is CaseState.READY


def timed(project: Project, clock: Callable[[], float]) -> LabelingWidget:
    """The widget by a clock of the test's own."""
    home, selection = project.home, project.home.select(project=project)
    session = LabelingSession(home, selection, clock=clock)
    return LabelingWidget(session, GrowingReport(home.store, home.cases, selection))


def test_marks_notes_skips_and_times_outlive_the_kernel(project: Project) -> None:
    seconds = count(0, 10)
    widget = timed(project, lambda: next(seconds))
    press_mark(widget, QUEUE)
    say(widget, "note", run=widget.run_id, text="ask Ada <b>")
    say(widget, "skip")
    widget.close()

    again = opened_on(project, standing="skipped")

    assert again.head["query"] == "green tea water" and again.head["note"] == "ask Ada <b>"
    assert [one["resource_id"] for one in again.head["marks"]] == [QUEUE]
    assert again.notes()["note"].tolist() == ["ask Ada <b>"]
    assert again.session.state.draft.seconds == 40
    again.close()


def test_the_pace_is_over_decided_cases_and_a_long_pause_is_no_work(project: Project) -> None:
    now = [0.0]
    widget = timed(project, lambda: now[0])
    for seconds, key in ((20, "none"), (3_600, "none"), (20, "move")):
        now[0] += seconds
        say(widget, key, by=1)

    assert widget.head["progress"]["seconds"] == (20 + 60) / 2
    widget.close()


@pytest.mark.parametrize("damage", [b"{", b'{"marks": 7}', b"\xff"])
def test_a_damaged_draft_is_none(project: Project, widget: LabelingWidget, damage: bytes) -> None:
    press_mark(widget, TEA)
    (project.home.folder / "labeling" / f"{widget.run_id}.json").write_bytes(damage)

    again = opened_on(project)

    assert again.head["marks"] == []
    again.close()


def test_a_key_that_was_meant_for_the_run_before_decides_nothing(project: Project, widget: LabelingWidget) -> None:
    before = widget.run_id
    say(widget, "none")
    assert widget.run_id != before

    say(widget, "none", at=before)

    assert widget.counts()["needs_evidence"] == 1
    assert case_of(project, widget.head["query"]) is None


def test_a_note_reaches_its_run_even_when_another_is_on_the_table(widget: LabelingWidget) -> None:
    before = widget.run_id
    say(widget, "skip")

    say(widget, "note", run=before, text="late")

    assert widget.notes()["run_id"].tolist() == [before]
    assert widget.head["note"] == ""


def test_blind_shows_no_rank_no_score_and_no_reason(widget: LabelingWidget) -> None:
    say(widget, "order", order="blind")

    assert {key for card in widget.cards["cards"] for key in card} == {
        "resource_id",
        "unit_key",
        "path",
        "heading",
        "excerpt",
    }


@pytest.mark.field(134)
def test_the_queue_is_filtered_by_zero_hits_disagreement_project_and_state(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", engine="none")
    first, second = home.project(write(tmp_path / "a", PAGES)), home.project(write(tmp_path / "b", PAGES))
    for project in (first, second):
        project.refresh()
    ask(first, "zeppelin")
    ask(first, "green tea")
    ask(second, "job queue")
    widget = label(home, Selection("both", (first.project_id, second.project_id)), standing="")

    def shown(**chosen: Any) -> list[str]:
        default = {"standing": "", "project": "", "zero_hits": False, "disagreeing": False}
        say(widget, "filter", **default | chosen)
        return [row["query"] for row in widget.queue["rows"]]

    assert shown() == ["green tea", "zeppelin", "job queue"]
    assert shown(zero_hits=True) == ["zeppelin"]
    assert shown(project=second.project_id) == ["job queue"]
    assert shown(disagreeing=True) == []
    say(widget, "open", run=widget.session.state.rows[1].run_id)
    say(widget, "none")
    assert shown(standing="needs_evidence") == ["zeppelin"]
    widget.close()


def test_arms_that_share_less_than_half_of_their_first_ten_disagree(project: Project) -> None:
    """Words recall one page of four, vectors all four: they share a quarter."""
    widget = opened_on(project)

    assert [row["disagreement"] for row in widget.queue["rows"]] == [0.75, 0.75, 0.75]

    say(widget, "filter", standing="", project="", zero_hits=False, disagreeing=True)
    assert widget.queue["total"] == 3
    widget.close()


def test_a_text_that_was_changed_on_disk_is_said_and_labelling_goes_on(project: Project) -> None:
    entry = next(
        entry for entry in opened_on(project).session._cases.frozen(made_case(project)).entries if entry.path == TEA
    )
    blob = project.home.blobs.folder / entry.resource_hash[:2] / entry.resource_hash
    blob.write_bytes(b"[]")

    widget = opened_on(project)

    assert "was changed on disk" in widget.text["missing"]
    say(widget, "move", by=1)
    assert not widget.text["missing"] and "".join(widget.text["unit"])
    widget.close()


def made_case(project: Project) -> Case:
    (run,) = [run for run in project.home.history.list(project.project_id, 9) if run.query == QUERIES[0]]
    return project.home.cases.create(run.run_id)


def test_an_imported_set_is_labelled_in_its_own_order(project: Project, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [{"id": text, "text": text, "evidence": [{"resource_id": TEA}]} for text in ("warm tea", "cold tea")]
    questions.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    made = project.home.import_set(SetFormat.QUESTIONS, questions, memory=project.root)

    widget = label(project.home, project.home.select(made.name), standing="ready")

    assert [row["query"] for row in widget.queue["rows"]] == ["warm tea", "cold tea"]
    assert [one["resource_id"] for one in widget.head["marks"]] == [TEA]
    widget.close()


def test_a_memory_without_runs_is_an_empty_queue(tmp_path: Path) -> None:
    project = Home.open(tmp_path / "home", engine="fake").project(write(tmp_path / "memory", PAGES))

    widget = opened_on(project)

    for key in ("mark", "confirm", "none", "skip", "undo", "move"):
        say(widget, key, whole=False, by=1)
    assert widget.head["query"] == "" and widget.queue["rows"] == [] and widget.text == {}
    assert widget.counts() == {"open": 0, "skipped": 0, "ready": 0, "needs_evidence": 0}
    widget.close()


def test_markup_of_a_memory_stays_the_text_it_is(tmp_path: Path) -> None:
    hostile = "# <b>Tea</b>\n\n<script>alert('tea')</script> <img src=x onerror=alert(1)> about tea\n"

    widget = opened_on(asked_project(tmp_path, {"a.md": hostile}, ["<script>alert('tea')</script>"]))

    assert "".join(widget.text["unit"]) == hostile.strip()
    assert widget.head["query"] == "<script>alert('tea')</script>"
    widget.close()
