"""What the store and its worker say to each other: frames of bytes, and descriptors for answers."""

from __future__ import annotations

import socket
import struct

_HEADER = struct.Struct("<cQ")

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
SYNC = b"S"
"""Answer with a SYNC frame when all before this is done."""
QUERY = b"Q"
"""Run this query (JSON) and write BEGUN, then the answer, to the descriptor that comes along."""
BEGUN = b"!"
"""The first byte on a query's descriptor: from now on its time limit counts."""


def send_frame(
    wire: socket.socket, kind: bytes, payload: bytes = b"", *, descriptor: int | None = None
) -> None:
    """Send one frame whole. Raises OSError when the other side is gone or does not listen."""
    header = _HEADER.pack(kind, len(payload))
    if descriptor is None:
        wire.sendall(header)
    else:
        sent = socket.send_fds(wire, [header], [descriptor])
        wire.sendall(header[sent:])
    if payload:
        wire.sendall(payload)


def receive_frame(wire: socket.socket) -> tuple[bytes, bytes, list[int]]:
    """Return kind, payload and descriptors of the next frame. Raises EOFError at the end."""
    header = b""
    descriptors: list[int] = []
    while len(header) < _HEADER.size:
        part, came, _, _ = socket.recv_fds(wire, _HEADER.size - len(header), 1)
        descriptors.extend(came)
        if not part:
            raise EOFError
        header += part
    kind, length = _HEADER.unpack(header)
    return kind, receive_exactly(wire, length), descriptors


def receive_exactly(wire: socket.socket, length: int) -> bytes:
    """Return the next ``length`` bytes. Raises EOFError when there are less."""
    data = bytearray(length)
    view = memoryview(data)
    while view:
        count = wire.recv_into(view)
        if not count:
            raise EOFError
        view = view[count:]
    return bytes(data)
