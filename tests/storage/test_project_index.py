from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.index.builds import PROJECT, build, contents, write
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import NotReady, StorageError
from workbench.core.resource import Scope
from workbench.models.fake import FakeEmbedder
from workbench.storage.faults import on_step
from workbench.storage.project_index import ProjectIndex


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    write(
        folder,
        {
            "user/tea.md": "---\nid: person.tea\ntitle: Green Tea\n---\nThe person drinks tea.\n",
            "notes/teapot.md": "# Teapot\n\nA pot for TEA, of clay. See `apply_secrets`.\n",
            "notes/Straße.md": "# Straße\n\nEine Straße.\n",
        },
    )
    return folder


@pytest.fixture
def index(tmp_path: Path, root: Path) -> ProjectIndex:
    made = ProjectIndex(tmp_path / "home", PROJECT)
    build(root, made, FakeEmbedder(), trigram=True)
    return made


def keys(index: ProjectIndex, query: str, scopes: list[Scope] | None = None) -> list[tuple[str, int]]:
    with index.reader() as reader:
        hits = reader.identity(query, 60, scopes)
        units = reader.units([hit.unit_rowid for hit in hits])
        return [(units[hit.unit_rowid].resource_id, hit.grade) for hit in hits]


@pytest.mark.spec("D4")
def test_identity_goes_from_id_over_path_and_title_to_prefix(index: ProjectIndex) -> None:
    assert keys(index, "person.tea") == [("person.tea", 0)]
    assert keys(index, "PERSON.tea") == [("person.tea", 2)]
    assert keys(index, "user/TEA.md") == [("person.tea", 1)]
    assert keys(index, "green tea") == [("person.tea", 1)]
    assert keys(index, "STRASSE") == [("notes/Straße.md", 1)]
    assert keys(index, "tea") == [("notes/teapot.md", 2)]
    assert keys(index, "notes/") == [("notes/Straße.md", 2), ("notes/teapot.md", 2)]
    assert keys(index, "") == keys(index, "%") == keys(index, "_") == []


@pytest.mark.field(64)
def test_scope_limits_the_identity_arm_before_its_width(index: ProjectIndex) -> None:
    assert keys(index, "notes/", [Scope.USER]) == []
    assert keys(index, "person.tea", [Scope.USER]) == [("person.tea", 0)]
    assert keys(index, "person.tea", []) == []


def test_weighted_occurrences_and_lengths(index: ProjectIndex) -> None:
    with index.reader() as reader:
        rowid = reader.identity("person.tea", 1, None)[0].unit_rowid
        postings = reader.postings(["tea", "nothing"])
        assert postings.keys() == {"tea"}
        by_unit = dict(zip(postings["tea"].rowids.tolist(), postings["tea"].tfs.tolist(), strict=True))
        assert by_unit[rowid] == 8 + 6 + 1
        assert reader.frequencies(["tea", "nothing"]) == {"tea": len(by_unit)}
        assert reader.statistics().total_length == int(reader.lengths().sum())
        assert len(reader.lengths()) == len(reader.scope_codes())


def test_parts_and_prefixes_of_words_find_them(index: ProjectIndex) -> None:
    with index.reader() as reader:
        assert "apply_secrets" in reader.terms_containing("y_sec", 10)
        assert reader.terms_containing("y%sec", 10) == reader.terms_containing("ea", 10) == []
        assert "teapot" in reader.terms_with_prefix("teap", 10)
        assert reader.terms_with_prefix("", 10) == []


@pytest.mark.field(88)
def test_trigram_scores_are_positive_and_best_first(index: ProjectIndex) -> None:
    with index.reader() as reader:
        found = reader.trigram_search('"tea"', 10, None)
        scores = [score for _, score in found]
        assert len(found) == reader.trigram_frequency('"tea"', 10) == 2
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0
        assert len(reader.trigram_search('"tea"', 10, [Scope.USER])) == 1


@pytest.mark.field(66)
def test_more_values_than_sqlite_binds_are_asked_for_in_batches(index: ProjectIndex) -> None:
    with index.reader() as reader:
        head = reader.revision
        assert head is not None
        assert len(reader.units(range(300_000))) == head.unit_count
        assert reader.frequencies([f"no{number}" for number in range(40_000)]) == {}


