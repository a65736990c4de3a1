"""What every snapshot keeps that an index is built of: the live memory, and a frozen corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, home_with, write
from workbench.core.resource import Resource, SourceStamp, Status
from workbench.core.unit import Unit
from workbench.evaluation.frozen_snapshot import FrozenSnapshot
from workbench.index.builder import build_index
from workbench.index.snapshot import Snapshot
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex

MORE = {"log/2026.md": "## 2026-01-02\n\nIt stopped.\n\n## 2026-01-03\n\nIt runs.\n"}


class Maker:
    """A memory, and snapshots of one kind of what it holds."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.root, self.kind = write(folder / "memory", PAGES | MORE), kind
        self.home = home_with(folder / "home", FakeEmbedder())
        self.project = self.home.project(self.root)

    def capture(self, known: dict[str, SourceStamp]) -> Snapshot:
        """The memory as it is now."""
        self.project.refresh()
        if self.kind == "live":
            return self.project.capture()
        case = self.home.cases.create(ask(self.project, "queue").run_id or "")
        return FrozenSnapshot(self.project.project_id, self.home.cases.frozen(case), known)


@pytest.fixture(params=["live", "frozen"])
def maker(request: pytest.FixtureRequest, tmp_path: Path) -> Maker:
    return Maker(tmp_path, request.param)


@pytest.fixture
def index(tmp_path: Path, maker: Maker) -> ProjectIndex:
    """An index in another place than the project's own."""
    return ProjectIndex(tmp_path / "elsewhere", maker.project.project_id)


def contents(snapshot: Snapshot) -> dict[str, tuple[Resource, tuple[Unit, ...]]]:
    return {
        resource.resource_id: (resource, units)
        for source in snapshot.sources
        for resource, units in snapshot.read(source.source_ref)
    }


def test_what_is_read_is_what_the_members_say(maker: Maker) -> None:
    snapshot = maker.capture({})
    read = contents(snapshot)
    assert read.keys() == snapshot.members.keys()
    for resource_id, member in snapshot.members.items():
        resource, units = read[resource_id]
        assert (resource.content_hash, resource.source_ref) == (member.content_hash, member.source_ref)
        assert (resource.status, member.status) == (Status.CURRENT, Status.CURRENT)
        assert {unit.resource_id for unit in units} == {resource_id}
    assert contents(snapshot) == read


def test_every_source_has_its_stamp(maker: Maker) -> None:
    snapshot = maker.capture({})
    refs = [source.source_ref for source in snapshot.sources]
    assert refs == sorted(set(refs)) == list(snapshot.stamps)
    assert all(snapshot.stamps[source.source_ref].source == source for source in snapshot.sources)


def test_the_same_memory_is_the_same_snapshot_and_another_is_another(maker: Maker) -> None:
    first, again = maker.capture({}), maker.capture({})
    write(maker.root, {"user/tea.md": "# Tea\n\nBlack tea.\n"})
    assert first.ref == again.ref
    assert maker.capture({}).ref.miv != first.ref.miv


def test_a_build_reads_and_encodes_only_what_differs(maker: Maker, index: ProjectIndex) -> None:
    embedder = FakeEmbedder()
    built = build_index(index, maker.capture({}), embedder)
    write(maker.root, {"user/tea.md": "# Tea\n\nBlack tea.\n"})
    (maker.root / "decisions/storage.md").unlink()
    snapshot = maker.capture(index.stamps())
    encoded = len(embedder.inputs)

    report = build_index(index, snapshot, embedder)

    assert (built.resources, report.resources, report.sources_new) == (6, 5, 0)
    assert (report.units_added, report.units_removed) == (1, 2)
    assert [text.rpartition("\n")[2] for text in embedder.inputs[encoded:]] == ["Black tea."]
    assert build_index(index, maker.capture(index.stamps()), embedder).published is False
