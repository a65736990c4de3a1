from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.core.errors import WorkbenchError
from workbench.memory.layout import load_layout
from workbench.memory.scan import scan_sources


def write(root: Path, *refs: str | bytes) -> None:
    for ref in refs:
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(ref))))  # noqa: PTH118
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n", "utf-8")


def found(root: Path) -> list[str]:
    return sorted(scan_sources(root, load_layout(root)).found)


def test_hidden_and_installed_folders_hold_no_sources(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".git/b.md", ".memory/c.md", "x/node_modules/p/README.md", "x/.d.md", "x/e.txt", "x/f.md")
    assert found(tmp_path) == ["a.md", "x/f.md"]


def test_ignore_files_exclude_as_in_git(tmp_path: Path) -> None:
    write(tmp_path, "build/a.md", "drafts/b.md", "drafts/keep.md", "sub/tmp/c.md", "sub/d.md", "other/tmp/e.md", "f.md")
    (tmp_path / ".gitignore").write_text("build/\ndrafts/*\n!drafts/keep.md\n!\n", "utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("/tmp\n", "utf-8")
    (tmp_path / ".ignore").write_text("f.md\n", "utf-8")
    assert found(tmp_path) == ["drafts/keep.md", "other/tmp/e.md", "sub/d.md"]


def test_nested_ignore_file_takes_back_what_an_outer_one_excludes(tmp_path: Path) -> None:
    write(tmp_path, "a/notes.md", "b/notes.md")
    (tmp_path / ".gitignore").write_text("notes.md\n", "utf-8")
    (tmp_path / "b" / ".ignore").write_text("!notes.md\n", "utf-8")
    assert found(tmp_path) == ["b/notes.md"]


@pytest.mark.field(57)
def test_links_are_followed_inside_the_root_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-secrets"
    write(root, "notes/a.md")
    write(outside, "password.md")
    (root / "inside.md").symlink_to(root / "notes" / "a.md")
    (root / "again").symlink_to("notes")
    (root / "secret.md").symlink_to(outside / "password.md")
    (root / "secrets").symlink_to("../root-secrets")
    (root / "passwd.md").symlink_to("/etc/passwd")
    assert found(root) == ["again/a.md", "inside.md", "notes/a.md"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    write(tmp_path, "a/x.md", "b/y.md")
    for folder, target in (("a/self", "."), ("a/up", ".."), ("a/b", "../b"), ("b/a", "../a")):
        (tmp_path / folder).symlink_to(target)
    (tmp_path / "endless.md").symlink_to("endless.md")
    names = found(tmp_path)
    assert {"a/x.md", "b/y.md"} <= set(names)
    assert len(names) < 10


def test_root_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", "a.md")
    (tmp_path / "link").symlink_to("real")
    assert found(tmp_path / "link") == ["a.md"]


@pytest.mark.field(51)
@pytest.mark.field(54)
def test_any_file_name_is_a_source(tmp_path: Path) -> None:
    names = ["🐘.md", "°.md", "----=-.md", "{.md", "Зоны.md", "DEC-0054 title.md", "a\nb.md", " .md", "%.md", "[x].md"]
    names += ["Finance/a.md", "finance/a.md", "my-note.md", "My Note.md", "合同/条款.md", '"q".md', "a\\b.md", "~.md"]
    write(tmp_path, *names)
    assert found(tmp_path) == sorted(names)


@pytest.mark.field(54)
def test_names_that_are_not_utf8_are_escaped_and_stay_apart(tmp_path: Path) -> None:
    write(tmp_path, b"caf\xe9.md", b"caf\xe8.md", b"\xff/a.md")
    assert found(tmp_path) == ["%ff/a.md", "caf%e8.md", "caf%e9.md"]


@pytest.mark.field(32)
def test_decomposed_names_are_composed(tmp_path: Path) -> None:
    write(tmp_path, "re\u0301sume\u0301/e\u0301.md")
    assert found(tmp_path) == ["r\u00e9sum\u00e9/\u00e9.md"]


@pytest.mark.field(32)
@pytest.mark.field(52)
def test_two_names_that_are_one_in_normal_form_are_told(tmp_path: Path) -> None:
    write(tmp_path, "e\u0301.md", "\u00e9.md")
    scan = scan_sources(tmp_path, load_layout(tmp_path))
    assert scan.found["\u00e9.md"].path == str(tmp_path / "\u00e9.md")
    assert scan.twins == ["\u00e9.md"]


def test_only_regular_files_are_sources(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    write(tmp_path, "folder.md/a.md")
    assert found(tmp_path) == ["folder.md/a.md"]


@pytest.mark.parametrize("place", ["missing", "file.md"])
def test_a_root_that_is_no_folder_is_unknown(tmp_path: Path, place: str) -> None:
    write(tmp_path, "file.md")
    with pytest.raises(WorkbenchError) as refused:
        scan_sources(tmp_path / place, load_layout(tmp_path / place))
    assert refused.value.code == "project_unknown"
