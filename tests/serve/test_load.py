"""Many clients at once, while files change and indexes are built: documented errors only, no run lost, memory flat."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psutil
import pytest

from tests.app.places import write
from tests.serve.serving import Daemon, daemon_of
from workbench.app import Home
from workbench.core.run import RunState

WORDS = ["queue", "database", "storage", "release", "harbour", "tea", "morning", "migration", "cache", "thumbnail"]
QUERIES = [" ".join(pair) for pair in itertools.combinations(WORDS[:6], 2)]
DOCUMENTED = {"overloaded", "deadline_exceeded", "index_busy"}
PAGES = 60


@dataclass
class Outcome:
    """What the clients got. answers: by query and revision, every list of fragments that came."""

    answers: dict[tuple[str, int], set[tuple[str, ...]]] = field(default_factory=dict)
    run_ids: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)


@pytest.mark.field(95)
@pytest.mark.parametrize(("clients", "rounds"), [(8, 10), pytest.param(16, 200, marks=pytest.mark.slow, id="16x200")])
def test_many_clients_during_builds_and_edits_lose_nothing(home: Path, place: Path, clients: int, rounds: int) -> None:
    memory = write(place / "big", {f"notes/{number}.md": page(number, 0) for number in range(PAGES)})
    with daemon_of(home, memory, WORKBENCH_LIMITS='{"retained_runs": 10000}') as daemon:
        outcome = Outcome()
        with edits(memory):
            asyncio.run(load(outcome, daemon, clients, rounds))
        asyncio.run(load(outcome, daemon, clients, len(QUERIES) // clients + 1))
        with daemon.client() as client:
            for query in QUERIES:
                note(outcome, query, client.post("/v1/activate_memory", json={"query": query}).json())
        process = psutil.Process(daemon.process.pid)
        threads = process.num_threads()
    print_figures(outcome, threads)
    assert set(outcome.refusals) <= DOCUMENTED
    asked = clients * (rounds + len(QUERIES) // clients + 1) + len(QUERIES)
    assert len(outcome.run_ids) + len(outcome.refusals) == asked
    history = Home.open(home, engine="none").history
    (project,) = [folder.name for folder in (home / "projects").iterdir()]
    recorded = {run.run_id: run for run in history.list(project, 100_000)}
    assert all(recorded[run_id].state is RunState.SUCCEEDED for run_id in outcome.run_ids)
    assert not [run for run in recorded.values() if run.state is RunState.RUNNING]
    assert len({revision for _, revision in outcome.answers}) > 1, "nothing was built meanwhile"
    for key, lists in outcome.answers.items():
        assert len(lists) == 1, f"{key} was answered differently within one revision"
    if clients * rounds > 1000:
        middle, end = outcome.memory_mib[len(outcome.memory_mib) // 2], outcome.memory_mib[-1]
        assert end <= middle * 1.1


async def load(outcome: Outcome, daemon: Daemon, clients: int, rounds: int) -> None:
    """Every client asks so often, one request after the other."""
    process = psutil.Process(daemon.process.pid)
    headers = {"authorization": f"Bearer {daemon.token}"}
    done = itertools.count(1)

    async def client(number: int) -> None:
        chosen = random.Random(number)
        async with httpx.AsyncClient(base_url=daemon.base, headers=headers, timeout=120) as web:
            for _ in range(rounds):
                query = chosen.choice(QUERIES)
                answer = await web.post("/v1/activate_memory", json={"query": query})
                note(outcome, query, answer.json())
                if next(done) % max(1, clients * rounds // 20) == 0:
                    outcome.memory_mib.append(process.memory_info().rss / 2**20)

    await asyncio.gather(*map(client, range(clients)))


def note(outcome: Outcome, query: str, answer: dict[str, Any]) -> None:
    if "code" in answer:
        outcome.refusals.append(answer["code"])
        return
    assert answer["run_id"] is not None
    outcome.run_ids.append(answer["run_id"])
    fragments = tuple(one["unit_key"] + one["content_hash"] for one in answer["fragments"])
    outcome.answers.setdefault((query, answer["index"]["revision"]), set()).add(fragments)


@contextmanager
def edits(memory: Path) -> Iterator[None]:
    """While the block runs, pages change, one after the other."""
    stop = threading.Event()

    def edit() -> None:
        for turn in itertools.count(1):
            if stop.wait(0.3):
                return
            number = turn % PAGES
            write(memory, {f"notes/{number}.md": page(number, turn)})

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        yield
    finally:
        stop.set()
        editor.join()


def page(number: int, turn: int) -> str:
    words = random.Random(f"{number}.{turn}")
    body = "\n\n".join(" ".join(words.choices(WORDS, k=30)) + "." for _ in range(4))
    return f"# Note {number}\n\n{body}\n"


def print_figures(outcome: Outcome, threads: int) -> None:
    """For whoever runs it with -s."""
    figures = {
        "answers": len(outcome.run_ids),
        "refusals": {code: outcome.refusals.count(code) for code in set(outcome.refusals)},
        "revisions": len({revision for _, revision in outcome.answers}),
        "memory_mib": [round(value) for value in outcome.memory_mib],
        "threads": threads,
    }
    print(json.dumps(figures))  # noqa: T201


@pytest.mark.slow
def test_a_thousand_idle_connections_hold_nobody_up(home: Path, memory: Path) -> None:

    with daemon_of(home, memory) as daemon, daemon.client() as client:
        idle = [socket.create_connection(("127.0.0.1", daemon.card["port"])) for _ in range(900)]
        idle += [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for one in idle[900:]:
            one.connect(str(daemon.place.http_socket))
        try:
            for _ in range(20):
                assert client.post("/v1/activate_memory", json={"query": "tea"}).status_code == 200
        finally:
            for one in idle:
                one.close()
