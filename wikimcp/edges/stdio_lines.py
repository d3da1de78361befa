"""Carries lines between two descriptors and the event loop that serves them.

Reads in a thread that nothing waits for, since a blocking read cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

import anyio
import anyio.to_thread

from wikimcp.edges.jsonrpc import LineSplitter

CHUNK = 1 << 16
LINES_AHEAD = 64
"""Lines read from the client before the server has taken them."""

Write = Callable[[bytes], Awaitable[None]]
Serve = Callable[[AsyncIterator[bytes | None], Write], Awaitable[None]]


class StopRequest(Protocol):
    """What tells the loop to stop, and is told that the client has closed its end."""

    def on_ask(self, tell: Callable[[], object]) -> None:
        """Have ``tell`` called, from any thread, when serving must stop."""

    def soon(self) -> None:
        """Note that the process is about to end."""


def serve_wire(serve: Serve, reader: int, writer: int, stop: StopRequest) -> None:
    """Run ``serve`` over the two descriptors until the client closes its end or ``stop`` asks."""

    async def run() -> None:
        one_at_a_time = anyio.CapacityLimiter(1)
        loop = asyncio.get_running_loop()

        async def write(line: bytes) -> None:
            await anyio.to_thread.run_sync(
                write_all, writer, line, abandon_on_cancel=True, limiter=one_at_a_time
            )

        with anyio.CancelScope() as scope:
            stop.on_ask(lambda: loop.call_soon_threadsafe(scope.cancel))
            await serve(_lines(reader, loop, at_end=stop.soon), write)

    asyncio.run(run())


async def _lines(
    reader: int, loop: asyncio.AbstractEventLoop, *, at_end: Callable[[], None]
) -> AsyncIterator[bytes | None]:
    """Yield lines as ``LineSplitter`` cuts them; ``at_end`` is called as soon as the end is read."""
    queue: asyncio.Queue[tuple[bool, bytes | None]] = asyncio.Queue()
    room = threading.Semaphore(LINES_AHEAD)

    def put(more: bool, line: bytes | None = None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(queue.put_nowait, (more, line))

    def pump() -> None:
        splitter = LineSplitter()
        try:
            while chunk := read_some(reader):
                for line in splitter.feed(chunk):
                    put(True, line)
            at_end()
            for line in splitter.finish():
                put(True, line)
            put(False)
        except RuntimeError:  # the loop is closed: nobody reads any more
            return

    threading.Thread(target=pump, name="wikimcp-stdin", daemon=True).start()
    while (item := await queue.get())[0]:
        room.release()
        yield item[1]


def read_some(descriptor: int) -> bytes:
    """Return the next bytes; empty at the end, also when the other side went away."""
    while True:
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:  # a parent may have made the stream non-blocking
            select.select([descriptor], [], [])
        except OSError:
            return b""


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``. Raises OSError when nobody reads it any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
