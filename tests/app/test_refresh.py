"""A refresh brings the index up to the memory; whatever hinders it, the old head answers and the next one succeeds."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, codes, finished, home_with, paths, set_states, workbench, write
from workbench.app import MOST_RESTARTS, Home, Project
from workbench.core.activation import ActivationResult, Freshness
from workbench.core.errors import NotReady, StorageError, WorkbenchError
from workbench.core.resource import Scope
from workbench.memory.snapshot import SourceMoved
from workbench.models.fake import FakeEmbedder

NEW_PAGE = {"decisions/search.md": "# Search\n\nPostgres full text gave way to a trigram index.\n"}


@pytest.mark.spec("D2")
@pytest.mark.field(91, 95)
def test_several_processes_refresh_one_project_and_one_of_them_does_the_work(home: Home, memory: Path) -> None:
    calls = [workbench(home.folder, "index", memory, "--json") for _ in range(4)]
    ended = [finished(call) for call in calls]

    assert [status for status, _, _ in ended] == [0] * 4, ended
    reports = [json.loads(out) for _, out, _ in ended]
    assert sorted(report["published"] for report in reports) == [False, False, False, True]
    assert sum(report["encoded"] for report in reports) == reports[0]["units"] == len(PAGES)
    assert len({report["revision"] for report in reports}) == 1


@pytest.mark.slow
@pytest.mark.spec("D2")
@pytest.mark.field(94, 95)
def test_while_another_process_builds_a_refresh_is_busy_and_the_old_head_answers(project: Project) -> None:
    write(project.root, NEW_PAGE)
    other = Home.open(project.home.folder, engine="fake").project(project.root)

    with project.index.build_lock(0):
        with pytest.raises(NotReady) as busy:
            other.refresh()
        answer = ask(other, "trigram index")

    assert busy.value.code == "index_busy"
    assert "decisions/search.md" not in paths(answer) and answer.fragments
    assert answer.index.stale
    assert other.refresh().units_added == 1
    assert paths(ask(other, "trigram index"))[0] == "decisions/search.md"


@pytest.mark.field(49)
def test_a_file_that_changes_while_it_is_read_is_read_again(home: Home, memory: Path) -> None:
    home = Home.open(home.folder, engine="fake", embedding_cache=False)
    project = home.project(memory)
    project.refresh()
    write(memory, NEW_PAGE)
    edits = iter(["# Tea\n\nBlack tea at noon.\n"])

    def edit_once(phase: str, done: int, total: int) -> None:
        if phase == "encode" and (text := next(edits, None)):
            write(memory, {"user/tea.md": text})

    report = project.refresh(progress=edit_once)

    assert report.published
    assert "Black tea" in (ask(project, "black tea at noon").fragments[0].text or "")
    assert project.refresh().published is False


@pytest.mark.spec("D2")
@pytest.mark.field(49)
def test_a_memory_that_never_stands_still_ends_the_refresh_and_not_the_answers(home: Home, memory: Path) -> None:
    pages = {f"z/{number}.md": f"# Page {number}\n\nfirst text\n" for number in range(MOST_RESTARTS + 1)}
    project = Home.open(home.folder, engine="fake", embedding_cache=False).project(write(memory, pages))
    first = project.refresh()
    write(memory, NEW_PAGE)
    still = iter(pages)

    def edit_the_next(phase: str, done: int, total: int) -> None:
        if phase == "read" and done == total:
            write(memory, {next(still): "# Page\n\nsecond text\n"})

    with pytest.raises(SourceMoved) as moved:
        project.refresh(progress=edit_the_next)

    assert moved.value.code == "index_build_failed" and moved.value.source_ref == list(pages)[-1]
    assert list(still) == []
    answer = ask(project, "first text")
    assert answer.index.revision == first.revision and set(paths(answer)) >= set(pages)
    assert answer.index.stale
    assert project.refresh().sources_changed == len(pages)
    assert "first text" not in str(ask(project, "second text").fragments)


@pytest.mark.spec("D2")
@pytest.mark.field(47)
def test_an_answer_says_that_the_last_refresh_failed_and_is_healthy_after_the_next(home: Home, memory: Path) -> None:
    project = home_with(home.folder, FakeEmbedder(fail_after=len(PAGES) + 2)).project(memory)
    project.refresh()
    assert not ask(project, "tea").index.stale
    write(memory, {f"new/{number}.md": f"# New {number}\n\nText {number}.\n" for number in range(9)})

    with pytest.raises(WorkbenchError, match="the last index keeps answering"):
        project.refresh()

    answer = ask(project, "green tea")
    assert answer.index.stale and "dense_unavailable" in codes(answer)
    assert "user/tea.md" in paths(answer)
    healthy = Home.open(home.folder, engine="fake").project(memory)
    healthy.refresh()
    answer = ask(healthy, "green tea")
    assert not answer.index.stale and codes(answer) == []


@pytest.mark.field(47)
def test_without_any_head_the_error_says_why_there_is_none(home: Home, memory: Path) -> None:
    project = home_with(home.folder, FakeEmbedder(fail_after=1)).project(memory)
    with pytest.raises(NotReady) as never:
        ask(project, "tea")
    with pytest.raises(WorkbenchError, match="told to fail"):
        project.refresh()
    with pytest.raises(WorkbenchError) as failed:
        ask(project, "tea")

    assert never.value.code == "index_preparing" and "workbench index" in never.value.message
    assert failed.value.code == "index_build_failed" and "fake" in failed.value.message


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize("policy", ["setting", "request"])
def test_by_latest_the_new_words_answer_until_their_vectors_are_there(project: Project, policy: str) -> None:
    write(project.root, NEW_PAGE)
    home = Home.open(project.home.folder, engine="fake", freshness="latest" if policy == "setting" else None)
    builder, seen = home.project(project.root), []

    def look(phase: str, done: int, total: int) -> None:
        if phase == "encode_kept":
            seen.append(ask(project, "trigram index"))

    report = builder.refresh(freshness=Freshness.LATEST if policy == "request" else None, progress=look)

    assert seen and all("decisions/search.md" in paths(answer) for answer in seen)
    assert all("dense" not in answer.index.arms and codes(answer) == ["dense_not_ready"] for answer in seen)
    complete = ask(project, "trigram index")
    assert complete.index.revision == report.revision and complete.index.miv == seen[0].index.miv
    assert "dense" in complete.index.arms and codes(complete) == []


@pytest.mark.spec("D1", "D2")
def test_by_ready_head_the_last_complete_revision_answers_until_the_next(project: Project) -> None:
    write(project.root, NEW_PAGE)
    beside, seen = Home.open(project.home.folder, engine="fake").project(project.root), []

    def look(phase: str, done: int, total: int) -> None:
        if phase in ("encode", "publish"):
            seen.append(ask(beside, "trigram index"))

    report = project.refresh(freshness=Freshness.READY_HEAD, progress=look)

    assert seen and all("decisions/search.md" not in paths(answer) for answer in seen)
    assert all("dense" in answer.index.arms and codes(answer) == [] for answer in seen)
    assert ask(beside, "trigram index").index.revision == report.revision


@pytest.mark.field(40)
def test_a_root_that_is_suddenly_empty_leaves_the_index_answering(project: Project) -> None:
    for page in PAGES:
        (project.root / page).unlink()

    with pytest.raises(StorageError) as refused:
        project.refresh()

    assert refused.value.code == "project_unreadable"
    assert paths(ask(project, "green tea"))[0] == "user/tea.md"


@pytest.mark.spec("T1-6")
def test_one_unreadable_source_of_five_layers_leaves_four_searchable(home: Home, tmp_path: Path) -> None:
    layers = ("user", "log", "reflection", "whiteboard", "docs")
    pages = {f"{layer}/page.md": f"## Entry\n\n<!-- card:c -->\n### Card\n\nkiwi {layer}\n" for layer in layers}
    project = home.project(write(tmp_path / "memory", pages))
    project.refresh()
    (project.root / "log/page.md").write_bytes(b"kiwi \xff\xfe\x00")

    report = project.refresh()

    assert [(note.code, note.detail.split(":")[0]) for note in report.degradations] == [
        ("source_unreadable", "log/page.md")
    ]
    assert {path.split("/")[0] for path in paths(ask(project, "kiwi"))} == set(layers) - {"log"}


@pytest.mark.spec("T2-4")
@pytest.mark.field(128)
def test_a_superseded_page_is_gone_at_once_without_a_build_and_its_neighbours_stay(project: Project) -> None:
    before = ask(project, "gave way storage queue")
    assert {"decisions/queue.md", "decisions/storage.md"} <= set(paths(before))

    set_states(project.root, 1, **{"decisions/queue.md": "superseded"})
    after = ask(project, "gave way storage queue", state=before.state)

    assert after.index.revision == before.index.revision
    assert set(paths(after)) == set(paths(before)) - {"decisions/queue.md"}
    assert [(one.unit_key, one.reason) for one in after.remove] == [
        (one.unit_key, "not_current") for one in before.fragments if one.path == "decisions/queue.md"
    ]
    trace = project.home.history.get(after.run_id or "").trace
    lost = [one for one in trace.candidates if one.path == "decisions/queue.md"]
    assert [str(one.exclusion_reason) for one in lost] == ["not_current"]


@pytest.mark.spec("T2-1", "T2-4", "T1-5")
def test_a_status_alone_makes_a_new_revision_that_encodes_nothing_and_comes_back_for_nothing(
    project: Project,
) -> None:
    embedder = project.home.embedder
    assert isinstance(embedder, FakeEmbedder)
    encoded, first = list(embedder.inputs), project.index.head()
    assert first is not None

    set_states(project.root, 1, **{"decisions/queue.md": "retracted"})
    without = project.refresh()
    set_states(project.root, 2, **{"decisions/queue.md": "current"})
    again = project.refresh()

    assert embedder.inputs == encoded
    assert (without.units_removed, again.units_added) == (1, 1)
    assert len({first.miv, without.miv, again.miv}) >= 2 and first.miv != without.miv
    assert "decisions/queue.md" in paths(ask(project, "RabbitMQ"))


def test_a_damaged_manifest_never_reads_as_all_current(project: Project) -> None:
    write(project.root, {".memory/state.json": "{"})

    for attempt in (project.refresh, lambda: ask(project, "tea")):
        with pytest.raises(StorageError) as refused:
            attempt()
        assert refused.value.code == "state_damaged"


@pytest.mark.field(48, 61)
def test_every_count_is_of_what_is_there_now(project: Project) -> None:
    write(project.root, {"extra/long.md": "".join(f"# Part {n}\n\n{'word ' * 200}{n}\n\n" for n in range(9))})
    grown = project.refresh()
    (project.root / "extra/long.md").unlink()
    (project.root / "user/tea.md").unlink()
    shrunk = project.refresh()

    with project.index.reader() as reader:
        revision = reader.revision
        assert revision is not None
        rowids, vectors = reader.vectors(revision.engine_identity or "")
        alive = int((reader.scope_codes() > 0).sum())
        resources = len(list(reader.resources()))
    assert grown.units - shrunk.units == shrunk.units_removed > 5
    assert (shrunk.resources, shrunk.units) == (revision.resource_count, revision.unit_count) == (resources, alive)
    assert len(rowids) == len(vectors) == alive
    assert revision.engine_identity == project.home.embedder.identity.digest


def test_threads_refresh_and_ask_at_once_and_every_answer_is_of_one_revision(project: Project) -> None:
    def work(_: int) -> list[ActivationResult]:
        return [ask(project, "page zero", scopes=(Scope.PROJECT,)) for _ in range(10)]

    with ThreadPoolExecutor(3) as pool:
        asked = pool.map(work, range(3))
        for number in range(6):
            write(project.root, {"zero.md": f"# Page zero\n\nRevision number{number}.\n"})
            project.refresh()
        answers = [answer for found in asked for answer in found]

    by_revision: dict[int, set[str | None]] = {}
    for answer in answers:
        for fragment in answer.fragments:
            if fragment.path == "zero.md":
                by_revision.setdefault(answer.index.revision, set()).add(fragment.text)
    assert all(len(found) == 1 for found in by_revision.values()), by_revision


def test_a_lost_state_manifest_is_never_all_current(project: Project) -> None:
    set_states(project.root, 1, **{"user/tea.md": "retracted"})
    project.refresh()
    (project.root / ".memory/state.json").unlink()

    for use in (project.refresh, lambda: ask(project, "green tea")):
        with pytest.raises(StorageError) as lost:
            use()
        assert lost.value.code == "state_damaged"

    set_states(project.root, 1, **{"user/tea.md": "retracted"})
    assert "user/tea.md" not in paths(ask(project, "green tea"))
    assert not project.refresh().published


def test_the_phases_of_a_report_are_those_of_the_whole_refresh(home: Home, memory: Path) -> None:
    assert list(home.project(memory).refresh().seconds) == [
        *("capture", "compare", "encode", "publish", "tidy", "archive"),
    ]


@pytest.mark.field(75)
@pytest.mark.parametrize("config", ['log = ["decisions/**/*.md"]', 'user = ["**/*.md"]', 'project = ["user/**/*.md"]'])
def test_another_layout_of_the_same_files_gives_the_index_that_a_fresh_home_gives(
    home: Home, memory: Path, tmp_path: Path, config: str
) -> None:
    write(memory, {"decisions/days.md": "intro\n\n## One\n\nfirst day\n\n## Two\n\nsecond day\n"})
    project = home.project(memory)
    project.refresh()
    before = _units(project)
    write(memory, {"memory.toml": f"[layers]\n{config}\n"})

    changed = project.refresh()

    fresh = Home.open(tmp_path / "fresh", engine="fake").project(memory)
    fresh.refresh()
    assert _units(project) == _units(fresh) != before
    assert len(_units(project)) == changed.units


def _units(project: Project) -> set[tuple[str, str, str, str]]:
    with project.index.reader() as reader:
        rowids = [rowid for rowid, code in enumerate(reader.scope_codes()) if code]
        units = reader.units(rowids).values()
        return {(unit.unit_key, unit.layer, unit.scope, unit.content_hash) for unit in units}


@pytest.mark.field(47)
def test_an_answer_during_a_build_is_stale_and_names_what_is_being_built(project: Project) -> None:
    write(project.root, NEW_PAGE)
    during: list[ActivationResult] = []

    report = project.refresh(progress=lambda phase, done, total: during.append(ask(project, "trigram index")))
    after = ask(project, "trigram index")

    building = [answer.index for answer in during if answer.index.building_miv is not None]
    assert building and {(state.building_miv, state.stale) for state in building} == {(report.miv, True)}
    assert (after.index.miv, after.index.building_miv, after.index.stale) == (report.miv, None, False)
