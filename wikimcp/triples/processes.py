"""The worker process as the store sees it: started, sent frames, asked, ended; in two ways.

A ForkingWorker hands every query a descriptor for its answer, and the kernel ends what takes too long. A
PlainWorker needs nothing but pipes: it answers one query at a time and is ended with one that takes too long.
"""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Protocol, Self

from wikimcp.triples import frames

_SIZE = struct.Struct("<Q")
LOAD_SECONDS = 120.0
"""That a worker may take to start and load."""


class PendingAnswer(Protocol):
    """A query that was handed over."""

    def begun(self, seconds: float) -> bool:
        """Wait until it runs; False when its process ended before. Raises TimeoutError after ``seconds``."""

    def whole(self, deadline: float) -> bytes | None:
        """Wait for the answer; None when its process ended before it was whole. Raises TimeoutError."""

    def close(self) -> None:
        """Let go of it. Idempotent."""


class Worker(Protocol):
    """A worker process. Sending and receiving raise OSError or EOFError when it is gone."""

    forks: bool
    """Whether queries run beside each other and end by themselves at their limit."""

    @classmethod
    def start(cls, command: Sequence[str]) -> Self:
        """Start the process. Raises OSError."""

    @property
    def pid(self) -> int | None:
        """Its process id; None when it has ended."""

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Send one frame."""

    def receive(self, seconds: float = LOAD_SECONDS) -> tuple[bytes, bytes]:
        """Wait for a frame: its kind and payload. Raises TimeoutError after ``seconds``."""

    def ask(self, payload: bytes) -> PendingAnswer:
        """Hand a query over."""

    def kill(self) -> None:
        """End the process at once, from any thread. Idempotent."""

    def close(self) -> None:
        """End the process and let go of it. Idempotent."""


class _Process:
    """What both ways share."""

    def __init__(self, process: subprocess.Popen[bytes], wire: frames.Wire) -> None:
        self._process = process
        self._wire = wire

    @property
    def pid(self) -> int | None:
        """Its process id; None when it has ended."""
        return self._process.pid if self._process.poll() is None else None

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Send one frame."""
        self._wire.send(kind, payload)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """End the process and let go of it."""
        self._process.kill()
        self._wire.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5.0)


class ForkingWorker(_Process):
    """A worker whose queries have processes of their own."""

    forks = True

    @classmethod
    def start(cls, command: Sequence[str]) -> Self:
        """Start the process with one end of a socket, whose number is its last argument."""
        mine, its = socket.socketpair()
        with its:
            try:
                process = subprocess.Popen(  # nosec B603 # our own words, no shell
                    [*command, str(its.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,  # the protocol's stream is the server's alone
                    pass_fds=[its.fileno()],
                )
            except OSError:
                mine.close()
                raise
        mine.settimeout(LOAD_SECONDS)
        return cls(process, frames.SocketWire(mine))

    def receive(self, seconds: float = LOAD_SECONDS) -> tuple[bytes, bytes]:
        """Wait for a frame."""
        assert isinstance(self._wire, frames.SocketWire)
        if not self._wire.waiting(seconds):
            raise TimeoutError
        kind, payload, _ = self._wire.receive()
        return kind, payload

    def ask(self, payload: bytes) -> PendingAnswer:
        """Hand a query over, with a descriptor for its answer."""
        mine, its = socket.socketpair()
        with its:
            try:
                self._wire.send(frames.QUERY, payload, descriptor=its.fileno())
            except OSError:
                mine.close()
                raise
        return _AnswerBySocket(mine)


class _AnswerBySocket:
    """An answer as it comes from the query's own process."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def begun(self, seconds: float) -> bool:
        """Wait for the first byte."""
        if not select.select([self._end], [], [], seconds)[0]:
            raise TimeoutError
        return bool(self._end.recv(1))

    def whole(self, deadline: float) -> bytes | None:
        """Read until all is there: the process may live on."""
        data, size = bytearray(), _SIZE.size
        while len(data) < size or len(data) < size + _SIZE.unpack(data[:size])[0]:
            if not select.select([self._end], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            part = self._end.recv(1 << 16)
            if not part:
                return None
            data += part
        return bytes(data[size:])

    def close(self) -> None:
        """Close the socket."""
        self._end.close()


class PlainWorker(_Process):
    """A worker that runs queries itself, one at a time."""

    forks = False

    def __init__(self, process: subprocess.Popen[bytes], wire: frames.Wire) -> None:
        super().__init__(process, wire)
        self._came: queue.SimpleQueue[tuple[bytes, bytes] | None] = queue.SimpleQueue()
        # A pipe cannot be waited for with a limit everywhere; a queue can.
        self._reader = threading.Thread(target=self._read, name="wikimcp-triples", daemon=True)
        self._reader.start()

    @classmethod
    def start(cls, command: Sequence[str]) -> Self:
        """Start the process with two pipes."""
        process = subprocess.Popen(  # nosec B603 # our own words, no shell
            [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        return cls(process, frames.PipeWire(process.stdout, process.stdin))

    def _read(self) -> None:
        try:
            while True:
                kind, payload, _ = self._wire.receive()
                self._came.put((kind, payload))
        except (EOFError, OSError, ValueError):
            self._came.put(None)

    def receive(self, seconds: float = LOAD_SECONDS) -> tuple[bytes, bytes]:
        """Wait for a frame."""
        return self._next(seconds)

    def _next(self, seconds: float) -> tuple[bytes, bytes]:
        try:
            found = self._came.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise TimeoutError from None
        if found is None:
            self._came.put(None)  # whoever asks again is told again
            raise EOFError
        return found

    def ask(self, payload: bytes) -> PendingAnswer:
        """Hand a query over; the next may be asked when this one is answered."""
        self._wire.send(frames.QUERY, payload)
        return _AnswerByPipe(self)

    def close(self) -> None:
        """End the process, then the thread that read from it."""
        self._process.kill()
        self._reader.join(timeout=5.0)
        super().close()


class _AnswerByPipe:
    """An answer as the worker itself gives it."""

    def __init__(self, worker: PlainWorker) -> None:
        self._worker = worker

    def begun(self, seconds: float) -> bool:
        """Wait for the frame that says so."""
        try:
            return self._worker._next(seconds)[0] == frames.BEGUN
        except EOFError:
            return False

    def whole(self, deadline: float) -> bytes | None:
        """Wait for the answer's frame."""
        try:
            return self._worker._next(deadline - time.monotonic())[1]
        except EOFError:
            return None

    def close(self) -> None:
        """Nothing is held."""
