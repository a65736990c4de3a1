"""stdio: real processes whose every line on stdout is protocol, one engine for all, and its comings and goings."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client as sdk_stdio
from mcp.server.stdio import stdio_server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from serve import handshake
from serve.bridge import INVALID_REQUEST, LONGEST_LINE
from serve.calls import CALLS
from serve.place import Place
from serve.service import Service
from serve.tools import build_server
from tests.conftest import ROOT
from tests.serve.serving import (
    QUERY,
    Daemon,
    Stdio,
    command,
    daemon_of,
    end_service,
    environment,
    is_alive,
    stdio_client,
    stdio_client_of,
    until,
)
from workbench.app import Home

HEAVY = ("mcp", "mcp_types", "starlette", "uvicorn", "numpy", "onnxruntime", "sqlite3", "workbench.app")


@pytest.mark.field(101)
def test_every_line_on_stdout_is_protocol(home: Path, memory: Path) -> None:
    with stdio_client(home, memory) as client:
        client.open()
        client.ask("tools/list")
        client.activated()
        client.call("activate_memory", query="")
        client.call("no_such_tool")
        assert client.process.stdin is not None
        client.process.stdin.write(b"this is no JSON\n[]\n\n")
        client.process.stdin.flush()
        assert client.call("index_status")["result"]["isError"] is False
    assert all(line.startswith(b'{"jsonrpc"') for line in client.heard)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.field(101)
def test_a_real_model_writes_nothing_to_stdout_either(
    home: Path, memory: Path, models_folder: Path, installed_model: Callable[[str], Path]
) -> None:
    installed_model("e5-small")
    home.mkdir(mode=0o700)
    (home / "models").symlink_to(models_folder)
    with stdio_client(home, memory, engine="e5-small") as client:
        client.open()
        answer = client.activated()
        assert "dense" in answer["index"]["arms"]
        until(lambda: client.activated()["degradations"] == [])


@pytest.mark.field(113)
def test_three_clients_share_one_engine(home: Path, memory: Path) -> None:
    with stdio_client(home, memory) as one, stdio_client(home, memory) as two, stdio_client(home, memory) as three:
        answers = []
        for client in (one, two, three):
            client.open()
            answers.append(client.activated())
        pid = Place.of(home).announced()["pid"]
        assert is_alive(pid)
        assert pid not in {client.process.pid for client in (one, two, three)}
    assert len({tuple(fragment["unit_key"] for fragment in answer["fragments"]) for answer in answers}) == 1


def test_who_wants_a_port_beside_the_clients_is_told_the_way(home: Path, memory: Path) -> None:
    with stdio_client(home, memory) as client:
        client.open()
        client.activated()
        place = Place.of(home)
        second = subprocess.run(
            command("serve", "--http", "--project", memory),
            env=environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert f"curl --unix-socket {place.http_socket}" in second.stderr
        assert f"kill {place.announced()['pid']}" in second.stderr
        end_service(home)
    events = [json.loads(line)["event"] for line in place.log.read_text(encoding="utf-8").splitlines()]
    assert events[-1] == "ended"
    assert "library" not in events, "hanging up on a client is no trouble"


@pytest.mark.field(94)
def test_a_client_outlives_the_death_of_its_service(home: Path, memory: Path) -> None:
    with stdio_client(home, memory) as client:
        client.open()
        before = client.activated()
        first = Place.of(home).announced()["pid"]
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_alive(first))
        after = client.activated()
        assert Place.of(home).announced()["pid"] != first
    assert [one["unit_key"] for one in after["fragments"]] == [one["unit_key"] for one in before["fragments"]]


def test_the_bridge_leaves_with_its_client_and_the_service_follows(home: Path, memory: Path) -> None:
    with stdio_client(home, memory) as client:
        client.open()
        client.activated()
        pid = Place.of(home).announced()["pid"]
        assert client.close() == 0
        until(lambda: not is_alive(pid))
    assert not Place.of(home).mcp_socket.exists()


def test_an_oversized_message_is_refused_and_the_next_one_served(daemon: Daemon) -> None:
    with stdio_client_of(daemon) as client:
        client.open()
        client.say("tools/call", {"name": "activate_memory", "arguments": {"query": "x" * LONGEST_LINE}}, id=99)
        refusal = client.hear()
        assert refusal["id"] is None
        assert "longer than" in refusal["error"]["message"]
        assert client.activated()["fragments"]


def test_what_is_no_message_is_answered_and_the_next_one_served(daemon: Daemon) -> None:
    """A request that the SDK cannot read would otherwise be waited for for ever; half a character is enough."""
    call = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "index_status", "arguments": %s}}'
    unreadable = {
        call % (7, '{"project": "\\ud83d"}'): 7,
        call % ('"eight"', '{"project": ' + "[" * 300 + "]" * 300 + "}"): "eight",
        call % (9, '{"project": ' + "[" * 100_000 + "]" * 100_000 + "}"): None,
        call % ("[10]", "{}"): None,
        call % (1.5, "{}"): None,
        "no JSON": None,
        "[" + call % (11, "{}") + "]": None,
        "12": None,
    }
    with stdio_client_of(daemon) as client:
        client.open()
        assert client.process.stdin is not None
        for line, request_id in unreadable.items():
            client.process.stdin.write(line.encode() + b"\n")
            client.process.stdin.flush()
            refusal = client.hear()
            assert (refusal["id"], refusal["error"]["code"]) == (request_id, INVALID_REQUEST)
        client.process.stdin.write(call.encode().replace(b"index_status", b"\xff") % (b"13", b"{}") + b"\n")
        client.process.stdin.flush()
        assert client.hear()["error"]["code"] == INVALID_REQUEST
        assert client.activated()["fragments"]


def test_an_opening_that_is_none_is_refused_and_a_right_one_taken(daemon: Daemon) -> None:
    wrong: list[Any] = [[1], "x", {}, {"protocolVersion": 1, "capabilities": {}, "clientInfo": {}}]
    with stdio_client_of(daemon) as client:
        for params in wrong:
            assert "error" in client.ask("initialize", params)
        assert client.open()["serverInfo"]
        assert client.open("2025-03-26")["protocolVersion"] == "2025-03-26"
        assert client.activated()["fragments"]


def test_whoever_does_not_introduce_himself_is_hung_up_on_and_noted(home: Path, memory: Path) -> None:
    hellos = [b"5", b"{}", b"[]", b'{"projects": 5}', b'{"projects": [5]}', b'{"projects": ["/no/secret"]}', b"\xff"]
    with daemon_of(home, memory) as daemon:
        for hello in [*hellos, b"[" * 100_000, b"x" * 2_000_000]:
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(daemon.place.mcp_socket))
                with contextlib.suppress(BrokenPipeError):
                    stranger.sendall(hello + b"\n")
                with contextlib.suppress(ConnectionResetError):
                    assert stranger.recv(1) == b""
    events = [json.loads(line) for line in (home.parent / "daemon.log").read_text(encoding="utf-8").splitlines()]
    assert {event["event"] for event in events} == {"serving", "built", "client_lost", "ending", "ended"}
    assert "secret" not in str(events)


@pytest.mark.anyio
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01"])
async def test_the_bridges_handshake_is_the_sdks_own(home: Path, version: str) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    said, heard = asyncio.StreamReader(), Heard()
    said.feed_data(json.dumps(request).encode() + b"\n")
    said.feed_eof()
    server = build_server(Service(Home.open(home, engine="none")))
    async with stdio_server(said, heard) as streams:
        await server.run(*streams, server.create_initialization_options())
    assert json.loads(heard.text)["result"] == handshake.answer(params)
    assert handshake.PROTOCOLS == HANDSHAKE_PROTOCOL_VERSIONS


class Heard:
    """The writing side of the SDK's line transport."""

    text = ""

    async def write(self, text: str) -> None:
        self.text += text

    async def flush(self) -> None:
        pass


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_sdks_stdio_client_of_both_eras_is_served(daemon: Daemon, era: str) -> None:
    program, *arguments = command("serve", "--stdio", "--project", daemon.memory)
    parameters = StdioServerParameters(command=program, args=arguments, env=environment(daemon.home))
    async with Client(sdk_stdio(parameters), mode=era) as client:
        assert "activate_memory" in {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("activate_memory", {"query": QUERY, "deadline_ms": ""})
        assert result.structured_content["fragments"][0]["path"] == "decisions/queue.md"


@pytest.mark.parametrize("version", ["2024-11-05", pytest.param("2025-03-26", marks=pytest.mark.slow)])
def test_a_client_of_an_earlier_protocol_is_served(daemon: Daemon, version: str) -> None:
    with stdio_client_of(daemon) as client:
        assert client.open(version)["protocolVersion"] == version
        assert client.activated()["fragments"]
        assert client.ask("ping")["result"] == {}


@pytest.mark.slow
def test_a_client_of_the_previous_sdk_generation_is_served(daemon: Daemon, tmp_path: Path) -> None:
    """It cannot live beside the present one, so it gets an environment of its own."""
    python = tmp_path / "old" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    install = [python, "-m", "pip", "install", "-q", "mcp>=1.20,<2"]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        pytest.skip("the previous SDK cannot be installed here")
    script = [python, ROOT / "tests/serve/previous_client.py", *command("serve", "--stdio", "--project", daemon.memory)]
    done = subprocess.run(script, env=environment(daemon.home), cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    got = json.loads(done.stdout)
    assert got["protocol"] in HANDSHAKE_PROTOCOL_VERSIONS
    assert got["tools"] == list(CALLS)
    assert got["paths"][0] == "decisions/queue.md"
    assert got["refusal"] == "invalid_argument"
    assert got["resources"] == 1


@pytest.mark.field(103)
def test_the_bridge_loads_neither_the_sdk_nor_the_engine() -> None:
    script = f"import sys, serve.command, serve.bridge; print(*sys.modules.keys() & set({HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_a_memory_has_to_be_named(home: Path) -> None:
    done = subprocess.run(command("serve", "--stdio"), env=environment(home), capture_output=True, check=False)
    assert done.returncode == 2
    assert b"--project FOLDER" in done.stderr
    assert done.stdout == b""


def test_a_service_that_cannot_start_is_an_error_not_silence(home: Path, memory: Path) -> None:
    """The lock is a folder here, so that every start fails."""
    place = Place.of(home)
    place.lock.mkdir()
    with stdio_client(home, memory) as client:
        client.open()
        error = client.call("activate_memory", query=QUERY)["error"]
    assert error["data"]["code"] == "service_interrupted"
    assert "no service could be started" in error["message"].lower()
    assert sys.executable not in str(error)


def test_a_home_without_room_for_a_service_is_an_error_not_a_traceback(home: Path, memory: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "serve").write_text("in the way", encoding="utf-8")
    client = Stdio(home, memory, "fake")
    client.open()
    assert client.call("activate_memory", query=QUERY)["error"]["data"]["code"] == "service_interrupted"
    assert client.process.stdin is not None and client.process.stderr is not None
    client.process.stdin.close()
    assert client.process.stderr.read() == b""
    assert client.close() == 0
