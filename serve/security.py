"""Who may ask over HTTP, and how much: token, Host and Origin on the loopback port, bounded bodies everywhere.

A unix socket belongs to the owner of the home by its file mode and needs no token.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.core.errors import InputError, StorageError
from workbench.storage.files import FILE_MODE

MOST_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_S = 10.0
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a token: they say nothing of anybody's memory."""
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def token_of(path: Path) -> str:
    """The bearer token in an owner-only file, made at the first time.

    Raises: `StorageError("home_unwritable")`; `InputError("unauthorized")` when others could read the file.
    """
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(32))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageError("home_unwritable", f"Make {path.parent} writable and try again.") from error
    if path.stat().st_mode & 0o077:
        raise InputError("unauthorized", f"Others can read {path}: remove it, and a new token is made.")
    return path.read_text(encoding="utf-8").strip()


class Guard:
    """ASGI middleware: refuses foreign requests and oversized or stalled bodies before anything else sees them."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its whole body, or answer with the error object."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        body = b""
        if refusal is None and scope["method"] not in {"GET", "HEAD"}:
            body, refusal = await _body(scope, receive)
        if refusal is not None:
            status, code, message = refusal
            # What is left of the body is not read: the connection ends with the answer.
            response = JSONResponse({"code": code, "message": message}, status, headers={"connection": "close"})
            await response(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        server = scope.get("server")
        if server is None or server[1] is None:
            return None
        headers, hosts = Headers(scope=scope), {f"{name}:{server[1]}" for name in _LOCAL}
        origin = headers.get("origin")
        if headers.get("host") not in hosts:
            return 403, "unauthorized", "The Host header names another host; ask for 127.0.0.1 with the port."
        if origin is not None and origin.removeprefix("http://") not in hosts:
            return 403, "unauthorized", "The request comes from a page of another origin."
        given = headers.get("authorization", "").removeprefix("Bearer ").encode()
        if scope["path"] not in OPEN_PATHS and not hmac.compare_digest(given, (self._token or "").encode()):
            return 401, "unauthorized", "Send the bearer token of the home's `serve/token` file."
        return None


async def _body(scope: Scope, receive: Receive) -> tuple[bytes, tuple[int, str, str] | None]:
    """The whole body, or why it is refused."""
    too_long = 413, "invalid_argument", f"The body is longer than {MOST_BODY_BYTES} bytes."
    declared = Headers(scope=scope).get("content-length", "0")
    if not declared.isdecimal() or int(declared) > MOST_BODY_BYTES:
        return b"", too_long
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return b"", (400, "invalid_argument", "The body ended too early.")
                body += message.get("body", b"")
                if len(body) > MOST_BODY_BYTES:
                    return b"", too_long
                if not message.get("more_body", False):
                    return bytes(body), None
    except TimeoutError:
        return b"", (408, "invalid_argument", f"The body did not come within {BODY_TIMEOUT_S:g} seconds.")


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
