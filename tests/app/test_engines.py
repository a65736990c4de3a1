"""Engines come and go: no vector of one ever meets a query of another, and words answer meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.app.places import PAGES, ask, codes, home_with, paths, write
from workbench.app import Home, Project
from workbench.core.errors import InputError, ModelError, WorkbenchError
from workbench.models.fake import FakeEmbedder
from workbench.storage.index_records import Revision


def head(project: Project) -> Revision:
    found = project.index.head()
    assert found is not None
    return found


def vectors_of(project: Project) -> tuple[int, int]:
    """How many vectors of the head's engine there are, and their dimension."""
    with project.index.reader() as reader:
        _, vectors = reader.vectors(head(project).engine_identity or "")
    return vectors.shape


@pytest.mark.spec("T3-3")
def test_without_the_model_words_answer_and_the_command_that_installs_it_is_named(home: Home, memory: Path) -> None:
    project = Home.open(home.folder, engine="e5-small").project(memory)

    report = project.refresh()
    answer = ask(project, "green tea")

    assert "dense" not in report.arms and report.encoded == 0
    assert paths(answer)[0] == "user/tea.md"
    assert codes(answer)[0] == "dense_unavailable"
    assert "workbench models install e5-small" in answer.degradations[0].detail
    trace = project.home.history.get(answer.run_id or "").trace
    assert [(one.vector_rank, one.vector_score) for one in trace.candidates] == [(None, None)] * len(trace.candidates)


def test_no_engine_by_choice_is_said_in_every_answer(home: Home, memory: Path) -> None:
    project = Home.open(home.folder, engine="none").project(memory)
    project.refresh()

    answer = ask(project, "green tea")

    assert paths(answer)[0] == "user/tea.md" and "dense_unavailable" in codes(answer)


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.spec("T2-1", "T3-3")
def test_a_model_installed_later_gives_every_unit_its_vector_and_keeps_every_key(
    home: Home, memory: Path, installed_model: Callable[[str], Path]
) -> None:
    model = installed_model("e5-small")
    before = Home.open(home.folder, engine="e5-small").project(memory)
    words = before.refresh()
    keys = [fragment.unit_key for fragment in ask(before, "gave way storage queue").fragments]
    shutil.copytree(model, home.folder / "models" / "e5-small")

    after = Home.open(home.folder, engine="e5-small").project(memory)
    report = after.refresh()

    assert (report.encoded, report.units_added, report.units_removed) == (words.units, 0, 0)
    assert "dense" in head(after).arms and head(after).engine_name == "e5-small"
    answer = ask(after, "which hot drink does one have at dawn?")
    assert paths(answer)[0] == "user/tea.md" and codes(answer) == []
    assert set(keys) <= {fragment.unit_key for fragment in ask(after, "gave way storage queue").fragments}
    assert after.refresh().encoded == 0


@pytest.mark.spec("D2", "T2-3")
@pytest.mark.field(76, 77, 79)
def test_an_engine_of_another_dimension_replaces_the_old_one_only_when_it_is_complete(home: Home, memory: Path) -> None:
    pages = {**PAGES, **{f"more/{n}.md": f"# Page {n}\n\nSome green text {n}.\n" for n in range(40)}}
    old = home_with(home.folder, FakeEmbedder(32, "old")).project(write(memory, pages))
    old.refresh()
    failing = home_with(home.folder, FakeEmbedder(64, "new", fail_after=33)).project(memory)

    with pytest.raises(WorkbenchError) as failed:
        failing.refresh()

    assert failed.value.code == "index_build_failed"
    assert (head(old).engine_name, head(old).dimension, vectors_of(old)) == ("old", 32, (len(pages), 32))
    assert codes(ask(old, "green tea")) == [] and paths(ask(old, "green tea"))[0] == "user/tea.md"

    new_engine = FakeEmbedder(64, "new")
    new = home_with(home.folder, new_engine).project(memory)
    early = ask(new, "green tea")
    assert paths(early)[0] == "user/tea.md" and new_engine.queries == []
    assert codes(early) == ["dense_not_ready"] or codes(early) == ["dense_unavailable"]

    new.refresh()

    assert (head(new).engine_name, head(new).dimension, vectors_of(new)) == ("new", 64, (len(pages), 64))
    assert codes(ask(new, "green tea")) == [] and paths(ask(new, "green tea"))[0] == "user/tea.md"
    late = ask(old, "green tea")
    assert paths(late)[0] == "user/tea.md" and len(codes(late)) == 1 and codes(late)[0].startswith("dense_")


