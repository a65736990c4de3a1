"""The client for scripts and notebooks: typed answers, the service's own errors, and no service left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from serve.client import ServiceClient
from serve.place import Place
from tests.app.places import write
from tests.serve.serving import QUERY, end_service, environment, is_alive, until
from workbench.core.activation import ActivationResult
from workbench.core.errors import NotReady, WorkbenchError


@pytest.fixture(autouse=True)
def _environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)


def test_a_script_starts_the_service_asks_it_and_sees_its_runs(home: Path, memory: Path, place: Path) -> None:
    other = write(place / "other", {"sea.md": "# Sea\n\nThe harbour freezes.\n"})
    with ServiceClient(home, memory) as client, ServiceClient(home, other) as neighbour:
        assert client.wait_for_index().head is not None
        assert neighbour.wait_for_index().project_id != client.wait_for_index().project_id
        answer = client.call("activate_memory", query=QUERY)
        assert isinstance(answer, ActivationResult)
        assert answer.fragments[0].path == "decisions/queue.md"
        assert neighbour.call("memory_recall", query="harbour").fragments[0].path == "sea.md"
        (records,) = client.follow_runs(0)
        assert [record.summary.query for record in records] == [QUERY]
        with pytest.raises(WorkbenchError) as refusal:
            client.call("activate_memory", query=QUERY, typo=1)
        pid = Place.of(home).announced()["pid"]
    assert refusal.value.code == "invalid_argument"
    assert "typo" in refusal.value.message
    until(lambda: not is_alive(pid))
    end_service(home)


def test_a_service_that_cannot_start_is_said(home: Path, memory: Path) -> None:
    Place.of(home).lock.mkdir()
    with pytest.raises(NotReady, match=r"serve\.log"):
        ServiceClient(home, memory)
