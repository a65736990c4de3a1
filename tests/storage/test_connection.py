from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from workbench.core.deadline import DeadlinePassed
from workbench.core.errors import StorageError
from workbench.storage.connection import DamagedDatabase, atomic, open_reader, open_writer, translating
from workbench.storage.files import atomic_write, owner_only_folder
from workbench.storage.index_schema import INDEX_SCHEMA

COLD_OPEN = """
import sys
from pathlib import Path
from workbench.storage.connection import atomic, open_reader, open_writer
from workbench.storage.index_schema import INDEX_SCHEMA
path = Path(sys.argv[1])
with atomic(open_writer(path, INDEX_SCHEMA)) as connection:
    connection.execute("INSERT INTO search_terms (term) VALUES (?)", (sys.argv[2],))
open_reader(path, INDEX_SCHEMA).execute("SELECT count(*) FROM search_units").fetchall()
"""


def objects(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def make_version(path: Path, version: int) -> None:
    """A database as an earlier version of the program left it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, sql in INDEX_SCHEMA.steps(0):
            if number <= version:
                connection.executescript(sql)
        connection.execute(f"PRAGMA application_id = {INDEX_SCHEMA.application_id}")
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.spec("D16")
@pytest.mark.parametrize("version", range(1, INDEX_SCHEMA.version))
def test_every_earlier_schema_is_migrated_to_the_fresh_one(tmp_path: Path, version: int) -> None:
    old, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    make_version(old, version)
    open_writer(old, INDEX_SCHEMA).close()
    open_writer(fresh, INDEX_SCHEMA).close()
    assert objects(old) == objects(fresh)


@pytest.mark.spec("D16")
def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    make_version(path, 99)
    before = path.read_bytes()
    for opening in (open_writer, open_reader):
        with pytest.raises(StorageError) as caught:
            opening(path, INDEX_SCHEMA)
        assert caught.value.code == "schema_too_new"
    assert path.read_bytes() == before


@pytest.mark.spec("D16")
@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as one" * 50, b"SQLite"])
def test_what_is_no_database_of_this_kind_is_damaged_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(content)
    with pytest.raises(DamagedDatabase):
        open_writer(path, INDEX_SCHEMA)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(DamagedDatabase):
        open_writer(path, INDEX_SCHEMA)


@pytest.mark.spec("D16")
def test_text_that_is_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(open_writer(path, INDEX_SCHEMA)) as connection:
        connection.execute("INSERT INTO search_terms (term) VALUES (CAST(x'ff66' AS TEXT))")
        with pytest.raises(DamagedDatabase), translating(INDEX_SCHEMA, path):
            connection.execute("SELECT term FROM search_terms").fetchall()


def test_a_migration_broken_in_the_middle_is_taken_up_again(tmp_path: Path) -> None:
    path, fresh = tmp_path / "half.db", tmp_path / "fresh.db"
    make_version(path, 3)
    open_writer(path, INDEX_SCHEMA).close()
    open_writer(fresh, INDEX_SCHEMA).close()
    assert objects(path) == objects(fresh)


@pytest.mark.field(90)
@pytest.mark.field(92)
def test_many_processes_open_a_missing_database_at_once_and_lose_no_write(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cold.db"
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", COLD_OPEN, str(path)]
    processes = [
        subprocess.Popen([*command, f"term{number}"], stderr=subprocess.PIPE, text=True) for number in range(10)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with closing(open_reader(path, INDEX_SCHEMA)) as connection:
        assert connection.execute("SELECT count(*) FROM search_terms").fetchone() == (10,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_files_and_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "home" / "projects" / "index.db"
    with closing(open_writer(path, INDEX_SCHEMA)) as connection, atomic(connection):
        connection.execute("INSERT INTO search_terms (term) VALUES ('word')")
    for file in (path, *path.parent.glob("index.db-*")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


def test_a_transaction_that_raises_changes_nothing(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "a.db", INDEX_SCHEMA)) as connection:
        with pytest.raises(LookupError), atomic(connection):
            connection.execute("INSERT INTO search_terms (term) VALUES ('word')")
            raise LookupError
        assert connection.execute("SELECT count(*) FROM search_terms").fetchone() == (0,)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_writer(path, INDEX_SCHEMA).close()
    with (
        closing(open_reader(path, INDEX_SCHEMA)) as connection,
        pytest.raises(StorageError) as caught,
        translating(INDEX_SCHEMA, path),
    ):
        connection.execute("DELETE FROM search_terms")
    assert caught.value.code == "home_unwritable"


def test_a_stopped_statement_is_a_passed_deadline(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(open_writer(path, INDEX_SCHEMA)) as connection:
        connection.set_progress_handler(lambda: True, 10)
        with pytest.raises(DeadlinePassed), translating(INDEX_SCHEMA, path):
            connection.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n")


@pytest.mark.field(99)
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    atomic_write(path, b"old", durable=True)
    with pytest.raises(TypeError):
        atomic_write(path, None, durable=True)  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    atomic_write(path, b"new", durable=False)
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        owner_only_folder(tmp_path / "file" / "home")
    assert caught.value.code == "home_unwritable"
    assert str(tmp_path / "file" / "home") in caught.value.message