def test_a_passed_deadline_stops_every_question(index: ProjectIndex) -> None:
    deadline = Deadline.after_ms(60_000)
    with index.reader(deadline) as reader:
        deadline.cancel()
        with pytest.raises(DeadlinePassed):
            reader.postings(["tea"])
    with index.reader() as reader:
        assert reader.postings(["tea"]).keys() == {"tea"}


@pytest.mark.spec("D16")
@pytest.mark.field(98)
def test_a_damaged_file_is_moved_aside_and_built_again(tmp_path: Path, root: Path, index: ProjectIndex) -> None:
    before = contents(index)
    index.close()
    index.path.write_bytes(b"nonsense " * 1000)
    again = ProjectIndex(tmp_path / "home", PROJECT)
    assert again.head() is None
    build(root, again, FakeEmbedder(), trigram=True)
    assert contents(again) == before
    assert index.path.with_name("index.db.damaged").read_bytes().startswith(b"nonsense")


@pytest.mark.spec("D16")
def test_damage_met_while_reading_is_moved_aside_and_says_so(root: Path, index: ProjectIndex) -> None:
    index.close()
    size = index.path.stat().st_size
    with index.path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    with pytest.raises(NotReady) as caught:
        contents(index)
    assert caught.value.code == "index_preparing"
    build(root, index, FakeEmbedder())
    assert keys(index, "person.tea") == [("person.tea", 0)]


@pytest.mark.spec("D16")
def test_a_newer_index_is_refused(tmp_path: Path, index: ProjectIndex) -> None:
    with index.reader() as reader:
        assert reader.revision is not None
    index.close()
    script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version = 8')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(index.path)], check=True)
    with pytest.raises(StorageError) as caught:
        ProjectIndex(tmp_path / "home", PROJECT)
    assert caught.value.code == "schema_too_new"


def test_a_removed_index_is_made_anew(root: Path, index: ProjectIndex) -> None:
    for file in index.folder.glob("index.db*"):
        file.unlink()
    assert index.head() is None
    build(root, index)
    assert keys(index, "person.tea") == [("person.tea", 0)]


@pytest.mark.field(12)
@pytest.mark.parametrize("project_id", ["my-group", "a b", "小云", "3f0c6e58-2f9e-4d6c"])
def test_project_ids_are_data(tmp_path: Path, project_id: str) -> None:
    assert ProjectIndex(tmp_path / "other", project_id).head() is None


@pytest.mark.field(94)
@pytest.mark.field(95)
def test_readers_are_served_while_a_build_runs_and_never_hold_it_up(root: Path, index: ProjectIndex) -> None:
    old = contents(index)
    seen: list[bool] = []

    def read(name: str) -> None:
        if name.startswith("index.publish"):
            seen.append(contents(index) == old)

    with index.reader() as held:
        write(root, {"notes/new.md": "# New\n\nArrived.\n"})
        with on_step(read):
            build(root, index, FakeEmbedder(), trigram=True)
        assert held.postings(["arriv"]) == {}
    assert seen
    assert all(seen)
    assert contents(index) != old


def test_two_threads_read_at_once(index: ProjectIndex) -> None:
    answers: list[list[tuple[str, int]]] = []
    threads = [threading.Thread(target=lambda: answers.append(keys(index, "green tea"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[("person.tea", 1)]] * 8


@pytest.mark.field(91)
def test_a_builder_in_another_process_makes_this_one_busy(index: ProjectIndex) -> None:
    script = (
        "import sys, pathlib; from workbench.storage.project_index import ProjectIndex\n"
        "with ProjectIndex(pathlib.Path(sys.argv[1]), 'p').build_lock(0):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(index.folder.parents[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(NotReady) as caught, index.build_lock(0):
            pass
        assert caught.value.code == "index_busy"
        process.communicate()
    with index.build_lock(0):
        pass


def test_what_is_stored_is_for_its_owner_only(index: ProjectIndex) -> None:
    assert {file.stat().st_mode & 0o077 for file in (index.folder, *index.folder.iterdir())} == {0}
