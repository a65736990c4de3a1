"""The one process of a home that owns its engine: it listens for bridges, for HTTP, and for the signal to end.

A second start finds the first. The lock is the system's: however a process ends, the next one can begin.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import structlog
import uvicorn

from serve.clients import Clients
from serve.connections import SteadyProtocol
from serve.hold import Hold
from serve.http import build_app
from serve.logs import set_up_logs
from serve.place import Place
from serve.security import MOST_BODY_BYTES, token_of
from serve.service import Service
from workbench import __version__
from workbench.app import Home
from workbench.core.errors import InputError, StorageError
from workbench.storage.files import writing

GRACE_S = 5.0
"""How long running calls may go on after SIGTERM before they are cancelled."""
LOOK_S = 0.1
BACKLOG = 1_024
_log = structlog.get_logger("serve")


def run(
    home: Path, roots: Sequence[Path], *, port: int | None, linger_s: float | None, show_queries: bool = False
) -> None:
    """Serve a home until SIGTERM or SIGINT.

    port: of the loopback, 0 for any free one, None for none. linger_s: end after so many seconds without a client.
    Raises: `Running`; `WorkbenchError` for a root, a port or a home that cannot be served.
    """
    set_up_logs()
    place = Place.of(home)
    hold = Hold(place)
    try:
        _allow_connections()
        asyncio.run(_Daemon(place, hold, home, roots, port, linger_s, show_queries).serve())
        if hold.lost:
            raise StorageError("home_unwritable", f"{home} was removed or replaced; start the service again.")
    finally:
        hold.release()


class _Daemon:
    def __init__(
        self,
        place: Place,
        hold: Hold,
        home: Path,
        roots: Sequence[Path],
        port: int | None,
        linger_s: float | None,
        show_queries: bool,
    ) -> None:
        self._place, self._roots, self._port, self._linger_s = place, roots, port, linger_s
        self._hold, self._home, self._show_queries = hold, home, show_queries

    async def serve(self) -> None:
        """From the first socket to the last."""
        bridged, listeners, token = _unix_socket(self._place.mcp_socket), [_unix_socket(self._place.http_socket)], None
        if self._port is not None:
            token = token_of(self._place.token)
            listeners.append(_loopback_socket(self._port))
        self._service = Service(Home.open(self._home), show_queries=self._show_queries)
        for root in self._roots:
            self._service.serve_project(root)
        self._service.start()
        self._clients = Clients(self._service)
        bridges = await asyncio.start_unix_server(
            self._clients.serve, sock=bridged, limit=MOST_BODY_BYTES + 1024, backlog=BACKLOG
        )
        web = self._web(token)
        serving = asyncio.create_task(web.serve(sockets=listeners))
        ports = [one.getsockname()[1] for one in listeners if one.family == socket.AF_INET]
        self._place.announce(pid=os.getpid(), version=__version__, port=ports[0] if ports else None)
        _log.info("serving", pid=os.getpid(), port=ports[0] if ports else None, projects=list(self._service.projects))
        await self._until_told(serving)
        _log.info("ending", running=self._service.busy)
        bridges.close()
        web.should_exit = True
        await self._service.drain(GRACE_S)
        await self._clients.close()
        await asyncio.gather(serving, return_exceptions=True)
        await asyncio.to_thread(self._service.close)
        _log.info("ended")

    def _web(self, token: str | None) -> uvicorn.Server:
        config = uvicorn.Config(
            build_app(self._service, token),
            http=SteadyProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=round(GRACE_S),
        )
        web = uvicorn.Server(config)
        web.capture_signals = nullcontext  # type: ignore[method-assign,assignment] # they are this daemon's
        return web

    async def _until_told(self, serving: asyncio.Task[None]) -> None:
        told, loop = asyncio.Event(), asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, told.set)
        last_used = time.monotonic()
        while not (told.is_set() or serving.done() or self._hold.lost):
            if self._clients.any or self._service.busy:
                last_used = time.monotonic()
            elif self._linger_s is not None and time.monotonic() - last_used > self._linger_s:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), LOOK_S)


def _unix_socket(path: Path) -> socket.socket:
    """A listening socket that only its owner can reach; a stale one is replaced, since the lock is held."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with writing(path):
            path.unlink(missing_ok=True)
            listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _loopback_socket(port: int) -> socket.socket:
    # asyncio switches Nagle off only where the protocol is named; with it an answer waits 40 ms for its second half.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        reason = f"Port {port} cannot be used ({error.strerror})"
        raise InputError("invalid_argument", f"{reason}; choose another one with --port, or 0 for any.") from error
    listener.listen(BACKLOG)
    return listener


def _allow_connections() -> None:
    """As many open files as the system allows, so that idle connections do not starve the databases."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 65_536
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, 65_536)), hard))
