"""The one process of a home: found by a second start, replaced after a crash, ended in order."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psutil
import pytest

from serve.place import Place
from tests.serve.serving import QUERY, Daemon, command, daemon_of, environment, is_alive, until
from workbench.app import Home
from workbench.core.run import RunState


def second_start(home: Path, memory: Path, *how: object) -> tuple[int, str]:
    """Exit status and stderr of one more `workbench serve`."""
    done = subprocess.run(
        command("serve", *how, "--project", memory), env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_second_start_finds_the_first_and_says_so(daemon: Daemon) -> None:
    status, said = second_start(daemon.home, daemon.memory, "--http")
    assert status == 0
    assert f"process {daemon.process.pid}" in said
    assert str(daemon.card["port"]) in said
    assert daemon.process.poll() is None


@pytest.mark.field(94)
def test_a_killed_service_leaves_nothing_in_the_way(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon:
        daemon.process.kill()
        daemon.process.wait()
        assert daemon.place.mcp_socket.exists(), "a crash leaves its socket"
    with daemon_of(home, memory) as again, again.client() as client:
        assert client.post("/v1/activate_memory", json={"query": QUERY}).json()["fragments"]


def test_sigterm_ends_it_cleanly_and_leaves_no_socket(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon:
        with daemon.client() as client:
            client.post("/v1/activate_memory", json={"query": QUERY})
        assert daemon.end() == 0
    left = {path.name for path in Place.of(home).folder.iterdir()}
    assert left == {"lock", "token"}
    assert not list((home / "projects").rglob("*-wal"))
    assert not (home / "local.db-wal").exists()


def test_sigterm_lets_running_calls_end(home: Path, memory: Path) -> None:
    answers: list[int] = []
    with daemon_of(home, memory) as daemon, daemon.client() as client:

        def ask() -> None:
            answers.append(client.post("/v1/activate_memory", json={"query": QUERY}).status_code)

        asking = [threading.Thread(target=ask) for _ in range(8)]
        for thread in asking:
            thread.start()
        until(lambda: answers)
        assert daemon.end() == 0
        for thread in asking:
            thread.join()
    runs = Home.open(home, engine="none").history.list(project_id(home), 50)
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    assert len(runs) >= len([status for status in answers if status == 200])


def project_id(home: Path) -> str:
    """The only project of a home."""
    (folder,) = (home / "projects").iterdir()
    return folder.name


def test_it_ends_by_itself_when_nobody_has_asked_for_a_while(home: Path, memory: Path) -> None:
    with daemon_of(home, memory, "--linger", "0.5") as daemon:
        assert daemon.process.wait(30) == 0


def test_the_log_is_structured_and_holds_no_query(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon, daemon.client() as client:
        client.post("/v1/activate_memory", json={"query": "something secret"})
        client.post("/v1/activate_memory", json={"query": "something secret", "state": "secret"})
    lines = (home.parent / "daemon.log").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events[0] == "serving"
    assert events.count("call") == 2
    assert events[-1] == "ended"
    assert not any("secret" in line or "PostgreSQL" in line for line in lines)


def test_a_full_disk_costs_what_is_written_and_no_answer(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon, daemon.client() as client:
        process = psutil.Process(daemon.process.pid)
        allowed = process.rlimit(psutil.RLIMIT_FSIZE)

        def ask(name: str, **arguments: object) -> dict[str, Any]:
            answer = client.post(f"/v1/{name}", json=arguments)
            assert str(home) not in answer.text
            return answer.json() | {"status": answer.status_code}

        process.rlimit(psutil.RLIMIT_FSIZE, (1, allowed[1]))
        (memory / "user/sea.md").write_text("# Sea\n\nThe harbour freezes.\n", encoding="utf-8")
        until(lambda: ask("index_status")["failure"])
        answer = ask("memory_recall", query=QUERY)
        assert answer["fragments"][0]["path"] == "decisions/queue.md"
        assert [note["code"] for note in answer["degradations"]] == ["index_refresh_failed"]
        assert answer["run_id"] is None
        refused = ask("memory_write", source_ref="user/tide.md", text="# Tide\n\nHigh at noon.\n")
        assert (refused["status"], refused["code"]) == (500, "home_unwritable")
        process.rlimit(psutil.RLIMIT_FSIZE, allowed)
        until(lambda: "user/sea.md" in str(ask("memory_recall", query="harbour freezes")))
        assert ask("memory_write", source_ref="user/tide.md", text="# Tide\n\nHigh at noon.\n")["ok"]


@pytest.mark.slow
def test_queries_are_logged_when_that_is_asked_for(home: Path, memory: Path) -> None:
    with daemon_of(home, memory, "--log-queries") as daemon, daemon.client() as client:
        client.post("/v1/activate_memory", json={"query": "not so secret"})
    assert "not so secret" in (home.parent / "daemon.log").read_text(encoding="utf-8")


def test_an_edit_is_answered_without_asking_for_a_refresh(daemon: Daemon, client: httpx.Client) -> None:
    (daemon.memory / "user/sea.md").write_text("# Sea\n\nThe harbour freezes in January.\n", encoding="utf-8")

    def found() -> bool:
        answer = client.post("/v1/memory_recall", json={"query": "harbour freezes"}).json()
        return any(one["path"] == "user/sea.md" for one in answer["fragments"])

    until(found)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (["--stdio", "--http"], "Choose one of"),
        (["--project", "/no/such/folder"], "project_unknown"),
        (["--nonsense"], "nonsense"),
        (["--port", "70000", "--http"], "65535"),
    ],
)
def test_wrong_usage_is_refused_in_a_sentence(home: Path, memory: Path, how: list[str], says: str) -> None:
    status, said = second_start(home, memory, *how)
    assert status == 2
    assert says in said
    assert "Traceback" not in said


def test_a_home_too_deep_for_a_socket_is_refused(place: Path, memory: Path) -> None:
    deep = place / ("x" * 120)
    status, said = second_start(deep, memory, "--http")
    assert status == 2
    assert "WORKBENCH_HOME" in said


@pytest.mark.anyio
async def test_a_client_that_leaves_takes_its_call_along(daemon: Daemon, client: httpx.Client) -> None:
    """A raw connection that is cut while its call runs: the slot is free again, and nothing stays busy."""
    body = b'{"query": "queue"}'
    head = f"POST /v1/activate_memory HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for _ in range(20):
        _, writer = await asyncio.open_unix_connection(str(daemon.place.http_socket))
        writer.write(head + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    assert client.post("/v1/activate_memory", json={"query": QUERY}).status_code == 200
    until(lambda: 'workbench_calls_open{call="activate_memory"} 0.0' in client.get("/metrics").text)


@pytest.mark.slow
def test_an_interrupted_terminal_ends_it_too(home: Path, memory: Path) -> None:
    with daemon_of(home, memory) as daemon:
        os.kill(daemon.process.pid, signal.SIGINT)
        assert daemon.process.wait(30) == 0
        assert not is_alive(daemon.process.pid)
