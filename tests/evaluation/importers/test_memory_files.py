"""Documents as files: none leads out, none hides another, and each is read back as exactly one resource."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.limits import resolve_limits
from workbench.core.resource import Layer
from workbench.evaluation.importers.memory_files import Names, folder_name, is_safe, write_memory
from workbench.evaluation.importers.parsed import Document, Findings
from workbench.markdown.source import parse_source
from workbench.memory.snapshot import capture_snapshot


def document(number: int, path: str, text: str = "Body.", title: str = "") -> Document:
    return Document(f"d{number}", path, title, text)


def written(root: Path, *documents: Document) -> tuple[dict[str, str], tuple[str, ...]]:
    """document id -> path, and the findings."""
    findings = Findings()
    names = write_memory(documents, root, findings)
    return {document_id: path for path, document_id in names.items()}, findings.all()


@pytest.mark.parametrize(
    "path",
    [
        "../out.md",
        "a/../../out.md",
        "/etc/out.md",
        "C:/out.md",
        "a\\..\\out.md",
        "a//b.md",
        "./a.md",
        ".hidden/a.md",
        "node_modules/a.md",
        "CON.md",
        "a /b.md",
        "a./b.md",
        "a\x00b.md",
        "a\nb.md",
        "half \ud800.md",
        "x" * 300 + ".md",
        "/".join(["folder"] * 80) + ".md",
        "",
    ],
)
def test_a_path_that_cannot_stand_everywhere_is_replaced_and_reported(tmp_path: Path, path: str) -> None:
    root = tmp_path / "memory"
    names, findings = written(root, document(1, path), document(2, "kept.md"))

    assert names["d2"] == "kept.md"
    assert names["d1"].startswith("document-")
    assert len(findings) == 1
    assert findings[0].startswith("document 'd1': its file is ")
    files = {one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*") if one.is_file()}
    assert files == {"memory/memory.toml", "memory/kept.md", f"memory/{names['d1']}"}


def test_names_that_are_one_without_case_or_in_nfc_stay_apart(tmp_path: Path) -> None:
    paths = (
        "Async/1.md",
        "async/1.md",
        "ASYNC/1.MD",
        "caf\u00e9.md",
        "cafe\u0301.md",
        "memory.toml.md",
        "a.md",
        "a.md/b.md",
    )
    names, findings = written(tmp_path, *(document(number, path) for number, path in enumerate(paths)))

    assert len({name.casefold() for name in names.values()}) == len(paths)
    assert (names["d0"], names["d3"], names["d6"]) == ("Async/1.md", "café.md", "a.md")
    assert len(findings) == 4


@given(paths=st.lists(st.text(max_size=12) | st.sampled_from(["a.md", "A.md", "a.md/x", "../a", "b/c", "B/C.md"])))
def test_any_paths_become_distinct_safe_names_of_files_that_are_no_folders(paths: list[str]) -> None:
    names, findings = Names(), Findings()
    given_out = [names.path_of(document(number, path), findings) for number, path in enumerate(paths)]

    keys = [name.casefold() for name in given_out]
    assert all(map(is_safe, given_out))
    assert len(set(keys)) == len(keys)
    assert not any(other.startswith(f"{key}/") for key in keys for other in keys)


@given(
    text=st.text()
    | st.sampled_from(["---\n", "---\nid: x\n---\nB", "+++\nt = 1\n+++\n", "---\n: [\n---\n", "\ufeff---\n"])
)
def test_any_text_is_read_back_as_exactly_one_resource(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("memory")
    names, _ = written(root, document(1, "log/2026.md", text, "Yes: a #title"), document(2, "user/x.md", text))

    for path in names.values():
        assert len(parse_source(path, Layer.PROJECT, (root / path).read_bytes()).entries) == 1


def test_every_file_is_one_resource_of_the_project_whatever_its_folder_is_called(tmp_path: Path) -> None:
    two = "## 2026-01-01\n\nOne.\n\n## 2026-01-02\n\nTwo.\n"
    folders = ("log", "reflection", "user", "whiteboard", "notes")
    written(tmp_path, *(document(number, f"{folder}/a.md", two) for number, folder in enumerate(folders)))

    snapshot = capture_snapshot(tmp_path, "set", {}, resolve_limits())

    assert sorted(one.resource_id for one in snapshot.resources) == sorted(f"{folder}/a.md" for folder in folders)
    assert {one.layer for one in snapshot.resources} == {Layer.PROJECT}


def test_titles_go_into_front_matter_unless_the_text_has_its_own(tmp_path: Path) -> None:
    names, findings = written(
        tmp_path,
        document(1, "1.md", "Body", "Yes: a #title\n\n---\nof lines"),
        document(2, "2.md", "---\ntitle: Own\n---\nBody", "Two"),
        document(3, "3.md", "---\r\ntitle: Own\r\n---\r\nBody\r\n", "Three"),
        document(4, "4.md", "---\n: [\n---\nBody", ""),
        document(5, "5.md", "NUL \x00 and \ud800", "Five"),
    )

    entries = {
        one: parse_source(path, Layer.PROJECT, (tmp_path / path).read_bytes()).entries[0] for one, path in names.items()
    }
    assert [entries[f"d{n}"].title for n in (1, 2, 3)] == ["Yes: a #title --- of lines", "Own", "Own"]
    assert entries["d3"].body == "Body"
    assert entries["d4"].body == "---\n: [\n---\nBody"
    assert entries["d5"].body == "NUL \ufffd and \ufffd"
    assert [one.partition(": ")[0] for one in findings] == ["document 'd4'", "document 'd5'"]


def test_writing_again_touches_no_file_and_takes_away_what_the_set_no_longer_has(tmp_path: Path) -> None:
    written(tmp_path, document(1, "a.md"), document(2, "b/old.md"))
    before = (tmp_path / "a.md").stat().st_mtime_ns, (tmp_path / "a.md").stat().st_ino
    written(tmp_path, document(1, "a.md"), document(3, "c.md"))

    assert ((tmp_path / "a.md").stat().st_mtime_ns, (tmp_path / "a.md").stat().st_ino) == before
    assert sorted(one.name for one in tmp_path.rglob("*.md")) == ["a.md", "c.md"]


def test_scopes_have_folders_of_their_own() -> None:
    scopes = ("", "all", "mc-301", "MC-301", "../x", "a/b", ".", "x" * 300, "con")
    names = [folder_name(scope) for scope in scopes]
    assert (names[0], names[2]) == ("all", "mc-301")
    assert len({name.casefold() for name in names}) == len(scopes)
    assert all(is_safe(name) and "/" not in name for name in names)
