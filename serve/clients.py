"""The service's end of every bridge: a line that names its memories, then MCP in lines until either side closes.

Whatever one client sends, it costs that client its connection at most.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import mcp_types as types
import structlog
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from serve.errors import trouble
from serve.service import Service
from serve.tools import build_server

UNREADABLE = (
    "This is no JSON-RPC message: send one object in UTF-8, of whole characters, not nested too deep, whose id is "
    "a text or a whole number."
)
_log = structlog.get_logger("serve")


class Clients:
    """The clients that are connected to one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def any(self) -> bool:
        """Whether a client is connected."""
        return bool(self._tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its first line on."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            hello = json.loads(await reader.readline())
            projects = [self._service.serve_project(Path(root)) for root in hello["projects"]]
            server = build_server(self._service, projects[0] if projects else None)
            lines = _Lines(reader, writer)
            async with stdio_server(lines, lines) as (incoming, outgoing):  # type: ignore[arg-type]
                await server.run(incoming, outgoing, server.create_initialization_options())
        except asyncio.CancelledError:
            pass  # by `close` alone; asyncio would report a connection's task that ends cancelled
        except Exception as error:  # noqa: BLE001 - a client that does not speak the protocol is nobody else's concern
            _log.warning("client_lost", **trouble(error))
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        """Hang up on everybody."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Lines:
    """A connection as the SDK's line transport wants it.

    The SDK drops a line that is no message without a word, and whoever sent it waits; so it is answered here.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._reader:
            if _is_message(line):
                yield line
            else:
                await self.write(_refusal(line))
                await self.flush()

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        await self._writer.drain()


def _is_message(line: bytes) -> bool:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return False
    # A request whose id does not fit passes for a notification, which nobody answers.
    return not (isinstance(message, types.JSONRPCNotification) and "id" in json.loads(line))


def _refusal(line: bytes) -> str:
    error = types.ErrorData(code=types.INVALID_REQUEST, message=UNREADABLE)
    return types.JSONRPCError(jsonrpc="2.0", id=_request_id(line), error=error).model_dump_json(by_alias=True) + "\n"


def _request_id(line: bytes) -> str | int | None:
    """The id in a line that is no message, as far as it can be made out."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    request_id = found.get("id") if isinstance(found, dict) else None
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
