"""What the store and its worker say to each other: frames of bytes, over a socket or over two pipes."""

from __future__ import annotations

import select
import socket
import struct
from contextlib import suppress
from typing import IO, Protocol

_HEADER = struct.Struct("<cQ")
Frame = tuple[bytes, bytes, list[int]]
"""Kind, payload, and the descriptors that came along."""

OPEN = b"O"
"""Go on with the data set of this name; it is empty when it is new."""
FORGET = b"F"
"""Drop the data set of this name."""
ADD = b"A"
"""Add N-Triples of pages."""
KEEP = b"K"
"""Add N-Triples under a key (4 bytes of length, key, lines), by which they are dropped again."""
DROP = b"D"
"""Drop what was kept under this key, or a page with all its parts, by its IRI."""
LOAD = b"L"
"""Fill the data set, which is empty, with the body of a copy (``copies``); what may wait is loaded later."""
SETTLE = b"T"
"""Load now what waits, of all data sets."""
SAVE = b"W"
"""Write the data set to a file: 4 bytes of length, the path, the head of the copy.

Answer with a SAVE frame when that is under way and needs the worker no more.
"""
SYNC = b"S"
"""Answer with a SYNC frame when all before this is done; its payload is not empty when a LOAD failed."""
QUERY = b"Q"
"""Run this query (JSON). Write BEGUN, then the answer to the descriptor that comes along, else as frames."""
BEGUN = b"!"
"""The first byte of an answer: from now on the query's time limit counts."""
ANSWER = b"="
"""The answer of a query that came without a descriptor."""
IDLE = b"I"
"""From the process of a query to the worker: it has answered and may be given another."""


class Wire(Protocol):
    """One end of what lies between store and worker."""

    def send(self, kind: bytes, payload: bytes = b"", *, descriptor: int | None = None) -> None:
        """Send one frame whole. Raises OSError when the other side is gone or does not listen."""

    def receive(self) -> Frame:
        """Return the next frame. Raises EOFError at the end."""

    def close(self) -> None:
        """Close it. Idempotent."""


class SocketWire:
    """A wire that can carry descriptors."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, kind: bytes, payload: bytes = b"", *, descriptor: int | None = None) -> None:
        """Send one frame whole; see Wire."""
        header = _HEADER.pack(kind, len(payload))
        if descriptor is None:
            self._socket.sendall(header)
        else:
            sent = socket.send_fds(self._socket, [header], [descriptor])
            self._socket.sendall(header[sent:])
        if payload:
            self._socket.sendall(payload)

    def fileno(self) -> int:
        """Return the descriptor, for select(2)."""
        return self._socket.fileno()

    def waiting(self, seconds: float = 0.0) -> bool:
        """Whether a frame has come, or the end, within some seconds."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def receive(self) -> Frame:
        """Return the next frame; see Wire."""
        header = b""
        descriptors: list[int] = []
        while len(header) < _HEADER.size:
            part, came, _, _ = socket.recv_fds(self._socket, _HEADER.size - len(header), 1)
            descriptors.extend(came)
            if not part:
                raise EOFError
            header += part
        kind, length = _HEADER.unpack(header)
        data = bytearray(length)
        view = memoryview(data)
        while view:
            count = self._socket.recv_into(view)
            if not count:
                raise EOFError
            view = view[count:]
        return kind, bytes(data), descriptors

    def refuse(self) -> None:
        """Have the other side's sending fail from now on; what it sent before can still be received."""
        self._socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class PipeWire:
    """A wire of two streams, which every system has; it carries no descriptors."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._reader, self._writer = reader, writer

    def send(self, kind: bytes, payload: bytes = b"", *, descriptor: int | None = None) -> None:
        """Send one frame whole; see Wire."""
        assert descriptor is None
        self._writer.write(_HEADER.pack(kind, len(payload)))
        self._writer.write(payload)
        self._writer.flush()

    def receive(self) -> Frame:
        """Return the next frame; see Wire."""
        kind, length = _HEADER.unpack(self._exactly(_HEADER.size))
        return kind, self._exactly(length), []

    def _exactly(self, length: int) -> bytes:
        data = self._reader.read(length) if length else b""
        if len(data) < length:
            raise EOFError
        return data

    def close(self) -> None:
        """Close both streams; what was not written yet is not written any more."""
        for stream in (self._writer, self._reader):
            with suppress(OSError):  # the other side is gone
                stream.close()
