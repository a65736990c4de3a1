"""An index elsewhere is brought up to a project by what changed, or by everything where the setting says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.places import write
from workbench.app import Home
from workbench.index.receiving import Receiver
from workbench.index.transfer import Page, Receipt
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex


@pytest.mark.spec("T2-7")
@pytest.mark.parametrize("delta", [True, False])
def test_the_setting_decides_what_is_sent_and_not_what_arrives(
    home: Home, memory: Path, tmp_path: Path, delta: bool
) -> None:
    project = Home.open(home.folder, engine="fake", index_delta_sync=delta).project(memory)
    far = ProjectIndex(tmp_path / "elsewhere", project.project_id)
    receiver, sender, sent = Receiver(far, FakeEmbedder()), project.sender(), list[Page]()

    def receive(page: Page) -> Receipt:
        sent.append(page)
        return receiver.receive(page)

    sender.deliver(project.capture(), receive)
    write(memory, {"new.md": "# New\n\nArrived.\n"})
    project.refresh()
    snapshot = project.capture()
    sender.deliver(snapshot, receive)

    assert [page.full for page in sent] == [True, not delta]
    head = far.head()
    assert head is not None and head.miv == snapshot.ref.miv and head.resource_count == len(snapshot.members)