@pytest.mark.spec("T2-3")
@pytest.mark.field(78)
def test_an_engine_of_the_same_dimension_shares_no_vector(home: Home, memory: Path) -> None:
    home_with(home.folder, FakeEmbedder(32, "one")).project(memory).refresh()
    other = FakeEmbedder(32, "two")
    project = home_with(home.folder, other).project(memory)

    foreign = ask(project, "green tea")
    report = project.refresh()

    assert codes(foreign) and other.queries == []
    assert report.encoded == report.units == len(set(other.inputs))
    assert report.reused == 0


@pytest.mark.spec("T2-1")
def test_going_back_to_the_first_engine_reuses_what_it_encoded(home: Home, memory: Path) -> None:
    home_with(home.folder, FakeEmbedder(32, "one")).project(memory).refresh()
    home_with(home.folder, FakeEmbedder(48, "two")).project(memory).refresh()
    first = FakeEmbedder(32, "one")

    project = home_with(home.folder, first).project(memory)
    project.refresh()

    assert len(first.inputs) in (0, len(PAGES)), "all or nothing: the pool may have been collected"
    assert head(project).engine_name == "one" and vectors_of(project) == (len(PAGES), 32)
    assert codes(ask(project, "green tea")) == []


@pytest.mark.spec("D2")
def test_another_process_with_the_old_engine_answers_in_full_while_the_new_one_is_built(
    home: Home, memory: Path
) -> None:
    old = home_with(home.folder, FakeEmbedder(32, "old")).project(memory)
    old.refresh()
    new = home_with(home.folder, FakeEmbedder(64, "new")).project(memory)
    seen = []

    def look(phase: str, done: int, total: int) -> None:
        if phase == "encode_kept":
            seen.append(ask(old, "green tea"))

    new.refresh(progress=look)

    assert seen and all(codes(answer) == [] and "dense" in answer.index.arms for answer in seen)


@pytest.mark.spec("T3-3")
@pytest.mark.field(79)
def test_an_engine_that_dies_at_the_query_costs_its_arm_only(home: Home, memory: Path) -> None:
    project = home_with(home.folder, FakeEmbedder(fail_after=len(PAGES))).project(memory)
    project.refresh()

    answer = ask(project, "green tea")

    assert paths(answer)[0] == "user/tea.md"
    assert codes(answer) == ["dense_unavailable"] and answer.degradations[0].detail


@pytest.mark.field(80)
def test_every_stored_vector_has_length_one(project: Project) -> None:
    with project.index.reader() as reader:
        _, vectors = reader.vectors(head(project).engine_identity or "")

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_an_engine_that_is_no_model_is_named(home: Home, memory: Path) -> None:
    with pytest.raises((InputError, ModelError)) as unknown:
        Home.open(home.folder, engine="no-such-model").project(memory).refresh()

    assert unknown.value.code in {"model_unknown", "model_missing"} and "no-such-model" in unknown.value.message
    with pytest.raises((InputError, ModelError)) as no_embedder:
        Home.open(home.folder, engine="minilm-l12-ce").project(memory).refresh()
    assert no_embedder.value.code == "model_unknown"


def test_switching_the_cache_off_encodes_anew_and_changes_no_answer(project: Project) -> None:
    uncached = Home.open(project.home.folder, engine="fake", embedding_cache=False).project(project.root)
    before = ask(project, "gave way storage queue")
    write(project.root, {"user/coffee.md": "# Coffee\n\nOne cup.\n"})

    report = uncached.refresh()

    assert (report.encoded, report.reused) == (len(PAGES) + 1, 0)
    after = ask(uncached, "gave way storage queue")
    assert set(paths(before)) <= set(paths(after))
    assert paths(after)[0] == paths(before)[0]


@pytest.mark.spec("D4")
def test_the_contract_arm_is_built_when_asked_for_and_words_serve_until_then(project: Project) -> None:
    contract = Home.open(project.home.folder, engine="fake", lexical="contract").project(project.root)

    early = ask(contract, "seventy degrees")
    report = contract.refresh()
    late = ask(contract, "venty degr")

    assert codes(early) == ["lexical_not_ready"] and paths(early)[0] == "user/tea.md"
    assert "trigram" in report.arms and report.encoded == 0
    assert codes(late) == [] and paths(late)[0] == "user/tea.md"
