"""Keys of real pages survive edits elsewhere, and only what changed is encoded, through the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.product.folders import Place, copy, units_of

LONG_PAGES = {
    "rust-book": "rust-book/src/ch15-04-rc.md",
    "advanced-java-zh": "advanced-java-zh/docs/high-concurrency/redis-caching-avalanche-and-caching-penetration.md",
    "til": "til/python/make-secure-temp-file-for-atomic-write.md",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, "fake")


def paragraphs(text: str) -> list[str]:
    return text.split("\n\n")


def an_inner_paragraph(text: str) -> int:
    """The number of the last paragraph of prose: no heading, list, table, quote or fence."""
    candidates = [
        number
        for number, block in enumerate(paragraphs(text))
        if block.strip() and block[0] not in "#-*>|`0123456789<![ " and "```" not in block and "<" not in block
    ]
    return candidates[-1]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.spec("D3", "T2-1", "T2-2")
@pytest.mark.parametrize("folder", list(LONG_PAGES))
def test_a_word_changed_in_a_real_page_encodes_its_units_and_keeps_every_key(
    place: Place, real_folders: Path, tmp_path: Path, folder: str
) -> None:
    root = copy(real_folders, [folder], tmp_path / "memory")
    first = place.types("index", root)
    again = place.types("index", root)
    project = place.project(root)
    before = units_of(project)
    page = root / LONG_PAGES[folder]
    blocks = paragraphs(page.read_text(encoding="utf-8"))
    target = an_inner_paragraph("\n\n".join(blocks))
    blocks[target] = blocks[target][:-2] + "Zq"
    page.write_text("\n\n".join(blocks), encoding="utf-8")

    report = place.types("index", root)

    after = units_of(project)
    changed = {key for key in after if after[key][1] != before[key][1]}
    assert 0 < first["encoded"] <= first["units"] == len(before)
    assert (again["published"], again["encoded"]) == (False, 0)
    assert after.keys() == before.keys()
    assert {after[key][0] for key in changed} == {LONG_PAGES[folder]}
    assert 1 <= len(changed) <= 2 and report["encoded"] == len(changed)
    assert (report["units_added"], report["units_removed"]) == (len(changed), len(changed))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.spec("D3", "T2-2")
@pytest.mark.parametrize("folder", ["rust-book", "advanced-java-zh"])
def test_a_new_paragraph_in_a_real_page_leaves_the_other_sections_as_they_were(
    place: Place, real_folders: Path, tmp_path: Path, folder: str
) -> None:
    root = copy(real_folders, [LONG_PAGES[folder]], tmp_path / "memory")
    place.types("index", root)
    project = place.project(root)
    before = units_of(project)
    page = root / LONG_PAGES[folder]
    page.write_text(page.read_text(encoding="utf-8") + "\n\nOne more paragraph, about zirconium.\n", encoding="utf-8")

    report = place.types("index", root)

    after = units_of(project)
    kept = {key for key in before if after.get(key) == before[key]}
    assert len(kept) >= len(before) - 2 > 0
    assert report["encoded"] == len(after.keys() - kept) <= 2


@pytest.mark.spec("D3", "T2-1")
def test_the_fixture_memory_indexed_twice_encodes_nothing_and_an_edit_encodes_one(place: Place, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    shutil.copytree(ROOT / "fixtures" / "memory", root)
    first, again = place.types("index", root), place.types("index", root)
    project = place.project(root)
    before = units_of(project)
    page = next(path for path in sorted((root / "architecture").glob("*.md")) if path.name == "overview.md")
    page.write_text(page.read_text(encoding="utf-8").rstrip() + " And one thing more.\n", encoding="utf-8")

    edited = place.types("index", root)

    after = units_of(project)
    assert first["units"] == len(before) and first["encoded"] + first["reused"] >= len(before)
    assert (again["published"], again["encoded"], again["units_added"]) == (False, 0, 0)
    assert after.keys() == before.keys()
    assert edited["encoded"] == len([key for key in after if after[key] != before[key]]) == 1


@pytest.mark.spec("T2-4")
@pytest.mark.field(43, 45, 50)
def test_pages_deleted_and_moved_are_gone_from_their_place_and_cost_what_they_must(
    place: Place, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    shutil.copytree(ROOT / "fixtures" / "memory", root)
    place.types("index", root)
    gone, moved = sorted((root / "architecture").glob("*.md"))[:2]
    gone.unlink()
    removed = place.types("index", root)
    moved.rename(moved.with_name("renamed-page.md"))

    renamed = place.types("index", root)

    units = units_of(place.project(root))
    paths = {path for path, _ in units.values()}
    assert (removed["encoded"], removed["sources_removed"]) == (0, 1)
    assert {f"architecture/{gone.name}", f"architecture/{moved.name}"}.isdisjoint(paths)
    assert "architecture/renamed-page.md" in paths
    assert renamed["units"] == removed["units"] == len(units)
