"""Blobs: what is read is what was written, or an error."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import StorageError
from workbench.storage.blobs import BlobStore
from workbench.storage.faults import on_step

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_blob_lies_under_its_own_hash_for_its_owner_only(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "evaluation-corpora")
    assert blobs.write(b"hello") == HELLO
    path = tmp_path / "evaluation-corpora" / "blobs" / "2c" / HELLO
    assert path.read_bytes() == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.parents[up].stat().st_mode) for up in range(3)} == {0o700}


@given(data=st.binary(max_size=200), durable=st.booleans())
def test_any_bytes_come_back(data: bytes, durable: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    blobs = BlobStore(tmp_path_factory.getbasetemp() / "shared")
    assert blobs.read(blobs.write(data, durable=durable)) == data


def test_a_blob_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.write(b"hello")
    steps: list[str] = []
    with on_step(steps.append):
        blobs.write(b"hello")
    assert steps == []


def test_a_changed_blob_is_not_handed_out(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.write(b"hello")
    (blobs.folder / "2c" / HELLO).write_bytes(b"hallo")
    with pytest.raises(StorageError) as changed:
        blobs.read(HELLO)
    assert changed.value.code == "run_corpus_incomplete"


def test_a_blob_that_a_power_cut_left_short_is_written_again(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.write(b"hello")
    (blobs.folder / "2c" / HELLO).write_bytes(b"")
    blobs.write(b"hello")
    assert blobs.read(HELLO) == b"hello"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the name of an open file is asked of /proc")
def test_securing_puts_every_blob_and_its_folders_on_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, synced, fsync = BlobStore(tmp_path), [], os.fsync

    def watch(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        fsync(handle)

    names = [blobs.write(text) for text in (b"hello", b"world")]
    monkeypatch.setattr(os, "fsync", watch)
    assert blobs.secure(names) == {}
    files = [blobs.folder / name[:2] / name for name in names]
    assert set(synced) == {*files, *(file.parent for file in files), blobs.folder, tmp_path}
    synced.clear()
    assert blobs.secure(names) == {}
    assert synced == []


def test_securing_names_what_is_missing_or_was_changed(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    names = [blobs.write(text) for text in (b"hello", b"world", b"whole")]
    (blobs.folder / names[0][:2] / names[0]).unlink()
    (blobs.folder / names[1][:2] / names[1]).write_bytes(b"earth")
    assert blobs.secure(names) == {names[0]: "is missing or not readable", names[1]: "was changed on disk"}
    assert blobs.secure([]) == {}


@pytest.mark.parametrize("name", [HELLO, "", "../../etc/passwd", HELLO.upper(), HELLO + "/.."])
def test_what_is_no_blob_is_an_error_and_no_file_is_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError) as missing:
        BlobStore(tmp_path).read(name)
    assert missing.value.code == "run_corpus_incomplete"


def test_removing_takes_what_a_killed_write_left_with_it(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.write(b"hello")
    (blobs.folder / "2c" / f".{HELLO}.tmp1").write_bytes(b"hel")
    blobs.remove(HELLO)
    blobs.remove(HELLO)
    assert list((blobs.folder / "2c").iterdir()) == []
