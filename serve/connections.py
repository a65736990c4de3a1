"""One HTTP connection that does not wait for ever: a request that never arrives whole ends it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT_S = 10.0


class SteadyProtocol(H11Protocol):
    """uvicorn's protocol, with a bound on the time from the connection, or from the last answer, to whole headers."""

    _headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def on_response_complete(self) -> None:
        """Expect the next request; an idle connection is closed earlier, by uvicorn's own timer."""
        self._expect()
        super().on_response_complete()

    def handle_events(self) -> None:
        """Take what has come; once the headers are whole, the guard of the body takes over."""
        super().handle_events()
        if self._headers_due is not None and self.cycle is not None and not self.cycle.response_complete:
            self._headers_due.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the one shape; what has begun to answer on this connection is told to stop."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = json.dumps({"code": "invalid_argument", "message": msg}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        begun = h11.Response(status_code=400, reason=b"Bad Request", headers=[*headers, (b"connection", b"close")])
        with suppress(h11.LocalProtocolError):  # another answer has gone out already
            for event in (begun, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        if self._headers_due is not None:
            self._headers_due.cancel()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
        self._headers_due = self.loop.call_later(HEADER_TIMEOUT_S, self._give_up)

    def _give_up(self) -> None:
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
