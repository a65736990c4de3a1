"""Cancelling a call of the running service with the real models: they stop in the middle, and the slot is free."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.app.places import write
from tests.serve.serving import PATIENCE_S, Daemon, daemon_of, until
from workbench.core.run import RunRecord

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.slow]
Leave = Callable[[Daemon, dict[str, object], float], Awaitable[None]]
WORDS = ["release", "rollback", "database", "queue", "harbour", "migration", "window", "owner", "review", "branch"]
QUERY = "who reviews the rollback of a database migration in the morning"
MOMENTS = (0.1, 0.2, 0.3, 0.4, 0.5)
"""When the caller leaves, in shares of the time of the whole call."""


async def hang_up(daemon: Daemon, arguments: dict[str, object], seconds: float) -> None:
    """Ask over HTTP, and cut the connection."""
    body = json.dumps(arguments).encode()
    head = f"POST /v1/activate_memory HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    _, writer = await asyncio.open_unix_connection(str(daemon.place.http_socket))
    writer.write(head + body)
    await asyncio.sleep(seconds)
    writer.close()
    await writer.wait_closed()


async def cancel(daemon: Daemon, arguments: dict[str, object], seconds: float) -> None:
    """Ask as an agent, and cancel the call."""
    headers = {"authorization": f"Bearer {daemon.token}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as web,
        Client(streamable_http_client(f"{daemon.base}/mcp", http_client=web)) as client,
    ):
        calling = asyncio.create_task(client.call_tool("activate_memory", arguments))
        await asyncio.sleep(seconds)
        calling.cancel()
        await asyncio.wait([calling])


@pytest.mark.field(107, 108)
@pytest.mark.parametrize("leave", [hang_up, cancel])
async def test_a_call_whose_caller_leaves_stops_in_the_middle_of_the_models_work(
    home: Path, place: Path, models_folder: Path, installed_model: Callable[[str], Path], leave: Leave
) -> None:
    """One slot only: whatever comes next would wait for a call that kept it."""
    for model in ("e5-small", "minilm-l12-ce"):
        installed_model(model)
    home.mkdir(mode=0o700)
    (home / "models").symlink_to(models_folder)
    memory = write(place / "long", {f"notes/{number}.md": long_page(number) for number in range(30)})
    settings = {"ENGINE": "e5-small", "CROSS_ENCODER": "true", "LIMITS": '{"concurrency": 1}'}
    with (
        daemon_of(home, memory, **{f"WORKBENCH_{name}": value for name, value in settings.items()}) as daemon,
        daemon.client() as client,
    ):

        def run_of(**arguments: object) -> RunRecord:
            answer = client.post("/v1/activate_memory", json={"query": QUERY, **arguments}).json()
            return RunRecord.model_validate(
                client.post("/v1/get_retrieval_run", json={"run_id": answer["run_id"]}).json()
            )

        until(lambda: not run_of().summary.degradations)
        whole_us = run_of().summary.latency_us
        assert whole_us is not None
        for moment in MOMENTS:
            await leave(daemon, {"query": QUERY, "request_key": str(moment)}, moment * whole_us / 1_000_000)
            assert client.post("/v1/index_status", json={}).status_code == 200
        listed = client.post("/v1/list_retrieval_runs", json={"limit": len(MOMENTS)}).json()["runs"]
    assert {run["request_key"] for run in listed} == {str(moment) for moment in MOMENTS}
    assert {(run["state"], run["error"]["code"]) for run in listed} == {("failed", "cancelled")}
    assert statistics.median(run["latency_us"] for run in listed) < 0.7 * whole_us


def long_page(number: int) -> str:
    words = random.Random(number)
    sections = (f"## Part {part}\n\n{' '.join(words.choices(WORDS, k=250))}.\n" for part in range(3))
    return f"# Note {number}\n\n" + "\n".join(sections)
