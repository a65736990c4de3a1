"""A small client for scripts and notebooks: finds or starts the service of a home, and calls it over its socket."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any

from serve.call import ForProject
from serve.calls import CALLS
from serve.place import Place
from serve.retrieval_calls import IndexStatusResult
from serve.starting import connected, hello
from workbench.core.errors import ERROR_CODES, NotReady, WorkbenchError
from workbench.core.run import RunRecord

PING, ANSWER_BYTES = b'{"jsonrpc": "2.0", "id": 0, "method": "ping"}\n', 4096
LOOK_S = 0.3
TIMEOUT_S = 70.0
"""Longer than the longest deadline, so that the service is the one to say that time is up."""


class ServiceClient:
    """The calls of the service about one memory. While it is open, a service that it started stays.

    Raises, when made: `NotReady("service_interrupted")` when no service can be found or started.
    """

    def __init__(self, home: Path, root: Path) -> None:
        self.root, self._place = root.expanduser().resolve(), Place.of(home)
        found = connected(home)
        if found is None:
            raise NotReady("service_interrupted", f"No service could be started; {self._place.log} says why.")
        self._presence = found
        self._presence.sendall(hello([self.root]) + PING)
        self._presence.recv(ANSWER_BYTES)  # the memory is served by now

    def call(self, name: str, **arguments: Any) -> Any:
        """The answer of a call, a value of its `response` type. Raises: `WorkbenchError` as the service says it."""
        call = CALLS[name]
        about = {"project": str(self.root)} if issubclass(call.request, ForProject) else {}
        status, answer = self._post(name, about | arguments)
        if status == HTTPStatus.OK:
            return call.response.model_validate(answer)
        code = answer["code"] if answer["code"] in ERROR_CODES else "internal"
        raise WorkbenchError(code, answer["message"], stage=answer.get("stage"), detail=answer.get("detail"))

    def wait_for_index(self) -> IndexStatusResult:
        """The status of the index, as soon as there is one. Raises: `WorkbenchError` when it cannot be built."""
        while True:
            status: IndexStatusResult = self.call("index_status")
            if status.head is not None:
                return status
            if status.failure is not None:
                raise WorkbenchError("index_build_failed", f"{status.failure.code}: {status.failure.detail}")
            time.sleep(LOOK_S)

    def follow_runs(self, seconds: float, limit: int = 10) -> Iterator[tuple[RunRecord, ...]]:
        """The latest runs of the memory, the newest first, whoever asked: now, and whenever there is a new one."""
        shown, ends = (), time.monotonic() + seconds
        while True:
            latest = tuple(run.run_id for run in self.call("list_retrieval_runs", limit=limit).runs)
            if latest != shown:
                shown = latest
                yield tuple(self.call("get_retrieval_run", run_id=run_id) for run_id in latest)
            if time.monotonic() >= ends:
                return
            time.sleep(LOOK_S)

    def _post(self, name: str, arguments: dict[str, Any]) -> tuple[int, Any]:
        connection = _UnixConnection(self._place.http_socket)
        try:
            connection.request("POST", f"/v1/{name}", json.dumps(arguments), {"content-type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def close(self) -> None:
        """Leave."""
        self._presence.close()

    def __enter__(self) -> ServiceClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("workbench", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self._path))
