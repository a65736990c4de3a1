"""Which corpus a run searched: exact for every run, recorded in proportion to what changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.recorded import PROJECT, Note, history, record_corpus, record_run
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore


def rows(home: Path) -> int:
    connection = sqlite3.connect(home / "local.db")
    count = connection.execute("SELECT count(*) FROM retrieval_run_resources").fetchone()[0]
    connection.close()
    return int(count)


def test_an_edit_costs_one_row_and_reads_one_body(runs: RunHistory, tmp_path: Path) -> None:
    notes = {f"r{number:03}": Note(f"t{number}", "text") for number in range(200)}
    record_corpus(runs, "miv-1", notes)
    before = rows(tmp_path)
    notes["r007"] = Note("t7", "edited")
    read: list[str] = []

    entries = [note.entry(one) for one, note in notes.items()]
    runs.record_corpus(PROJECT, "miv-2", entries, lambda one: read.append(one) or notes[one])

    assert rows(tmp_path) == before + 1
    assert read == ["r007"]


def test_the_same_miv_again_is_neither_iterated_nor_read(runs: RunHistory) -> None:
    first = record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    untouched = iter(())
    assert runs.record_corpus(PROJECT, "miv-1", untouched, lambda _: pytest.fail("read")) == first


@given(steps=st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 2), max_size=5), min_size=1, max_size=6))
@settings(max_examples=40)
def test_every_run_finds_the_corpus_it_searched(
    steps: list[dict[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = history(tmp_path_factory.mktemp("home"))
    searched = {}
    for step in steps:
        notes = {one: Note(one, f"version {version}") for one, version in step.items()}
        miv = json.dumps(step, sort_keys=True)
        record_corpus(runs, miv, notes)
        searched[record_run(runs, miv=miv)] = tuple(notes[one].entry(one) for one in sorted(notes))
    for run_id, entries in searched.items():
        record = runs.get(run_id)
        assert runs.corpus(record) == entries
        assert record.corpus_size == len(entries)
    runs.close()


def test_a_moved_resource_is_another_entry_with_the_same_body(runs: RunHistory) -> None:
    note = Note("a", "text")
    record_corpus(runs, "miv-1", {"a": note})
    first = record_run(runs, miv="miv-1")
    moved = note.entry("a")._replace(path="elsewhere.md")
    runs.record_corpus(PROJECT, "miv-2", [moved], lambda _: pytest.fail("the body is there already"))
    second = record_run(runs, miv="miv-2")
    assert runs.corpus(runs.get(first)) == (note.entry("a"),)
    assert runs.corpus(runs.get(second)) == (moved,)


def test_a_run_that_ends_before_its_corpus_is_recorded_gets_it_then(runs: RunHistory) -> None:
    run_id = record_run(runs, miv="miv-1")
    assert runs.get(run_id).manifest is None
    assert runs.corpus(runs.get(run_id)) == ()
    record_corpus(runs, "miv-1", {"a": Note("a", "text")})
    assert len(runs.corpus(runs.get(run_id))) == 1


def test_archived_bodies_hold_the_whole_resource(runs: RunHistory, tmp_path: Path) -> None:
    note = Note("标题", "正文 " * 5_000, "one line")
    record_corpus(runs, "miv-1", {"a": note})
    stored = BlobStore(tmp_path / "evaluation-corpora").read(note.content_hash)
    assert json.loads(stored) == [note.title, note.description, note.body]


def test_a_body_that_could_not_be_read_is_archived_the_next_time(runs: RunHistory, tmp_path: Path) -> None:
    note = Note("a", "text")
    blobs = BlobStore(tmp_path / "evaluation-corpora")
    runs.record_corpus(PROJECT, "miv-1", [note.entry("a")], lambda _: Note("a", "another text by now"))
    assert list(blobs.folder.glob("*/*")) == []
    record_corpus(runs, "miv-1", {"a": note})
    assert blobs.read(note.content_hash)
