"""The central store as a file: one schema however old it was, and never overwritten."""

from __future__ import annotations

import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.core.errors import StorageError
from workbench.storage.central_store import CENTRAL_SCHEMA, CentralStore
from workbench.storage.connection import open_writer
from workbench.storage.faults import on_step

VERSIONS = (40, 41, 42)


def shape(path: Path) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(path)
    try:
        return sorted(connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"))
    finally:
        connection.close()


def touch(store: CentralStore) -> None:
    with store.writing("test"):
        pass


def refusal(path: Path) -> str:
    with pytest.raises(StorageError) as refused:
        touch(CentralStore(path))
    return refused.value.code


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.spec("D16")
@pytest.mark.parametrize("earlier", VERSIONS)
def test_a_store_of_every_earlier_schema_becomes_equal_to_a_fresh_one(tmp_path: Path, earlier: int) -> None:
    fresh, old = tmp_path / "fresh.db", tmp_path / "old.db"
    touch(CentralStore(fresh))
    connection = open_writer(old, replace(CENTRAL_SCHEMA, version=earlier))
    connection.execute(
        "INSERT INTO retrieval_runs (run_id, project_id, request_key, query, request, owner, started_at)"
        " VALUES ('r', 'p', 'k', 'q', '{}', 'o', 'now')"
    )
    connection.close()
    assert version(old) == earlier

    store = CentralStore(old)
    with store.reading() as connection:
        assert connection.execute("SELECT run_id, manifest FROM retrieval_runs").fetchall() == [("r", None)]
    assert shape(old) == shape(fresh)
    assert version(old) == 42


@pytest.mark.spec("D16")
@pytest.mark.parametrize("stopped_at", VERSIONS)
def test_a_migration_that_is_broken_off_is_taken_up_again(tmp_path: Path, stopped_at: int) -> None:
    def stop(name: str) -> None:
        if name == f"central.migrate.{stopped_at}":
            raise RuntimeError("power cut")

    with on_step(stop), pytest.raises(RuntimeError):
        touch(CentralStore(tmp_path / "local.db"))
    touch(CentralStore(tmp_path / "local.db"))
    touch(CentralStore(tmp_path / "fresh.db"))
    assert shape(tmp_path / "local.db") == shape(tmp_path / "fresh.db")


@pytest.mark.spec("D16")
def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    open_writer(path, CENTRAL_SCHEMA).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 43")
    connection.close()
    before = path.read_bytes()
    assert refusal(path) == "schema_too_new"
    assert path.read_bytes() == before


@pytest.mark.spec("D16")
@pytest.mark.parametrize("damage", ["garbage", "header", "schema page"])
def test_a_damaged_store_is_never_overwritten(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "local.db"
    store = CentralStore(path)
    touch(store)
    store.close()
    whole = path.read_bytes()
    path.write_bytes(
        {
            "garbage": b"these are the notes of a person" * 500,
            "header": b"\x00" * 16 + whole[16:],
            "schema page": whole[:100] + b"\xff" * 3_000 + whole[3_100:],
        }[damage]
    )
    before = path.read_bytes()
    assert refusal(path) == "store_damaged"
    assert path.read_bytes() == before


@pytest.mark.spec("D16")
def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = path.read_bytes()
    assert refusal(path) == "store_damaged"
    assert path.read_bytes() == before


def test_a_store_that_was_repaired_works_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    path.write_bytes(b"no database" * 100)
    store = CentralStore(path)
    with pytest.raises(StorageError):
        touch(store)
    path.rename(tmp_path / "aside.db")
    touch(store)
    assert version(path) == 42


def test_only_the_owner_can_read_the_store(tmp_path: Path) -> None:
    home = tmp_path / "home"
    touch(CentralStore(home / "local.db"))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()} == {0o600}


def test_a_block_that_raises_changes_nothing(tmp_path: Path) -> None:
    store = CentralStore(tmp_path / "local.db")
    with pytest.raises(LookupError), store.writing("test") as connection:
        connection.execute("INSERT INTO retrieval_corpus_blobs (sha256, created_at) VALUES ('a', 'now')")
        raise LookupError
    with store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM retrieval_corpus_blobs").fetchone() == (0,)
