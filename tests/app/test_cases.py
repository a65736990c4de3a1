"""A case outlives what it came from: edits, a lost index, a removed memory, and every later run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, write
from workbench.app import Home, Project
from workbench.core.case import Case, CaseState, EvidenceRef

BODIES = {path: text.strip() for path, text in PAGES.items()}


@pytest.fixture
def case(home: Home, project: Project) -> Case:
    """The draft of a run that asked for the queue."""
    return home.cases.create(ask(project, "what replaced RabbitMQ for the job queue?").run_id or "")


def test_a_case_freezes_what_the_run_searched(home: Home, case: Case) -> None:
    frozen = home.cases.frozen(case)
    assert [entry.path for entry in frozen.entries] == sorted(PAGES)
    assert {entry.path: frozen.read(entry.resource_id).body for entry in frozen.entries} == BODIES


@pytest.mark.spec("D10")
@pytest.mark.parametrize("lost", ["index", "memory", "both"])
def test_a_case_is_resolved_and_read_when_index_or_memory_are_gone(
    home: Home, project: Project, case: Case, lost: str
) -> None:
    if lost != "memory":
        shutil.rmtree(project.index.path.parent)
    if lost != "index":
        shutil.rmtree(project.root)
    reopened = Home.open(home.folder, engine="fake")

    candidate = reopened.history.get(case.run_id).trace.candidates[0]
    chosen = EvidenceRef(resource_id=candidate.resource_id, unit_key=candidate.unit_key)
    ready = reopened.cases.resolve(case.case_id, 1, [chosen, EvidenceRef(resource_id="user/tea.md")], False)

    assert ready.state is CaseState.READY
    assert ready.evidence[0].excerpt == candidate.excerpt
    assert ready.evidence[1].excerpt.startswith("# Tea Green tea")
    assert reopened.cases.frozen(ready).read("decisions/queue.md").body == BODIES["decisions/queue.md"]


@pytest.mark.spec("D10")
@pytest.mark.spec("D11")
def test_edits_and_clearing_leave_the_frozen_words(home: Home, project: Project, memory: Path, case: Case) -> None:
    for number in range(4):
        write(memory, {"decisions/queue.md": f"# Queue choice\n\nChoice number {number}.\n"})
        project.refresh()
        ask(project, "queue")
    assert home.history.clear(project.project_id) == 4

    assert home.cases.frozen(case).read("decisions/queue.md").body == BODIES["decisions/queue.md"]
    assert [run.run_id for run in home.history.list(project.project_id, 10)] == [case.run_id]


def test_a_case_can_be_made_of_a_run_whose_memory_was_edited_since(home: Home, project: Project, memory: Path) -> None:
    run_id = ask(project, "queue").run_id or ""
    write(memory, {"decisions/queue.md": "# Queue choice\n\nKafka.\n"})
    project.refresh()
    assert "RabbitMQ" in home.cases.frozen(home.cases.create(run_id)).read("decisions/queue.md").body


def test_evidence_of_every_layer_is_confirmed_by_the_keys_of_the_run(
    home: Home, project: Project, memory: Path
) -> None:
    write(
        memory, {"log/2026-11.md": "# November\n\n## 2026-11-03\n\nRotated the signing key.\n\n## 2026-11-05\n\nTea.\n"}
    )
    project.refresh()
    run_id = ask(project, "signing key rotated").run_id or ""
    draft = home.cases.create(run_id)
    refs = home.cases.named(draft, (), range(1, len(home.history.get(run_id).trace.candidates) + 1))
    confirmed = home.cases.confirm(draft.case_id, refs)
    assert [(one.resource_id, one.unit_key) for one in confirmed.evidence] == [
        (one.resource_id, one.unit_key) for one in refs
    ]
    assert any("signing key" in one.excerpt for one in confirmed.evidence)
