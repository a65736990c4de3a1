"""Projects kept fresh: what changes on disk is answered soon after, whatever fails is said and mended by itself."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, codes, home_with, paths, set_states, write
from workbench.app import Home, Project
from workbench.app.live import LiveIndex, LiveStatus
from workbench.core.activation import ActivationResult
from workbench.core.errors import ModelError
from workbench.memory.writing.values import Write
from workbench.models.fake import FakeEmbedder

PATIENCE_S = 60.0


@contextmanager
def live(*projects: Project) -> Iterator[LiveIndex]:
    """The projects, kept fresh; all of them are indexed when the block begins."""
    index = LiveIndex(projects[0].home)
    for project in projects:
        index.add(project)
    index.start()
    try:
        until(lambda: all(project.index.head() for project in projects) and settled(index))
        yield index
    finally:
        index.stop()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def settled(index: LiveIndex) -> bool:
    return all(one.activity is None for one in index.status())


def status(index: LiveIndex) -> LiveStatus:
    (only,) = index.status()
    return only


def finds(project: Project, query: str, path: str) -> Callable[[], bool]:
    return lambda: path in paths(ask(project, query))


def lost(project: Project, query: str, path: str) -> Callable[[], bool]:
    return lambda: path not in paths(ask(project, query))


@pytest.fixture
def bare(home: Home, memory: Path) -> Project:
    """A project that was never indexed."""
    return home.project(memory)


@pytest.mark.field(46)
def test_what_was_there_before_is_indexed_and_edits_deletions_and_moves_follow(bare: Project) -> None:
    root = bare.root
    with live(bare) as index:
        assert paths(ask(bare, "green tea"))[0] == "user/tea.md"
        write(root, {"user/tea.md": "# Tea\n\nBlack tea at noon, with pelicans.\n"})
        until(finds(bare, "pelicans", "user/tea.md"))
        (root / "user/tea.md").unlink()
        until(lost(bare, "pelicans", "user/tea.md"))
        (root / "decisions").rename(root / "choices")
        until(finds(bare, "job queue", "choices/queue.md"))
        assert "decisions/queue.md" not in paths(ask(bare, "job queue"))
        until(lambda: settled(index))
        assert status(index).failure is None and status(index).watch == "watching"


@pytest.mark.field(50)
def test_a_move_in_the_middle_of_a_scan_leaves_no_ghost(project: Project) -> None:
    write(project.root, {f"many/{n}.md": f"# Page {n}\n\nwalrus {n}\n" for n in range(200)})
    with live(project):
        for n in range(200):
            (project.root / f"many/{n}.md").rename(project.root / f"many/moved-{n}.md")
        until(lambda: len(_resources(project, "many/moved-")) == 200)
        until(lambda: not _resources(project, "many/") - _resources(project, "many/moved-"))


def test_a_burst_of_five_hundred_files_arrives_whole(project: Project) -> None:
    with live(project):
        write(project.root, {f"burst/{n}.md": f"# Burst {n}\n\nostrich {n}\n" for n in range(500)})
        until(lambda: len(_resources(project, "burst/")) == 500)


@pytest.mark.field(51)
def test_names_that_differ_in_case_alone_are_both_followed(project: Project) -> None:
    with live(project):
        write(project.root, {"notes/finance.md": "# Small\n\nlemur\n", "notes/Finance.md": "# Great\n\nlemur\n"})
        until(lambda: {"notes/finance.md", "notes/Finance.md"} <= set(paths(ask(project, "lemur"))))


def test_a_file_that_an_editor_replaces_in_one_step_is_followed(project: Project) -> None:
    with live(project):
        write(project.root, {"user/.tea.md.tmp": "# Tea\n\nOolong and pelicans.\n"})
        (project.root / "user/.tea.md.tmp").replace(project.root / "user/tea.md")
        until(finds(project, "pelicans", "user/tea.md"))


@pytest.mark.field(49)
def test_a_page_written_again_and_again_ends_with_its_last_text(project: Project) -> None:
    with live(project) as index:
        for turn in range(40):
            write(project.root, {"user/tea.md": f"# Tea\n\nturn number {turn} pelican{turn}\n"})
            time.sleep(0.05)
        until(finds(project, "pelican39", "user/tea.md"))
        until(lambda: settled(index))
        assert "pelican39" in (ask(project, "pelican39").fragments[0].text or "")
        assert project.refresh().published is False


def test_a_status_that_another_program_sets_reaches_the_index(project: Project) -> None:
    with live(project) as index:
        before = status(index).miv
        set_states(project.root, 1, **{"user/tea.md": "retracted"})
        assert "user/tea.md" not in paths(ask(project, "green tea"))
        until(lambda: status(index).miv != before)
        assert not _resources(project, "user/")


def test_a_write_through_the_gate_is_found_soon_after(project: Project) -> None:
    page = Write("user/coffee.md", b"# Coffee\n\nOne cup, with a toucan.\n", None)
    with live(project) as index:
        commit = project.gate.commit_mutation("tx-1", [page])
        until(finds(project, "toucan", "user/coffee.md"))
        until(lambda: settled(index))
        assert status(index).miv == commit.miv


def test_several_projects_are_followed_by_one_builder(home: Home, memory: Path, tmp_path: Path) -> None:
    first = home.project(memory)
    second = home.project(write(tmp_path / "second", {"a.md": "# A\n\nalpaca\n"}))
    with live(first, second) as index:
        write(second.root, {"b.md": "# B\n\nbison\n"})
        write(first.root, {"c.md": "# C\n\ncamel\n"})
        until(finds(second, "bison", "b.md"))
        until(finds(first, "camel", "c.md"))
        assert [one.root for one in index.status()] == [str(first.root), str(second.root)]


@pytest.mark.field(47, 48)
def test_a_failure_is_said_in_status_and_answers_until_it_has_mended_itself(project: Project) -> None:
    with live(project) as index:
        healthy = status(index)
        page = project.root / ".memory/state.json"
        write(project.root, {".memory/state.json": "not a manifest"})
        until(lambda: status(index).failure)

        failed = status(index)
        assert failed.activity in ("failed", "pending", "building") and failed.failed_in_a_row >= 1
        assert failed.failure is not None and failed.failure.code == "state_damaged"
        assert failed.miv == healthy.miv

        page.unlink()
        until(lambda: status(index).failure is None and settled(index))
        assert codes(ask(project, "green tea")) == []
        assert status(index).failed_in_a_row == 0


@pytest.mark.field(47)
def test_an_answer_after_a_failed_refresh_carries_its_reason(project: Project) -> None:
    shutil.rmtree(project.root / "user")
    for page in PAGES:
        (project.root / page).unlink(missing_ok=True)
    with pytest.raises(Exception, match="suddenly empty"):
        project.refresh()

    answer = ask(project, "green tea")

    assert codes(answer) == ["index_refresh_failed"] and "project_unreadable" in answer.degradations[0].detail
    assert project.home.history.get(answer.run_id or "").summary.degradations == answer.degradations
    write(project.root, PAGES)
    project.refresh()
    assert codes(ask(project, "green tea")) == []


@pytest.mark.field(94, 95)
def test_another_builder_is_waited_out_and_every_answer_comes_meanwhile(project: Project) -> None:
    with live(project) as index:
        with project.index.build_lock(10.0):
            write(project.root, {"new.md": "# New\n\npelican\n"})
            until(lambda: status(index).failure)
            assert status(index).failure.code == "index_busy"  # type: ignore[union-attr]
            assert paths(ask(project, "green tea"))[0] == "user/tea.md"
        until(finds(project, "pelican", "new.md"))
        until(lambda: status(index).failure is None)


@pytest.mark.field(42)
def test_a_root_that_goes_and_comes_back_keeps_its_answers_and_is_followed_again(
    project: Project, tmp_path: Path
) -> None:
    with live(project) as index:
        project.root.rename(tmp_path / "unmounted")
        until(lambda: status(index).watch == "away")
        assert ask(project, "green tea").fragments
        (tmp_path / "unmounted").rename(project.root)
        until(lambda: status(index).watch == "watching" and settled(index))
        write(project.root, {"new.md": "# New\n\npelican\n"})
        until(finds(project, "pelican", "new.md"))


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize("freshness", ["ready_head", "latest"])
def test_hits_of_two_snapshots_never_mix_while_pages_are_rewritten(home: Home, memory: Path, freshness: str) -> None:
    """A generation is moved into the root as one folder: every snapshot holds pages of one at most."""
    home = Home.open(home.folder, engine="fake", freshness=freshness)
    project, seen, done = home.project(memory), [], threading.Event()
    _put_generation(project.root, 0)

    def look() -> None:
        while not done.is_set():
            seen.append(ask(project, "generation of pages"))

    def arrived(generation: int) -> bool:
        return bool(seen) and _generations(seen[-1]) == {generation}

    asking = threading.Thread(target=look)
    with live(project):
        asking.start()
        try:
            until(partial(arrived, 0))
            for generation in range(1, 5):
                _put_generation(project.root, generation)
                until(partial(arrived, generation))
        finally:
            done.set()
            asking.join()

    assert all(len(_generations(answer)) <= 1 for answer in seen)
    assert {generation for answer in seen for generation in _generations(answer)} == set(range(5))


@pytest.mark.spec("T2-4")
@pytest.mark.parametrize("freshness", ["ready_head", "latest"])
def test_what_is_no_longer_current_is_gone_from_the_next_answer(home: Home, memory: Path, freshness: str) -> None:
    project = Home.open(home.folder, engine="fake", freshness=freshness).project(memory)
    with live(project), project.index.build_lock(10.0):
        assert "user/tea.md" in paths(ask(project, "green tea"))
        set_states(project.root, 1, **{"user/tea.md": "retracted"})
        assert "user/tea.md" not in paths(ask(project, "green tea"))


@pytest.mark.spec("T6-4", "T2-3")
@pytest.mark.parametrize("freshness", ["ready_head", "latest"])
def test_until_the_new_engine_is_ready_the_old_head_answers_by_the_policy_and_no_vectors_meet(
    home: Home, memory: Path, freshness: str
) -> None:
    gate = threading.Event()
    old, new = FakeEmbedder(32, "old"), _Held(32, "new", gate)
    home = home_with(home.folder, old, freshness=freshness)
    home.engines.put("old", old)
    home.engines.put("new", new)
    project = home.project(memory)
    with live(project) as index:
        encoded = len(old.inputs)
        index.switch_engine("new")
        until(lambda: new.is_encoding)

        during = ask(project, "green tea")

        assert paths(during)[0] == "user/tea.md" and during.index.engine == "old"
        assert codes(during) == ([] if freshness == "ready_head" else ["dense_not_ready"])
        assert len(old.queries) == (1 if freshness == "ready_head" else 0) and new.queries == []
        gate.set()
        until(lambda: status(index).engine == "new")
        after = ask(project, "green tea")
        assert codes(after) == [] and after.index.engine == "new" and new.queries == ["green tea"]
        assert len(old.inputs) == encoded and len(new.inputs) == encoded


@pytest.mark.spec("T6-4")
def test_a_process_that_ends_in_the_middle_of_a_switch_is_followed_by_a_consistent_one(
    home: Home, memory: Path
) -> None:
    gate = threading.Event()
    old = FakeEmbedder(32, "old")
    before = home_with(home.folder, old)
    before.engines.put("new", _Held(48, "new", gate))
    project = before.project(memory)
    with live(project) as index:
        index.switch_engine("new")
        until(lambda: before.engines.get("new").is_encoding)  # type: ignore[union-attr]
        index.scheduler.stop()
        gate.set()

    for name, engine in (("old", old), ("new", FakeEmbedder(48, "new"))):
        after = Home.open(home.folder, engine=name)
        after.engines.put("old", FakeEmbedder(32, "old"))
        after.engines.put(name, engine)
        restarted = after.project(memory)
        assert ask(restarted, "green tea").index.engine == "old" and codes(ask(restarted, "green tea")) == []
        restarted.refresh()
        head = restarted.index.head()
        assert head is not None and head.engine_name == name
        assert codes(ask(restarted, "green tea")) == []


@pytest.mark.spec("T6-4")
@pytest.mark.field(79)
def test_a_new_engine_that_fails_leaves_the_old_head_and_asks_no_other_for_its_queries(
    home: Home, memory: Path
) -> None:
    old, broken = FakeEmbedder(32, "old"), FakeEmbedder(32, "broken", fail_after=1)
    home = home_with(home.folder, old)
    home.engines.put("old", old)
    home.engines.put("broken", broken)
    project = home.project(memory)
    with live(project) as index:
        index.switch_engine("broken")
        until(lambda: status(index).failure)
        answer = ask(project, "green tea")
        assert answer.index.engine == "old" and codes(answer) == ["index_refresh_failed"]
        assert broken.queries == []

        with pytest.raises(ModelError):
            project.switch_engine("e5-small")
        assert project.engine_name == "broken"


@pytest.mark.spec("T3-3")
def test_a_query_engine_that_fails_means_words_and_no_second_vector_space(home: Home, memory: Path) -> None:
    failing, other = FakeEmbedder(32, "one", fail_after=len(PAGES)), FakeEmbedder(32, "two")
    home = home_with(home.folder, failing)
    home.engines.put("two", other)
    project = home.project(memory)
    project.refresh()

    answer = ask(project, "green tea")

    assert codes(answer) == ["dense_unavailable"] and paths(answer)[0] == "user/tea.md"
    assert other.queries == []


@pytest.mark.slow
@pytest.mark.model
def test_a_model_installed_while_the_process_lives_is_noticed_by_the_next_refresh(
    home: Home, memory: Path, installed_model: Callable[[str], Path]
) -> None:
    model = installed_model("e5-small")
    project = Home.open(home.folder, engine="e5-small").project(memory)
    project.refresh()
    assert codes(ask(project, "green tea")) == ["dense_unavailable"]
    (home.folder / "models").mkdir(exist_ok=True)
    (home.folder / "models/e5-small").symlink_to(model)

    report = project.refresh()

    assert report.encoded == report.units and codes(ask(project, "green tea")) == []


class _Held(FakeEmbedder):
    """An engine that waits for a gate before it encodes, and stops at its deadline."""

    def __init__(self, dimension: int, name: str, gate: threading.Event) -> None:
        super().__init__(dimension, name)
        self._gate, self.is_encoding = gate, False

    def encode_passages(self, inputs, deadline=None):  # type: ignore[no-untyped-def]
        self.is_encoding = True
        self._gate.wait(PATIENCE_S)
        return super().encode_passages(inputs, deadline)


def _resources(project: Project, beginning: str) -> set[str]:
    with project.index.reader() as reader:
        return {one[0] for one in reader.corpus() if one[0].startswith(beginning)}


def _put_generation(root: Path, generation: int) -> None:
    """Move the folder `pages` away and a new one in: no snapshot can see half of it."""
    fresh = write(root.parent / f"fresh-{generation}", {f"{n}.md": _page(n, generation) for n in range(8)})
    if (root / "pages").exists():
        shutil.move(root / "pages", root.parent / f"old-{generation}")
    fresh.rename(root / "pages")


def _page(number: int, generation: int) -> str:
    return f"# Page {number}\n\ngeneration of pages: number{generation}\n"


def _generations(answer: ActivationResult) -> set[int]:
    texts = [fragment.text or "" for fragment in answer.fragments if fragment.path.startswith("pages/")]
    return {int(text.rpartition("number")[2].strip()) for text in texts}


def test_a_status_can_be_asked_for_while_memories_are_added(home: Home, tmp_path: Path) -> None:
    """A service takes them in from its clients at any moment."""
    index, added = LiveIndex(home), threading.Event()

    def ask() -> None:
        while not added.is_set():
            index.status()

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        for number in range(30):
            index.add(home.project(write(tmp_path / f"memory-{number}", PAGES)))
        added.set()
        asking.result()
    assert len(index.status()) == 30
