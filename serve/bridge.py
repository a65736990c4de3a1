"""stdio for an MCP client: a thin process between it and the service of the home, which it starts where none runs.

Never imports the SDK or the engine: `initialize` is answered at once, and nothing but protocol can reach stdout. The
service may go away and come back; what a client of the session protocol said first is said again to the new one.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from threading import RLock, Thread
from typing import Any, BinaryIO

from serve import handshake
from serve.place import Place
from serve.starting import connected, hello
from workbench.core.errors import ERROR_CODES

LONGEST_LINE = 1024 * 1024
OPENING_ID, INTERRUPTED = "bridge-initialize", "service_interrupted"
INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603


class Bridge:
    """One client on two streams.

    What every new connection hears first: the memories of this client, then its last `initialize` and `initialized`.
    """

    def __init__(self, home: Path, roots: Sequence[Path], source: BinaryIO, sink: BinaryIO) -> None:
        self._home, self._source, self._sink = home, source, sink
        self._hello, self._opening = hello(roots), dict[str, bytes]()
        self._open: dict[str, Any] = {}
        self._service: socket.socket | None = None
        self._linking, self._writing = RLock(), RLock()

    def run(self) -> None:
        """Until the client closes its side. Raises: as `Place.of`."""
        Place.of(self._home)
        Thread(target=self._link, daemon=True).start()
        while line := self._source.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                self._skip_line(line)
            elif line.strip():
                self._from_client(line if line.endswith(b"\n") else line + b"\n")

    def _from_client(self, line: bytes) -> None:
        message = _parsed(line)
        method, request_id = message.get("method"), message.get("id")
        if method == "initialize" and handshake.is_opening(message):
            self._answer(request_id, result=handshake.answer(message["params"]))
            self._open_with(method, json.dumps(message | {"id": OPENING_ID}).encode() + b"\n")
        elif method == "notifications/initialized":
            self._open_with(method, line)
        else:
            self._send(line, request_id if method is not None else None)

    def _open_with(self, method: str, line: bytes) -> None:
        """Say this now, and first of all to every later connection."""
        with self._linking:
            self._opening[method] = line
            if self._service is not None:
                self._say(line)

    def _send(self, line: bytes, request_id: Any) -> None:
        """Say this to the service, or to the one that takes its place."""
        with self._linking:
            said = (self._link() and self._say(line)) or (self._link() and self._say(line))
            if request_id is not None:
                self._open[_key(request_id)] = request_id
                if not said:
                    self._interrupt("No service could be started; the log in the home may say why")

    def _say(self, line: bytes) -> bool:
        """Write to the service; whether it is still there."""
        service = self._service
        try:
            if service is not None:
                service.sendall(line)
        except OSError:
            self._lose(service)
        return self._service is not None

    def _lose(self, service: socket.socket | None) -> None:
        with self._linking:
            if self._service is service:
                self._service = None
                self._interrupt(f"{ERROR_CODES[INTERRUPTED].capitalize()}; call again")

    def _link(self) -> bool:
        """Be connected to the service, which is started where none runs; whether that worked."""
        with self._linking:
            if self._service is None and (found := connected(self._home)) is not None:
                self._service = found
                Thread(target=self._listen, args=(found,), daemon=True).start()
                self._say(b"".join((self._hello, *self._opening.values())))
            return self._service is not None

    def _listen(self, service: socket.socket) -> None:
        """Hand on what the service says, until it goes away."""
        with service.makefile("rb") as lines:
            try:
                for line in lines:
                    self._from_service(line)
            except OSError:
                pass
        self._lose(service)
        service.close()

    def _from_service(self, line: bytes) -> None:
        message = _parsed(line)
        answered = message.get("id") if "method" not in message else None
        if answered == OPENING_ID:
            return
        if answered is not None:
            with self._linking:
                self._open.pop(_key(answered), None)
        self._write(line)

    def _interrupt(self, why: str) -> None:
        """Answer what nobody will answer any more."""
        data = {"code": INTERRUPTED, "message": f"{why}."}
        for key in tuple(self._open):
            request_id = self._open.pop(key, None)
            error = {"code": INTERNAL_ERROR, "message": data["message"], "data": data}
            self._answer(request_id, error=error)

    def _skip_line(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self._source.readline(LONGEST_LINE)
        said = f"The message is longer than {LONGEST_LINE} bytes."
        self._answer(None, error={"code": INVALID_REQUEST, "message": said})

    def _answer(self, request_id: Any, **outcome: Any) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", "id": request_id, **outcome}, ensure_ascii=False).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        with self._writing:
            try:
                self._sink.write(line)
                self._sink.flush()
            except OSError:
                os._exit(0)  # the client is gone; the reading thread may wait for ever


def _parsed(line: bytes) -> dict[str, Any]:
    """The message in a line; empty for what is none, which the service then refuses."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _key(request_id: Any) -> str:
    return json.dumps(request_id)
