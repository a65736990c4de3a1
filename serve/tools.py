"""MCP: the calls as tools, and the memory itself as resources. One server for one connection, or for all of HTTP.

A tool that fails answers with the error object as text, since a model reads nothing else.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from serve import handshake
from serve.call import Call, deadline_of
from serve.calls import CALLS
from serve.catalog import CATALOG_URI, RESOURCE_URI, catalog_of, place_of, text_of
from serve.errors import public
from serve.service import Service
from workbench.app import Project
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.wire import Wire

PROGRESS_S = 1.0
Context = ServerRequestContext[Any, Any]


def tool_of(call: Call) -> types.Tool:
    """A call as an MCP tool."""
    return types.Tool(
        name=call.name,
        description=call.description,
        input_schema=call.request_schema,
        output_schema=call.response_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=call.read_only,
            destructive_hint=call.destructive,
            idempotent_hint=call.idempotent,
            open_world_hint=False,
        ),
    )


def build_server(service: Service, default: Project | None = None) -> Server[Any]:
    """An MCP server of the service. default: the project of requests that name none."""
    tools = [tool_of(call) for call in CALLS.values()]

    async def list_tools(context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            call = CALLS.get(params.name)
            if call is None:
                raise InputError("invalid_argument", f"There is no tool of this name; known are {', '.join(CALLS)}.")
            async with _progress(context):
                return _answered(await service.answer(call, params.arguments or {}, default))
        except WorkbenchError as error:
            return _failed(error)

    async def list_resources(context: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=CATALOG_URI.format(project_id=project_id),
                    name=f"{project_id}: catalog",
                    description="Every current resource of this memory, and every source with its digest.",
                    mime_type="application/json",
                )
                for project_id in service.projects
            ]
        )

    async def list_templates(context: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=RESOURCE_URI,
            name="memory resource",
            description="The text of one current resource.",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        deadline = deadline_of(None, service.home.settings.limits)
        try:
            project_id, resource_id = place_of(str(params.uri))
            project = service.project(project_id)
            if resource_id is None:
                text, kind = await service.run(lambda: catalog_of(project, deadline), deadline), "application/json"
            else:
                text = await service.run(lambda: text_of(project, resource_id, deadline), deadline)
                kind = "text/markdown"
        except Exception as error:  # noqa: BLE001 - the last seam before the client
            shown = public(error)
            raise MCPError(types.INVALID_PARAMS, shown.message, shown.as_dict()) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=str(params.uri), mime_type=kind, text=text)]
        )

    schemas = {call.name: call.request_schema for call in CALLS.values()}
    return Server(
        handshake.NAME,
        version=handshake.VERSION,
        title=handshake.TITLE,
        instructions=handshake.INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


@asynccontextmanager
async def _progress(context: Context) -> AsyncIterator[None]:
    """While the block runs, say every second how long it has; nothing reaches a client that did not ask."""

    async def tell() -> None:
        for seconds in itertools.count(1):
            await asyncio.sleep(PROGRESS_S)
            await context.session.report_progress(seconds * PROGRESS_S, message="working")

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling


def _answered(answer: Wire) -> types.CallToolResult:
    content: list[Any] = [types.TextContent(text=answer.model_dump_json())]
    return types.CallToolResult(content=content, structured_content=answer.model_dump(mode="json"))


def _failed(error: WorkbenchError) -> types.CallToolResult:
    text = json.dumps(error.as_dict(), ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
