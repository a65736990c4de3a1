"""The calls that change something: memory through its gate, and cases. What one writes, the next one finds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from serve.calls import CALLS
from serve.tools import build_server
from tests.serve.serving import PATIENCE_S, QUERY, service_of
from workbench.core.errors import WorkbenchError
from workbench.core.hashing import sha256_hex

pytestmark = pytest.mark.anyio
Ask = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def asking(home: Path, memory: Path, **settings: Any) -> AsyncIterator[Ask]:
    """A short way to call: `await ask("memory_write", source_ref=…)` gives the answer as JSON, or raises."""
    async with service_of(home, memory, **settings) as service:

        async def ask(name: str, **arguments: Any) -> Any:
            return (await service.answer(CALLS[name], arguments)).model_dump(mode="json")

        yield ask


async def found(ask: Ask, query: str) -> list[str]:
    """The resources that a query finds."""
    return [one["resource_id"] for one in (await ask("memory_recall", query=query))["fragments"]]


async def test_what_is_written_is_recalled_and_what_is_retracted_is_not(home: Path, memory: Path) -> None:
    async with asking(home, memory) as ask:
        commit = await ask("memory_write", source_ref="decisions/cache.md", text="# Cache\n\nValkey serves as cache.\n")
        assert commit["written"] == ["decisions/cache.md"]
        await wait_for(lambda: found(ask, "valkey"), lambda ids: ids[:1] == ["decisions/cache.md"])
        changed = await ask("memory_supersede", resource_id="decisions/cache.md", text="# Cache\n\nNo cache at all.\n")
        assert "decisions/cache.md" not in await found(ask, "valkey")
        await wait_for(lambda: found(ask, "cache at all"), lambda ids: changed["successor"] in ids)
        await ask("memory_retract", resource_id=changed["successor"], reason="it was a joke")
        assert changed["successor"] not in await found(ask, "cache at all")
    assert "Valkey" in (memory / "decisions/cache.md").read_text(encoding="utf-8")


async def test_a_write_over_a_changed_file_is_refused_and_changes_nothing(home: Path, memory: Path) -> None:
    page = memory / "user/tea.md"
    async with service_of(home, memory) as service, Client(build_server(service)) as client:
        (catalog,) = (await client.list_resources()).resources
        sources = json.loads((await client.read_resource(catalog.uri)).contents[0].text)["sources"]
        digest = next(one["digest"] for one in sources if one["source_ref"] == "user/tea.md")
        page.write_text("# Tea\n\nBlack tea after all.\n", encoding="utf-8")
        write = {"source_ref": "user/tea.md", "text": "# Tea\n\nNo tea.\n", "expected_digest": digest}
        refused = await client.call_tool("memory_write", write)
        unread = await client.call_tool("memory_write", {**write, "expected_digest": ""})
    for answer in (refused, unread):
        assert json.loads(answer.content[0].text)["code"] == "digest_conflict"
    assert "Black tea" in page.read_text(encoding="utf-8")


async def test_a_repeated_edit_of_a_page_gives_the_first_result(home: Path, memory: Path) -> None:
    page = {"source_ref": "whiteboard/new.md"}
    async with asking(home, memory) as ask:
        await ask("memory_write", **page, text="<!-- card:a -->\n### A\n\nOne.\n")
        digest = sha256_hex((memory / page["source_ref"]).read_bytes())
        edit = {**page, "text": "# Empty\n", "expected_digest": digest, "archived": {"a": "done"}, "tx_id": "tx"}
        assert await ask("memory_write", **edit) == await ask("memory_write", **edit)


@pytest.mark.field(97)
async def test_parallel_writes_of_one_log_lose_nothing(home: Path, memory: Path) -> None:
    async with asking(home, memory) as ask:
        texts = [f"Remember number {number}." for number in range(7)]
        await asyncio.gather(
            *(ask("memory_write", source_ref="log/2026-12.md", text=text, append=True) for text in texts)
        )
    written = (memory / "log/2026-12.md").read_text(encoding="utf-8")
    assert all(text in written for text in texts)


async def test_the_same_transaction_again_changes_nothing(home: Path, memory: Path) -> None:
    write = {"source_ref": "user/sea.md", "text": "# Sea\n\nCold.\n", "tx_id": "tx-1"}
    async with asking(home, memory) as ask:
        assert await ask("memory_write", **write) == await ask("memory_write", **write)


async def test_an_answer_is_archived_once_and_the_whiteboard_is_linted(home: Path, memory: Path) -> None:
    answer = {"request_id": "q-1", "target": "card", "title": "Queue", "conclusion": "PostgreSQL keeps the queue."}
    async with asking(home, memory) as ask:
        first = await ask("archive_answer", **answer, evidence_refs=["decisions/queue.md"])
        assert await ask("archive_answer", **answer) == first
        report = await ask("whiteboard_lint")
    assert report["coverage"]["cards"] == 1
    assert (memory / first["page"]).read_text(encoding="utf-8").count("PostgreSQL keeps the queue.") == 1


async def test_a_read_only_memory_is_not_written(home: Path, memory: Path) -> None:
    async with asking(home, memory, memory_mutation_mode="readonly") as ask:
        with pytest.raises(WorkbenchError) as refusal:
            await ask("memory_write", source_ref="user/sea.md", text="# Sea\n\nCold.\n")
    assert refusal.value.code == "read_only"
    assert not (memory / "user/sea.md").exists()


async def test_a_successor_is_named_or_written_and_not_both(home: Path, memory: Path) -> None:
    async with asking(home, memory) as ask:
        for both in ({}, {"successor": "user/tea.md", "text": "x"}):
            with pytest.raises(WorkbenchError, match="either `successor` or `text`"):
                await ask("memory_supersede", resource_id="decisions/queue.md", **both)


async def test_a_run_becomes_a_case_and_a_case_a_set(home: Path, memory: Path) -> None:
    async with asking(home, memory) as ask:
        run = await ask("activate_memory", query=QUERY)
        case = await ask("create_evaluation_case", run_id=run["run_id"])
        evidence = [{"resource_id": "decisions/queue.md", "excerpt": "what a client says is ignored"}]
        named = {"case_id": case["case_id"], "expected_version": 1, "evidence": evidence}
        ready = await ask("resolve_evaluation_case", **named)
        with pytest.raises(WorkbenchError) as conflict:
            await ask("resolve_evaluation_case", **named)
        with pytest.raises(WorkbenchError) as neither:
            await ask("resolve_evaluation_case", case_id=case["case_id"], expected_version=2)
        exported = await ask("export_evaluation_set")
        assert (await ask("export_evaluation_set", case_ids=[case["case_id"]]))["report"]["cases"] == 1
        assert (await ask("clear_retrieval_runs"))["removed"] == 0
    assert (ready["state"], ready["version"]) == ("ready", 2)
    assert "what a client says" not in json.dumps(ready)
    assert conflict.value.code == "evaluation_case_conflict"
    assert neither.value.code == "resolution_invalid"
    assert len(json.loads(exported["fixture_json"])["cases"]) == 1


async def wait_for(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> None:
    """Ask until the answer holds."""
    ends = time.monotonic() + PATIENCE_S
    while not holds(answer := await ask()):
        assert time.monotonic() < ends, answer
        await asyncio.sleep(0.05)
