"""MCP in this process: the SDK's own client of both protocol eras, and what a model reads when something fails."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from mcp import Client, MCPError

from serve.calls import CALLS
from serve.service import Service
from serve.tools import build_server
from tests.app.places import set_states, write
from tests.serve.serving import PATIENCE_S, QUERY, eventually, service_of
from workbench.app import Home
from workbench.core.deadline import Deadline
from workbench.core.errors import WorkbenchError
from workbench.core.run import RunState
from workbench.models.fake import FakeEmbedder, FakeReranker

pytestmark = pytest.mark.anyio
ERAS = ["legacy", "auto"]


class SlowReranker(FakeReranker):
    """A cross-encoder that takes a minute, and looks at its deadline between two texts as the real one does."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = Event()

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        self.begun.set()
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            deadline.check()
            time.sleep(0.01)
        return super().score(query, texts, deadline)


class LoadingEmbedder(FakeEmbedder):
    """An engine that is still being loaded until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.may_load = Event()

    def load(self) -> None:
        self.may_load.wait()
        super().load()


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_gets_memory_and_hands_its_state_back(home: Path, memory: Path, era: Any) -> None:
    async with service_of(home, memory) as service, Client(build_server(service), mode=era) as client:
        first = await client.call_tool("activate_memory", {"query": QUERY})
        again = await client.call_tool(
            "activate_memory", {"query": QUERY, "state": first.structured_content["state"], "session_id": ""}
        )
    assert json.loads(first.content[0].text) == first.structured_content
    assert {one["delta_action"] for one in first.structured_content["fragments"]} == {"add"}
    assert {one["delta_action"] for one in again.structured_content["fragments"]} == {"reuse"}


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_says_what_it_takes_gives_and_changes(home: Path, memory: Path, era: Any) -> None:
    async with service_of(home, memory) as service, Client(build_server(service), mode=era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for tool in tools.values():
        assert tool.description and tool.output_schema and tool.annotations
        assert tool.input_schema["additionalProperties"] is False
    assert tools["activate_memory"].annotations.read_only_hint
    assert tools["clear_retrieval_runs"].annotations.destructive_hint


REFUSALS: list[tuple[dict[str, Any], str, str]] = [
    ({"query": "tea", "glob": "*.md"}, "invalid_argument", "glob: no such argument"),
    ({}, "invalid_argument", "query: Field required"),
    ({"query": "  "}, "invalid_query", "query"),
    ({"query": "tea", "project": "elsewhere"}, "project_unknown", "served are: memory-"),
    ({"query": "tea", "project": "/etc"}, "project_unknown", "served are: memory-"),
    ({"query": "tea", "state": "not a state"}, "activation_state_invalid", "state"),
    ({"query": "tea", "limits": {"fragments": 0}}, "limits_invalid", "fragments"),
    ({"query": "tea", "deadline_ms": 0}, "invalid_argument", "deadline_ms"),
]


@pytest.mark.field(109)
@pytest.mark.parametrize("era", ERAS)
async def test_a_model_reads_what_was_wrong(home: Path, memory: Path, era: Any) -> None:
    async with service_of(home, memory) as service, Client(build_server(service), mode=era) as client:
        for arguments, code, says in REFUSALS:
            result = await client.call_tool("activate_memory", arguments)
            assert result.is_error, arguments
            error = json.loads(result.content[0].text)
            assert (error["code"], says in error["message"]) == (code, True), arguments


async def test_a_memory_without_an_index_only_has_to_be_waited_for(home: Path, memory: Path) -> None:
    """Nobody who asks the service has to build: it does that by itself, and again after a failure."""
    opened = Home.open(home, engine="fake")
    opened.embedder = FakeEmbedder(fail_after=1)
    service = Service(opened)
    service.serve_project(memory)
    try:
        before = await refusal_of(service)
        service.start()
        await eventually(lambda: service.live.status()[0].failure)
        after = await refusal_of(service)
    finally:
        await asyncio.to_thread(service.close)
    assert (before.code, after.code) == ("index_preparing", "index_build_failed")
    assert "ask again shortly" in before.message
    assert "tried again" in after.message
    assert "workbench index" not in before.message + after.message


async def refusal_of(service: Service) -> WorkbenchError:
    """How the service refuses a query."""
    with pytest.raises(WorkbenchError) as refusal:
        await service.answer(CALLS["activate_memory"], {"query": QUERY})
    return refusal.value


async def test_an_unknown_tool_is_refused_with_the_known_ones(home: Path, memory: Path) -> None:
    async with service_of(home, memory) as service, Client(build_server(service)) as client:
        result = await client.call_tool("memory_search", {"query": "tea"})
    assert result.is_error
    assert "activate_memory" in json.loads(result.content[0].text)["message"]


async def test_an_internal_error_is_an_id_that_the_log_has(
    home: Path, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(FakeReranker):
        def supports(self, text: str) -> bool:
            raise RuntimeError("secret")

    async with (
        service_of(home, memory, reranker=Broken()) as service,
        Client(build_server(service)) as client,
    ):
        result = await client.call_tool("activate_memory", {"query": QUERY})
    error = json.loads(result.content[0].text)
    logged = capsys.readouterr().out
    assert error["code"] == "internal"
    reference = error["message"].split("error, ")[1].split(";")[0]
    assert reference in logged
    assert "secret" not in result.content[0].text + logged
    assert "/" not in error["message"]


@pytest.mark.field(102)
async def test_an_answer_does_not_wait_for_a_model(home: Path, memory: Path) -> None:
    async with service_of(home, memory):
        pass
    embedder = LoadingEmbedder()
    try:
        async with service_of(home, memory, embedder=embedder) as service, Client(build_server(service)) as client:
            meanwhile = await client.call_tool("activate_memory", {"query": QUERY})
            embedder.may_load.set()
            await eventually(lambda: embedder.state == "ready")
            later = await client.call_tool("activate_memory", {"query": QUERY})
    finally:
        embedder.may_load.set()
    assert [note["code"] for note in meanwhile.structured_content["degradations"]] == ["model_preparing"]
    assert meanwhile.structured_content["fragments"][0]["path"] == "decisions/queue.md"
    assert later.structured_content["degradations"] == []


@pytest.mark.field(107)
@pytest.mark.field(108)
@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_stops_frees_its_slot_and_says_so_in_its_run(home: Path, memory: Path, era: Any) -> None:
    reranker = SlowReranker()
    async with (
        service_of(home, memory, reranker=reranker, limits={"concurrency": 1}) as service,
        Client(build_server(service), mode=era) as client,
    ):
        calling = asyncio.create_task(client.call_tool("activate_memory", {"query": QUERY}))
        await asyncio.to_thread(reranker.begun.wait)
        calling.cancel()
        await eventually(lambda: not service.busy)
        runs = await client.call_tool("list_retrieval_runs", {})
    (run,) = runs.structured_content["runs"]
    assert run["state"] == RunState.FAILED
    assert run["error"]["code"] == "cancelled"


@pytest.mark.parametrize("named_by", ["setting", "request"])
async def test_a_deadline_among_the_limits_holds_too(home: Path, memory: Path, named_by: str) -> None:
    limits = {"deadline_ms": 400}
    settings, asked = ({"limits": limits}, {}) if named_by == "setting" else ({}, {"limits": limits})
    async with (
        service_of(home, memory, reranker=SlowReranker(), **settings) as service,
        Client(build_server(service)) as client,
    ):
        async with asyncio.timeout(PATIENCE_S / 2):
            answer = await client.call_tool("activate_memory", {"query": QUERY, **asked})
    assert [note["code"] for note in answer.structured_content["degradations"]] == ["rerank_timeout"]


async def test_without_a_slot_until_the_deadline_a_call_is_overloaded(home: Path, memory: Path) -> None:
    reranker = SlowReranker()
    async with (
        service_of(home, memory, reranker=reranker, limits={"concurrency": 1}) as service,
        Client(build_server(service)) as client,
    ):
        holding = asyncio.create_task(client.call_tool("activate_memory", {"query": QUERY}))
        await asyncio.to_thread(reranker.begun.wait)
        refused = await client.call_tool("activate_memory", {"query": QUERY, "deadline_ms": 50})
        holding.cancel()
        await eventually(lambda: not service.busy)
        served = await client.call_tool("activate_memory", {"query": QUERY, "rerank": False})
    assert json.loads(refused.content[0].text)["code"] == "overloaded"
    assert not served.is_error


@pytest.mark.parametrize("era", ERAS)
async def test_progress_comes_to_whoever_asks_for_it(home: Path, memory: Path, era: Any) -> None:
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    reranker = SlowReranker()
    async with (
        service_of(home, memory, reranker=reranker) as service,
        Client(build_server(service), mode=era) as client,
    ):
        await client.call_tool("activate_memory", {"query": QUERY, "deadline_ms": 2500}, progress_callback=hear)
    assert told == [1.0, 2.0]


async def test_resources_show_the_catalog_and_the_text_of_what_is_current(home: Path, memory: Path) -> None:
    set_states(memory, 1, **{"user/tea.md": "retracted"})
    async with service_of(home, memory) as service, Client(build_server(service)) as client:
        (catalog,) = (await client.list_resources()).resources
        rows = json.loads((await client.read_resource(catalog.uri)).contents[0].text)["resources"]
        base = catalog.uri.removesuffix("catalog")
        text = (await client.read_resource(f"{base}resources/runbooks/release.md")).contents[0].text
        with pytest.raises(MCPError, match="catalog lists them"):
            await client.read_resource(f"{base}resources/user/tea.md")
        with pytest.raises(MCPError, match="Ask for memory://"):
            await client.read_resource("file:///etc/passwd")
    assert [row["resource_id"] for row in rows] == ["decisions/queue.md", "decisions/storage.md", "runbooks/release.md"]
    assert text.startswith("# 发布检查")


async def test_a_resource_that_cannot_be_read_shows_no_place_on_this_machine(home: Path, memory: Path) -> None:
    async with service_of(home, memory) as service, Client(build_server(service)) as client:
        (catalog,) = (await client.list_resources()).resources
        (project,) = service.projects.values()
        project.index.close()
        project.index.path.unlink()
        project.index.path.mkdir()
        with pytest.raises(MCPError) as refusal:
            await client.read_resource(catalog.uri)
        answer = await client.call_tool("activate_memory", {"query": QUERY})
    assert refusal.value.error.data["code"] == json.loads(answer.content[0].text)["code"] == "home_unwritable"
    assert str(home) not in str(refusal.value.error) + answer.content[0].text


async def test_a_run_of_a_memory_that_is_not_served_is_not_found(home: Path, memory: Path, place: Path) -> None:
    other = write(place / "other", {"private.md": "# Private\n\nNobody else's business.\n"})
    async with service_of(home, other) as service:
        run = await service.answer(CALLS["activate_memory"], {"query": "business"})
    async with service_of(home, memory) as service, Client(build_server(service)) as client:
        result = await client.call_tool("get_retrieval_run", {"run_id": run.model_dump()["run_id"]})
    assert json.loads(result.content[0].text)["code"] == "run_not_found"


async def test_of_several_memories_one_has_to_be_named(home: Path, memory: Path, place: Path) -> None:
    other = write(place / "other", {"sea.md": "# Sea\n\nThe queue at the harbour.\n"})
    async with service_of(home, memory) as service:
        second = service.serve_project(other)
        await eventually(lambda: service.unready() is None)
        async with Client(build_server(service)) as client:
            unnamed = await client.call_tool("activate_memory", {"query": "queue"})
            by_root = await client.call_tool("activate_memory", {"query": "queue", "project": str(other)})
        async with Client(build_server(service, second)) as client:
            by_default = await client.call_tool("activate_memory", {"query": "queue"})
    assert "Name the memory" in json.loads(unnamed.content[0].text)["message"]
    for answer in (by_root, by_default):
        assert [one["path"] for one in answer.structured_content["fragments"]] == ["sea.md"]
