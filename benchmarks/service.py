"""The service beside the same call in process, beside a trivial MCP tool, and from a cold start.

The engine is the shipped fake: what is measured is what stands around it.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any

from benchmarks.measure import interleaved
from benchmarks.report import Report
from serve.client import ServiceClient
from serve.place import Place
from workbench.app import Home
from workbench.core.activation import ActivationRequest

NOTES, ROUNDS, STARTS = 500, 20, 10
QUERIES = [f"what was decided about part {number} of the importer" for number in range(10)]
TRIVIAL = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("trivial")
@server.tool()
async def echo(query: str) -> str:
    return query
server.run("stdio")
"""


def service(report: Report) -> None:
    """One memory, asked in process, over HTTP and over MCP in turns."""
    with tempfile.TemporaryDirectory(prefix="workbench-serve-") as scratch:
        root, home = _write(Path(scratch) / "memory"), Path(scratch) / "home"
        starts = [_initialized_in(home, root) for _ in range(STARTS)]
        project = Home.open(Path(scratch) / "beside", engine="fake").project(root)
        project.refresh()
        with (
            _serving(home, root) as port,
            _mcp(_command("serve", "--stdio", "--project", root), home) as agent,
            _mcp([sys.executable, "-c", TRIVIAL], home) as trivial,
        ):
            web = http.client.HTTPConnection("127.0.0.1", port)
            headers = {"authorization": f"Bearer {Place.of(home).token.read_text(encoding='utf-8')}"}

            def over_http(query: str) -> None:
                web.request("POST", "/v1/activate_memory", json.dumps({"query": query}), headers)
                web.getresponse().read()

            timings = interleaved(
                {
                    "in process": lambda query: project.activate(ActivationRequest(query=query)),
                    "HTTP": over_http,
                    "MCP on stdio": lambda query: agent.call("activate_memory", query=query),
                    "last run, in process": lambda query: project.home.history.list(project.project_id, 1),
                    "last run, MCP on stdio": lambda query: agent.call("list_retrieval_runs", limit=1),
                    "trivial MCP tool on stdio": lambda query: trivial.call("echo", query=query),
                },
                QUERIES,
                ROUNDS,
            )
    rows = [{"asked": name, "wall p50 ms": one.wall_p50, "p95 ms": one.wall_p95} for name, one in timings.items()]
    report.table(f"One activation, {NOTES} notes, without encoding", rows)
    report.table("Cold start", [{"until": "initialize is answered", "p50 s": median(starts), "longest s": max(starts)}])
    took = {name: one.wall_p50 for name, one in timings.items()}
    report.mark("HTTP over the same call in process, wall p50", took["HTTP"] - took["in process"], 5, "ms")
    # By a call that asks next to nothing: beside a whole activation its noise would be the greater part.
    around = took["last run, MCP on stdio"] - took["last run, in process"]
    report.mark("tool round trip around a call ÷ a trivial MCP tool", around / took["trivial MCP tool on stdio"], 1.5)
    report.mark("initialize from a cold start, longest of ten", max(starts), 1.5, "s")


class _Lines:
    """A raw MCP client on the streams of a process, so that both sides pay the same client."""

    def __init__(self, said: IO[bytes], heard: IO[bytes]) -> None:
        self._said, self._heard, self._number = said, heard, 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> None:
        """One tool call, answered."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result.get("isError"), result

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One request, answered."""
        self._number += 1
        self._say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer: dict[str, Any] = json.loads(self._heard.readline())
        return answer

    def _say(self, message: Mapping[str, Any]) -> None:
        self._said.write(json.dumps(message).encode() + b"\n")
        self._said.flush()


@contextmanager
def _mcp(command: list[str], home: Path) -> Iterator[_Lines]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=_environment(home))
    assert process.stdin is not None and process.stdout is not None
    with process, process.stdin:
        yield _Lines(process.stdin, process.stdout)


@contextmanager
def _serving(home: Path, root: Path) -> Iterator[int]:
    """The port of the service, when it has indexed the memory."""
    command = _command("serve", "--http", "--port", "0", "--project", root)
    process = subprocess.Popen(command, env=_environment(home), stderr=subprocess.DEVNULL)
    while Place.of(home).announced().get("pid") != process.pid:
        time.sleep(0.02)
    with ServiceClient(home, root) as client:
        client.wait_for_index()
    yield Place.of(home).announced()["port"]
    process.terminate()
    process.wait()


def _initialized_in(home: Path, root: Path) -> float:
    """Seconds from the start of the command to the answer, with no service running before or after."""
    started = time.perf_counter()
    with _mcp(_command("serve", "--stdio", "--project", root), home):
        elapsed = time.perf_counter() - started
    while Place.of(home).card.exists() or Place.of(home).mcp_socket.exists():
        time.sleep(0.05)
    return elapsed


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "workbench", *map(str, arguments)]


def _environment(home: Path) -> dict[str, str]:
    return os.environ | {"WORKBENCH_HOME": str(home), "WORKBENCH_ENGINE": "fake"}


def _write(root: Path) -> Path:
    root.mkdir()
    for number in range(NOTES):
        text = f"# Part {number}\n\nThe importer reads part {number} first.\n\n## Decision\n\nPart {number} stays.\n"
        (root / f"{number}.md").write_text(text, encoding="utf-8")
    return root
