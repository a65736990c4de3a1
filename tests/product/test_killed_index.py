"""`workbench index` is killed at random moments; whatever the moment, the last head answers and the next call ends."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.product.folders import Place, units_of

KILLS = 20
MARK = "zirconium"


@pytest.mark.slow
@pytest.mark.spec("D1", "D2", "T2-6")
@pytest.mark.field(98)
def test_a_killed_command_leaves_the_old_head_answering_and_a_later_one_completes(tmp_path: Path) -> None:
    place, root = Place(tmp_path, "fake"), tmp_path / "memory"
    shutil.copytree(ROOT / "fixtures" / "memory", root)
    place.types("index", root)
    project, chance, whole = place.project(root), random.Random(7), _seconds_of(place, root)
    for kill in range(KILLS):
        head, units = project.index.head(), units_of(project)
        _edit(root, kill)
        process = place.starts("index", root)
        time.sleep(chance.uniform(0, whole))
        process.kill()
        process.communicate()

        answer = place.types("activate", f"{MARK} {kill}", "--project", root, "--no-refresh")

        published = answer["index"]["revision"] != head.revision_id
        found = any(f"{MARK} {kill}." in fragment["text"] for fragment in answer["fragments"])
        assert found == published, kill
        assert published or units_of(project) == units
        assert "dense" in answer["index"]["arms"]

    report = place.types("index", root)
    fresh = Place(tmp_path / "fresh", "fake")
    fresh.types("index", root)

    assert units_of(project) == units_of(fresh.project(root))
    assert report["units"] == len(units_of(project))
    assert place.types("index", root)["published"] is False


@pytest.mark.slow
@pytest.mark.spec("D2")
def test_the_first_build_killed_before_its_end_says_so_and_loses_no_vector(tmp_path: Path) -> None:
    place, root = Place(tmp_path, "fake"), tmp_path / "memory"
    shutil.copytree(ROOT / "fixtures" / "memory", root)
    for wait in (0.3, 0.6, 0.9, 1.2):
        process = place.starts("index", root)
        time.sleep(wait)
        process.kill()
        process.communicate()
        asked = place.starts("activate", "gateway", "--project", root, "--no-refresh", "--json")
        said, _ = asked.communicate()

        answer = json.loads(said)
        if asked.returncode:
            assert asked.returncode in {3, 4}
            assert answer["error"]["code"] in {"index_preparing", "index_build_failed"}
            assert "workbench index" in answer["error"]["message"]
        else:
            assert answer["fragments"]

    report = place.types("index", root)

    assert report["units"] == len(units_of(place.project(root)))


@pytest.mark.slow
@pytest.mark.spec("D2")
@pytest.mark.field(95)
def test_while_another_process_builds_the_last_head_answers_and_says_why(tmp_path: Path) -> None:
    place, root = Place(tmp_path, "fake"), tmp_path / "memory"
    shutil.copytree(ROOT / "fixtures" / "memory", root)
    place.types("index", root)
    _edit(root, 1)

    with place.project(root).index.build_lock(0):
        indexing, asking = place.starts("index", root), place.starts("activate", "gateway", "--project", root, "--json")
        (_, refused), (said, _) = indexing.communicate(), asking.communicate()

    answer = json.loads(said)
    assert (indexing.returncode, asking.returncode) == (3, 0)
    assert refused.startswith("index_busy: ")
    assert "index_refresh_failed" in [note["code"] for note in answer["degradations"]]
    assert answer["fragments"] and answer["index"]["stale"]
    assert place.types("activate", f"{MARK} 1", "--project", root)["index"]["stale"] is False


@pytest.mark.spec("D2")
@pytest.mark.field(40, 42)
def test_a_root_whose_pages_vanish_still_answers_from_the_last_head(tmp_path: Path) -> None:
    place, root = Place(tmp_path, "fake"), tmp_path / "memory"
    root.mkdir()
    (root / "tea.md").write_text("# Tea\n\nGreen tea.\n", encoding="utf-8")
    place.types("index", root)
    (root / "tea.md").unlink()

    asking = place.starts("activate", "green tea", "--project", root, "--json")
    answer = json.loads(asking.communicate()[0])

    assert asking.returncode == 0
    assert [fragment["path"] for fragment in answer["fragments"]] == ["tea.md"]
    [refusal] = [note for note in answer["degradations"] if note["code"] == "index_refresh_failed"]
    assert "suddenly empty" in refusal["detail"]


def _edit(root: Path, number: int) -> None:
    """One page changed, one new, one gone."""
    (root / "architecture/overview.md").write_text(f"# Overview\n\nNow {MARK} {number}. is here\n", encoding="utf-8")
    (root / f"new-{number}.md").write_text(f"# New {number}\n\nPage number {number}.\n", encoding="utf-8")
    (root / f"new-{number - 1}.md").unlink(missing_ok=True)


def _seconds_of(place: Place, root: Path) -> float:
    """How long the command takes with an edit, so that kills fall before, during and after its work."""
    _edit(root, -1)
    started = time.monotonic()
    place.types("index", root)
    return time.monotonic() - started
