"""Who may ask over HTTP, and how much: token, Host and Origin on the loopback port, bounded bodies everywhere.

A unix socket belongs to the owner of the home by its file mode and needs no token.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.core.errors import InputError
from workbench.storage.files import atomic_write, writing

MOST_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_S = 10.0
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a token: they say nothing of anybody's memory."""
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_HTTP_PORT = 80
"""The port that no client names."""
_TOKEN = re.compile(rb"[\x21-\x7e]{16,}")


def token_of(path: Path) -> str:
    """The bearer token in an owner-only file, made at the first time.

    Raises: `StorageError("home_unwritable")`; `InputError("unauthorized")` when others could read the file, or when it
    holds nothing that is hard to guess.
    """
    if not path.exists():
        atomic_write(path, secrets.token_urlsafe(32).encode(), durable=False)
    with writing(path):
        mode, token = path.stat().st_mode, path.read_bytes().strip()
    if mode & 0o077:
        raise InputError("unauthorized", f"Others can read {path}: remove it, and a new token is made.")
    if not _TOKEN.fullmatch(token):
        raise InputError("unauthorized", f"{path} holds no token: remove it, and a new one is made.")
    return token.decode()


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
        if server[1] == _HTTP_PORT:
            hosts |= set(_LOCAL)
        if headers.get("host", "").lower() not in hosts:
            return 403, "unauthorized", "The Host header names another host; ask for 127.0.0.1 with the port."
        if not {origin.lower() for origin in headers.getlist("origin")} <= {f"http://{host}" for host in hosts}:
            return 403, "unauthorized", "The request comes from a page of another origin."
        if scope["path"] not in OPEN_PATHS and not self._is_owner(headers.getlist("authorization")):
            return 401, "unauthorized", "Send the bearer token of the home's `serve/token` file."
        return None

    def _is_owner(self, given: Sequence[str]) -> bool:
        """Whether the one Authorization header bears the token; of several nobody could say which one counts."""
        if len(given) != 1 or not self._token:
            return False
        scheme, _, token = given[0].partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode())


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
