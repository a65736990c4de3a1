"""One service a home: two starts at once, a home that goes away beneath it, and starts that cannot work."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from serve.place import Place
from tests.serve.serving import PATIENCE_S, command, daemon_of, environment, until


def start(home: Path, memory: Path, *how: object) -> subprocess.Popen[str]:
    """One more `workbench serve --http`."""
    return subprocess.Popen(
        command("serve", "--http", "--project", memory, *(how or ("--port", 0))),
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status and stderr of a process that ends."""
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def test_of_several_starts_at_once_one_serves_and_the_others_say_where(home: Path, memory: Path) -> None:
    """The card of an earlier service that was killed is still there, and must not be taken for an answer."""
    place = Place.of(home)
    place.announce(pid=1, version="0", port=1)
    starts = [start(home, memory) for _ in range(3)]
    until(lambda: sum(one.poll() is not None for one in starts) == 2)
    (first,) = [one for one in starts if one.poll() is None]
    try:
        card = place.announced()
        assert card["pid"] == first.pid
        for second in starts:
            if second is not first:
                status, said = ended(second)
                assert status == 0
                assert f"process {first.pid}, on port {card['port']} " in said
    finally:
        first.terminate()
        assert ended(first)[0] == 0


def test_whoever_reads_the_port_can_connect_at_once(home: Path, memory: Path) -> None:
    place, starting = Place.of(home), start(home, memory)
    try:
        while not (card := place.announced()) and starting.poll() is None:
            pass
        socket.create_connection(("127.0.0.1", card["port"])).close()
    finally:
        starting.terminate()
        ended(starting)


def test_a_service_whose_home_is_removed_ends_and_says_why(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon:
        with daemon.client() as client:
            until(lambda: client.post("/v1/index_status", json={}).json()["activity"] is None)
        shutil.rmtree(home)
        assert daemon.process.wait(PATIENCE_S) == 2
    assert not home.exists()
    assert "was removed or replaced" in (home.parent / "daemon.log").read_text(encoding="utf-8").splitlines()[-1]


def test_a_service_that_lost_its_home_leaves_the_next_one_alone(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon:
        home.rename(home.parent / "away")
        with daemon_of(home, memory) as successor:
            assert daemon.process.wait(PATIENCE_S) == 2
            assert successor.place.mcp_socket.exists() and successor.place.http_socket.exists()
            assert successor.card["pid"] == successor.process.pid


@pytest.mark.parametrize(
    "spoil",
    [lambda place: place.lock.mkdir(), lambda place: place.mcp_socket.mkdir(), lambda place: place.token.mkdir()],
)
def test_a_home_that_cannot_be_used_is_said_in_a_sentence(
    home: Path, memory: Path, spoil: Callable[[Place], None]
) -> None:
    spoil(Place.of(home))
    status, said = ended(start(home, memory))
    assert status == 2
    assert said.startswith(("home_unwritable: ", "unauthorized: ")) and said.count("\n") == 1


def test_a_port_that_is_taken_is_said_and_leaves_nothing_behind(home: Path, memory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = ended(start(home, memory, "--port", port))
    assert status == 2
    assert f"Port {port}" in said and "--port" in said
    assert "Traceback" not in said
    assert not Place.of(home).mcp_socket.exists() and not Place.of(home).http_socket.exists()
