"""An answer is kept once for each request, in a place where it stands whole, and takes nothing away."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.memory.conftest import fill
from tests.memory.whiteboard.pages import BOARD, CRLF, encoded
from tests.memory.writing.world import Broken, World, broken_at, killed_at
from workbench.core.errors import WorkbenchError
from workbench.markdown.cards import read_page
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.index import lint_input
from workbench.memory.whiteboard.lint import lint
from workbench.memory.writing.answers import Answer, ArchivedAnswer, archive_answer
from workbench.memory.writing.gate import WriteGate
from workbench.memory.writing.values import AnswerTarget
from workbench.storage.faults import on_step

TODAY = date(2026, 11, 2)
CONCLUSION = "We keep one queue.\n\n# Why\n\nTwo were slower:\n\n```\n## no heading\n```\n\nBecause\n---\n\n- so it is"
EACH_TARGET = pytest.mark.parametrize("target", AnswerTarget)


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "memory"
    root.mkdir()
    world = World(root)
    fill(world)
    return world


def answer(target: AnswerTarget = AnswerTarget.CARD, **more: Any) -> Answer:
    given = {
        "request_id": "r-1",
        "title": "One queue 一个队列",
        "conclusion": CONCLUSION,
        "evidence_refs": ("db", "c1"),
    }
    return Answer(target=target, **{**given, **more})


def keep(world: World, given: Answer, **options: Any) -> ArchivedAnswer:
    return archive_answer(world.gate(**options), given, TODAY)


def refused(world: World, code: str, given: Answer) -> WorkbenchError:
    before = world.told()
    with pytest.raises(WorkbenchError) as caught:
        keep(world, given)
    assert caught.value.code == code
    assert world.told() == before
    return caught.value


@pytest.mark.spec("T4-6")
@EACH_TARGET
def test_the_same_request_twice_keeps_one_answer_and_says_the_same(world: World, target: AnswerTarget) -> None:
    first = keep(world, answer(target))
    told = world.told()
    assert keep(world, answer(target)) == first
    assert keep(world, answer(AnswerTarget.MEMORY, title="Other", evidence_refs=("nobody",))) == first
    assert world.told() == told
    assert list(told["states"]).count(first.resource_id) == 1


@EACH_TARGET
@pytest.mark.parametrize("line_end", ["\r", "\r\n"])
def test_a_heading_behind_another_line_end_does_not_end_the_answer(
    world: World, target: AnswerTarget, line_end: str
) -> None:
    given = answer(target, conclusion=CONCLUSION.replace("\n", line_end))
    keep(world, given)
    resource = next(one for one in world.capture().resources if one.resource_id == given.resource_id)
    assert "**Because**" in resource.body
    assert resource.body.endswith("[[db]], [[c1]]")


@pytest.mark.spec("T4-6")
@EACH_TARGET
def test_the_answer_is_one_current_resource_with_its_conclusion_and_evidence(
    world: World, target: AnswerTarget
) -> None:
    before = world.capture().members.keys()
    kept = keep(world, answer(target))
    snapshot = world.capture()
    status_section = {"log/handoff.md#Status"} if target is AnswerTarget.HANDOFF else set()
    assert snapshot.members.keys() - before == {kept.resource_id} | status_section
    resource = next(one for one in snapshot.resources if one.resource_id == kept.resource_id)
    assert resource.source_ref == kept.page
    assert "One queue 一个队列" in resource.title
    assert "We keep one queue.\n\n**Why**\n\nTwo were slower:" in resource.body
    assert "```\n## no heading\n```\n\n**Because**\n\n- so it is" in resource.body
    assert resource.body.endswith("Date: 2026-11-02\n\nEvidence: [[db]], [[c1]]")


@pytest.mark.spec("T4-6")
@EACH_TARGET
def test_an_answer_broken_or_killed_at_any_step_and_repeated_is_kept_exactly_once(
    tmp_path: Path, target: AnswerTarget
) -> None:
    def fresh(name: str) -> World:
        (tmp_path / name).mkdir()
        world = World(tmp_path / name)
        fill(world)
        return world

    names: list[str] = []
    whole = fresh("whole")
    with on_step(names.append):
        keep(whole, answer(target))
    for number, name in enumerate(names):
        raised, killed = fresh(f"raised-{number}"), fresh(f"killed-{number}")
        with broken_at(number), suppress(Broken):
            keep(raised, answer(target))
        killed_at(number, lambda killed=killed: keep(killed, answer(target)))
        for broken in (raised, killed):
            kept = keep(broken, answer(target))
            assert World(broken.root).told() == whole.told(), name
            assert kept.page == answer(target).source_ref, name


@pytest.mark.field(96, 97)
@EACH_TARGET
def test_answers_to_several_requests_at_once_all_stand_in_the_memory(world: World, target: AnswerTarget) -> None:
    requests = [answer(target, request_id=f"r-{number}", evidence_refs=()) for number in range(6)]
    with ThreadPoolExecutor(len(requests)) as threads:
        kept = list(threads.map(lambda one: keep(World(world.root), one), requests))
    members = world.capture().members
    assert {one.resource_id for one in kept} <= members.keys()
    assert len({one.resource_id for one in kept}) == len(requests)


def test_the_handoff_ledger_only_grows_and_refers_to_the_whiteboard(world: World) -> None:
    keep(world, answer(AnswerTarget.HANDOFF))
    first = world.read("log/handoff.md")
    assert first.startswith("# Handoff ledger\n\n## Status\n\nThe state of the work stands on the whiteboard")
    assert "We use one queue." not in first
    keep(world, answer(AnswerTarget.HANDOFF, request_id="r-2", title="Later"))
    assert world.read("log/handoff.md").startswith(first)
    assert "## 2026-11-02 Later\n" in world.read("log/handoff.md")


@pytest.mark.parametrize("line_end", ["\n", CRLF])
def test_a_card_is_added_behind_the_last_zone_of_a_page_and_touches_no_other_byte(world: World, line_end: str) -> None:
    before = encoded(BOARD.replace("queue", "queue-7"), line_end=line_end, mark=True)
    world.write("whiteboard/board-2.md", before)
    kept = keep(world, answer(page="whiteboard/board-2.md"))
    after = (world.root / kept.page).read_bytes()
    assert after.startswith(before)
    assert after.count(b"\r") == (after.count(b"\n") if line_end == CRLF else 0)
    assert read_page(after).cards[-1].card_id == kept.resource_id


@pytest.mark.parametrize("conclusion", ["", " \n", "```\nopen", "~~~~\nopen\n~~~", "<!-- open"])
def test_a_conclusion_that_is_blank_or_leaves_something_open_is_refused(world: World, conclusion: str) -> None:
    refused(world, "invalid_argument", answer(conclusion=conclusion))


@pytest.mark.parametrize(
    "given",
    [
        {"title": "  "},
        {"title": "x" * 121},
        {"request_id": " "},
        {"page": "log/handoff.md"},
        {"page": "../outside.md"},
        {"target": AnswerTarget.MEMORY, "page": "decisions/database.md"},
    ],
)
def test_an_answer_that_cannot_stand_where_it_should_is_refused(world: World, given: dict[str, Any]) -> None:
    refused(world, "invalid_argument", answer(**given))


def test_every_reference_that_is_no_current_resource_is_named(world: World) -> None:
    world.state(1, {"db": {"status": "retracted"}})
    error = refused(world, "evidence_invalid", answer(evidence_refs=("c1", "nobody", "db")))
    assert error.detail == ["nobody", "db"]


@pytest.mark.parametrize("held", ["# Answers\n\n```\nopen\n", b"\xff\xfe", "---\na: [\n---\n"])
def test_a_page_that_ends_inside_a_fence_or_cannot_be_read_takes_no_answer(world: World, held: str | bytes) -> None:
    world.write("whiteboard/answers.md", held)
    refused(world, "invalid_argument", answer())


@pytest.mark.spec("T4-3")
def test_a_conclusion_cannot_write_a_user_zone(world: World) -> None:
    zone = "Yes.\n\n<!-- user:begin -->\nShe agreed.\n<!-- user:end -->\n"
    refused(world, "whiteboard_rejected", answer(conclusion=zone))


def test_an_append_that_meets_another_writer_is_made_again(world: World) -> None:
    edits = iter(["# Answers\n\nMore.\n", "# Answers\n\nMore. More.\n"])

    def capture_before_an_edit() -> MemorySnapshot:
        snapshot = world.capture()
        for text in islice(edits, 1):
            world.write("whiteboard/answers.md", text)
        return snapshot

    kept = archive_answer(WriteGate(world.root, "project", capture_before_an_edit), answer(), TODAY)
    assert "More. More." in world.read(kept.page)
    assert kept.resource_id in world.capture().members


def test_a_kept_card_is_dated_so_that_a_lint_can_call_it_stale(world: World) -> None:
    kept = keep(world, answer())
    found = [
        one.rule for one in lint(lint_input(world.capture()), date(2027, 1, 1)).findings if one.card == kept.resource_id
    ]
    assert "stale" in found
