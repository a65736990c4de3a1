"""HTTP: every call as `POST /v1/NAME`, MCP at `/mcp`, and what operators ask: health, readiness, metrics, OpenAPI."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from serve.calls import CALLS
from serve.errors import http_status
from serve.metrics import CONTENT_TYPE
from serve.openapi import document
from serve.security import MOST_BODY_BYTES, Guard
from serve.service import Service
from serve.tools import build_server
from workbench.core.errors import InputError, WorkbenchError

MOST_SESSIONS = 1_000


def build_app(service: Service, token: str | None) -> Starlette:
    """The ASGI application. token: asked of every request that comes over a port."""
    manager = StreamableHTTPSessionManager(
        build_server(service), max_request_body_size=MOST_BODY_BYTES, max_sessions=MOST_SESSIONS
    )

    async def call(request: Request) -> Response:
        try:
            wanted = CALLS.get(request.path_params["name"])
            if wanted is None:
                raise HTTPException(404)
            answering = service.answer(wanted, await _arguments(request))
            answer = await _unless_gone(request, asyncio.ensure_future(answering))
        except WorkbenchError as error:
            return JSONResponse(error.as_dict(), http_status(error))
        return Response(answer.model_dump_json(), media_type="application/json")

    async def ready(request: Request) -> Response:
        error = await asyncio.to_thread(service.unready)
        return JSONResponse({"status": "ready"}) if error is None else JSONResponse(error.as_dict(), 503)

    async def healthy(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    async def openapi(request: Request) -> Response:
        return JSONResponse(document())

    return Starlette(
        routes=[
            Route("/v1/{name}", call, methods=["POST"]),
            Route("/mcp", StreamableHTTPASGIApp(manager)),
            Route("/healthz", healthy),
            Route("/readyz", ready),
            Route("/metrics", metrics),
            Route("/openapi.json", openapi),
        ],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _refused},
        lifespan=lambda app: manager.run(),
    )


async def _arguments(request: Request) -> dict[str, Any]:
    """The JSON object in the body. Raises: `InputError("invalid_argument")`."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InputError("invalid_argument", "The body is not JSON in UTF-8.") from None
    if not isinstance(given, dict):
        raise InputError("invalid_argument", "The body is no JSON object of arguments.")
    return given


async def _unless_gone(request: Request, answering: asyncio.Future[Any]) -> Any:
    """The answer; given up, and its call cancelled, when the client goes away first."""
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise WorkbenchError("cancelled", "The client went away.")
    finally:
        for task in (answering, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, WorkbenchError):
                await task


async def _refused(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    said = "There is no such path" if status == 404 else "This path is not asked like that"
    shape = {"code": "invalid_argument", "message": f"{said}; see /openapi.json."}
    return JSONResponse(shape, status, headers=getattr(error, "headers", None))
