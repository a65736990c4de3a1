from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.memory.folder import Memory, settled
from workbench.core.errors import WorkbenchError
from workbench.core.limits import resolve_limits
from workbench.core.resource import GONE, Degradation
from workbench.memory.reading import read_stable
from workbench.memory.snapshot import capture_snapshot

BROKEN = {
    "cp1252": (b"He said \x93no\x94.\n", "encoding"),
    "utf-16": ("text\n".encode("utf-16"), "encoding"),
    "half an emoji": (b"cut \xed\xa0\xbd\n", "encoding"),
    "nul": (b"a\x00b null here\n", "nul"),
    "over size": (b"x" * 5000, "over_size"),
    "front matter": (b"---\ntitle: [unclosed\n---\nbody\n", "front_matter"),
}


@pytest.mark.spec("T1-6")
@pytest.mark.field(34)
@pytest.mark.field(35)
@pytest.mark.field(37)
@pytest.mark.field(55)
@pytest.mark.parametrize("ref", ["user/b.md", "log/b.md", "reflection/b.md", "whiteboard/b.md", "b.md"])
@pytest.mark.parametrize(("raw", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_one_damaged_source_is_reported_and_takes_no_other_with_it(
    five_layers: Memory, ref: str, raw: bytes, reason: str
) -> None:
    whole = five_layers.capture()
    path = five_layers.write(ref, raw)
    snapshot = five_layers.capture(source_bytes=4096)
    assert snapshot.members == whole.members
    assert snapshot.degradations == (Degradation("source_unreadable", f"{ref}: {reason}"),)
    assert snapshot.changes.unreadable == {ref}
    assert path.read_bytes() == raw


@pytest.mark.spec("T1-6")
def test_a_source_that_breaks_is_reported_until_it_is_whole_again(five_layers: Memory) -> None:
    text = (five_layers.root / "user/editor.md").read_bytes()
    first = five_layers.capture()
    five_layers.write("user/editor.md", b"\xff")
    for _ in range(2):
        broken = five_layers.capture()
        assert [degradation.detail for degradation in broken.degradations] == ["user/editor.md: encoding"]
        assert len(broken.sources) == 4
    assert broken.ref.miv != first.ref.miv
    five_layers.write("user/editor.md", text)
    again = five_layers.capture()
    assert (len(again.sources), again.degradations, again.members) == (5, (), first.members)


def test_a_larger_limit_lets_a_large_source_in(five_layers: Memory) -> None:
    five_layers.write("large.md", b"# Large\n" + b"word " * 2000)
    assert five_layers.capture(source_bytes=4096).changes.unreadable == {"large.md"}
    assert five_layers.capture().changes.unreadable == frozenset()


@pytest.mark.parametrize(("target", "reason"), [("nowhere.md", "vanished"), ("link.md", "io")])
def test_a_link_to_nothing_is_reported(five_layers: Memory, target: str, reason: str) -> None:
    (five_layers.root / "link.md").symlink_to(target)
    assert [degradation.detail for degradation in five_layers.capture().degradations] == [f"link.md: {reason}"]


@pytest.mark.field(55)
def test_a_source_without_permission_is_reported_and_comes_back_the_same(ordinary_memory: Memory) -> None:
    first = ordinary_memory.capture()
    path = ordinary_memory.root / "user/editor.md"
    path.chmod(0)
    assert [degradation.detail for degradation in ordinary_memory.capture().degradations] == [
        "user/editor.md: permission"
    ]
    path.chmod(0o600)
    assert ordinary_memory.capture().ref == first.ref


@pytest.mark.field(40)
def test_a_folder_without_permission_is_reported_with_the_sources_known_in_it(ordinary_memory: Memory) -> None:
    first = ordinary_memory.capture()
    folder = ordinary_memory.root / "user"
    folder.chmod(0)
    try:
        details = [degradation.detail for degradation in ordinary_memory.capture().degradations]
    finally:
        folder.chmod(0o700)
    assert details == ["user/editor.md: permission", "user/: permission"]
    assert ordinary_memory.capture().ref == first.ref


@pytest.mark.field(40)
def test_a_root_without_permission_is_an_error(ordinary_memory: Memory) -> None:
    ordinary_memory.capture()
    ordinary_memory.root.chmod(0)
    try:
        with pytest.raises(WorkbenchError) as refused:
            ordinary_memory.capture()
    finally:
        ordinary_memory.root.chmod(0o700)
    assert refused.value.code == "project_unreadable"


@pytest.mark.field(40)
@pytest.mark.field(42)
def test_a_root_that_is_suddenly_empty_is_an_error_and_forgets_nothing(five_layers: Memory) -> None:
    first = five_layers.capture()
    away = five_layers.root.with_name("away")
    five_layers.root.rename(away)
    five_layers.root.mkdir()
    with pytest.raises(WorkbenchError) as refused:
        five_layers.capture()
    assert refused.value.code == "project_unreadable"
    assert five_layers.stamps == first.stamps
    five_layers.root.rmdir()
    away.rename(five_layers.root)
    assert five_layers.capture().ref == first.ref


@pytest.mark.field(40)
def test_a_root_that_is_not_there_is_unknown(five_layers: Memory) -> None:
    five_layers.capture()
    shutil.rmtree(five_layers.root)
    with pytest.raises(WorkbenchError) as refused:
        five_layers.capture()
    assert refused.value.code == "project_unknown"


@pytest.mark.field(42)
def test_a_folder_that_comes_back_is_what_it_was(five_layers: Memory) -> None:
    first = five_layers.capture()
    (five_layers.root / "log").rename(five_layers.root / ".log")
    absent = five_layers.capture()
    assert absent.stamps["log/2026-11-02.md"].error == GONE
    (five_layers.root / ".log").rename(five_layers.root / "log")
    assert five_layers.capture().ref == first.ref


@pytest.mark.field(32)
@pytest.mark.field(52)
def test_the_second_of_two_names_in_one_normal_form_is_reported(memory: Memory) -> None:
    memory.write("e\u0301.md", "decomposed\n")
    memory.write("\u00e9.md", "composed\n")
    snapshot = memory.capture()
    assert [resource.body.strip() for resource in snapshot.resources] == ["composed"]
    assert snapshot.degradations == (Degradation("source_unreadable", "\u00e9.md: name_twin"),)


@pytest.mark.field(54)
def test_odd_names_have_resources_of_their_own(memory: Memory) -> None:
    names = ["🐘.md", "°.md", "----=-.md", "{.md", "Зоны.md", "a\nb.md", "a#b~2@c.md", "a%23b.md", "A.md", "a.md"]
    for name in names:
        memory.write(name, "text\n")
    Path(os.fsdecode(os.fsencode(memory.root) + b"/caf\xe9.md")).write_text("text\n", "utf-8")
    snapshot = memory.capture()
    assert len(snapshot.members) == len(names) + 1
    assert snapshot.degradations == ()


@pytest.mark.field(49)
def test_a_file_written_meanwhile_is_read_as_one_of_its_states(tmp_path: Path) -> None:
    states = {bytes([letter]) * (200_000 + letter) for letter in b"ab"}
    path, stop = tmp_path / "a.md", threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            for state in states:
                (tmp_path / "new").write_bytes(state)
                (tmp_path / "new").replace(path)

    path.write_bytes(next(iter(states)))
    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        assert {read_stable(str(path), 1 << 20).raw for _ in range(100)} <= states
    finally:
        stop.set()
        writer.join()


def test_a_stamp_of_a_broken_source_is_never_believed(five_layers: Memory) -> None:
    five_layers.write("user/editor.md", b"\xff")
    stamps = settled(five_layers.capture().stamps, five_layers.root)
    snapshot = capture_snapshot(five_layers.root, "project", stamps, resolve_limits())
    assert snapshot.changes.unreadable == {"user/editor.md"}
