"""The HTTP/1.1 protocol of uvicorn with an end to its patience: heads of requests must come in time.

uvicorn limits the size of a head and the idle time after an answer, but not how long a client may
take for its first request, or drip its lines; and it takes any number of connections, until the process may
open no more files and can read no page either.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""How long a client may take from connecting, or from the first byte of a later head, to its end."""

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
)
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def guarded_protocol(max_connections: int) -> type[ImpatientProtocol]:
    """Return the protocol for a server of so many connections at once."""
    return type("GuardedProtocol", (ImpatientProtocol,), {"max_connections": max_connections})


class ImpatientProtocol(H11Protocol):
    """Closes connections whose request head is not complete in time, with 408 when some of it came.

    Those that are too many get 503 and are closed: an old one may be at work, a new one has lost nothing.
    """

    head_seconds = HEAD_SECONDS
    max_connections: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            transport.write(_FULL)
            transport.close()
        else:
            self._arm()

    def data_received(self, data: bytes) -> None:
        """Take the data; the clock runs while a head is incomplete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._arm()
        else:
            self._disarm()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; a request whose body broke off in that way has nobody to answer to.

        Without it each such request would leave two tracebacks in the log.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _disarm(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            return
        if self.conn.trailing_data[0] and self.conn.our_state is h11.IDLE:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
