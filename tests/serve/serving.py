"""What the tests of the service share: a short home, a service in this process, and real processes on real sockets."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

from serve.place import Place
from serve.service import Service
from tests.app.places import PAGES, write
from tests.conftest import ROOT
from workbench.app import Home
from workbench.models.base import Embedder, Reranker

PATIENCE_S = 60.0
QUERY = "which database keeps the job queue"


@asynccontextmanager
async def service_of(
    home: Path, memory: Path, *, embedder: Embedder | None = None, reranker: Reranker | None = None, **settings: Any
) -> AsyncIterator[Service]:
    """A service in this process; its memory is indexed when the block begins."""
    opened = Home.open(home, engine="fake", **settings)
    if embedder is not None:
        opened.embedder = embedder
    if reranker is not None:
        opened.reranker = reranker
    service = Service(opened)
    service.serve_project(memory)
    service.start()
    try:
        await eventually(lambda: service.unready() is None)
        yield service
    finally:
        await service.drain(0)
        await asyncio.to_thread(service.close)


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until it holds."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        await asyncio.sleep(0.02)


def until(condition: Callable[[], Any]) -> Any:
    """Wait until it holds, outside of an event loop; what it gave."""
    ends = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.02)
    return value


class Daemon:
    """A running `workbench serve`, as its card describes it."""

    def __init__(self, home: Path, memory: Path, process: subprocess.Popen[bytes]) -> None:
        self.home, self.memory, self.place, self.process = home, memory, Place.of(home), process

    @property
    def card(self) -> dict[str, Any]:
        return self.place.announced()

    @property
    def token(self) -> str:
        return self.place.token.read_text(encoding="utf-8")

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.card['port']}"

    def client(self, **how: Any) -> httpx.Client:
        """An HTTP client of the loopback port, with the token."""
        headers = {"authorization": f"Bearer {self.token}", **how.pop("headers", {})}
        return httpx.Client(base_url=self.base, headers=headers, timeout=PATIENCE_S, **how)

    def end(self) -> int:
        """SIGTERM, and its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command that works in this home with the fake engine."""
    return os.environ | {"WORKBENCH_HOME": str(home), "WORKBENCH_ENGINE": "fake", **more}


def command(*arguments: object) -> list[str]:
    """`workbench` with these arguments, as another process runs it."""
    return [sys.executable, "-c", "from workbench.cli import main; main()", *map(str, arguments)]


@contextmanager
def daemon_of(home: Path, memory: Path, *arguments: object, **more: str) -> Iterator[Daemon]:
    """`workbench serve --http` on any free port, up and indexed; ended afterwards."""
    with (home.parent / "daemon.log").open("ab") as log:
        process = subprocess.Popen(
            command("serve", "--http", "--port", 0, "--project", memory, *arguments),
            cwd=ROOT,
            env=environment(home, **more),
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    daemon = Daemon(home, memory, process)
    try:
        until(lambda: daemon.card.get("pid") == process.pid or process.poll() is not None)
        assert process.poll() is None, "the service ended at once"
        with daemon.client() as client:
            until(lambda: client.get("/readyz").status_code == 200)
        yield daemon
    finally:
        if process.poll() is None:
            daemon.end()


class Stdio:
    """One MCP client of `workbench serve --stdio`, speaking raw lines."""

    def __init__(self, home: Path, memory: Path, engine: str) -> None:
        self.process = subprocess.Popen(
            command("serve", "--stdio", "--project", memory),
            cwd=ROOT,
            env=environment(home, WORKBENCH_ENGINE=engine),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.heard: list[bytes] = []
        self._number = 0

    def say(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params}), **more}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A request, and its whole response."""
        self._number += 1
        self.say(method, params, id=self._number)
        while (message := self.hear()).get("id") != self._number:
            pass
        return message

    def hear(self) -> dict[str, Any]:
        """The next message; every line of stdout has to be one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.heard.append(line)
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def open(self, version: str = "2025-06-18") -> dict[str, Any]:
        """The handshake; its result."""
        client = {"name": "raw", "version": "1"}
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.say("notifications/initialized")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The response of a tool call."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def activated(self, query: str = QUERY) -> dict[str, Any]:
        """The result of the first activation that the index can answer."""

        def once() -> dict[str, Any] | None:
            result = self.call("activate_memory", query=query).get("result", {})
            return None if result.get("isError", True) else result["structuredContent"]

        found: dict[str, Any] = until(once)
        return found

    def close(self) -> int:
        """Hang up; the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return status


@contextmanager
def stdio_client_of(daemon: Daemon) -> Iterator[Stdio]:
    """A client of a service that runs already, and goes on."""
    with closing(Stdio(daemon.home, daemon.memory, "fake")) as client:
        yield client


@contextmanager
def stdio_client(home: Path, memory: Path, *, engine: str = "fake") -> Iterator[Stdio]:
    """A client; when the block ends it hangs up, and the service that it started is ended."""
    client = Stdio(home, memory, engine)
    try:
        yield client
    finally:
        client.close()
        end_service(home)


def end_service(home: Path) -> None:
    """End the service that a stdio client started, and wait until it is gone."""
    place = Place.of(home)
    pid = place.announced().get("pid")
    if pid is None:
        return
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    until(lambda: not place.card.exists() or not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


def new_memory(folder: Path) -> Path:
    """A small memory."""
    return write(folder / "memory", PAGES)
