"""A data set as a file, so that another start need not make it: a head for the store, a body for the worker.

The head says what is in it: the mark of the whole and those of its pieces. The body is the data as N-Triples
with what was kept under keys; what is said of sections stands apart, so that it can be loaded later. A file
that cannot be read is no file.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wikimcp.triples.terms import ID, RDF

_MAGIC = b"wikimcp triples 2\n"
_SIZE = struct.Struct("<Q")
_QUICK = 1  # level of compression: a tenth of the bytes in a fifth of the time it takes to load them
_ABANDONED_SECONDS = 60.0
_PIECE = 1 << 24  # bytes of lines that are sorted together: neighbours are loaded faster
_OF_SECTION = f"<{ID}section:".encode()
_TYPE = f"<{RDF}type>".encode()


@dataclass(frozen=True, slots=True)
class Copy:
    """What a file holds: ``body`` goes to the worker as it is."""

    mark: str
    signatures: Mapping[str, str]
    body: bytes


def read_copy(path: Path) -> Copy | None:
    """Read a file; None when there is none or it is damaged."""
    try:
        data = path.read_bytes()
        if not data.startswith(_MAGIC):
            return None
        at = len(_MAGIC) + _SIZE.size
        (length,) = _SIZE.unpack(data[len(_MAGIC) : at])
        head = json.loads(zlib.decompress(data[at : at + length]))
        return Copy(str(head["mark"]), dict(head["signatures"]), data[at + length :])
    except (OSError, ValueError, KeyError, TypeError, zlib.error, struct.error):
        return None


def head_of(mark: str, signatures: Mapping[str, str]) -> bytes:
    """Return the head that says what a data set holds."""
    return zlib.compress(json.dumps({"mark": mark, "signatures": dict(signatures)}).encode(), _QUICK)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Lines that may be loaded later; ``reach`` are their predicates, with the class where they have one."""

    reach: frozenset[tuple[str, str]]
    packed: bytes

    def lines(self) -> bytes:
        """Return the lines."""
        return zlib.decompress(self.packed)


def body_of(kept: Mapping[str, bytes], lines: bytes) -> bytes:
    """Return the body of a data set: ``kept`` by key, and all ``lines``, those of ``kept`` among them."""
    first, later = zlib.compressobj(_QUICK), zlib.compressobj(_QUICK)
    packed: tuple[list[bytes], list[bytes]] = ([], [])
    reach: set[tuple[str, str]] = set()
    for piece in _pieces(lines):
        ordered = sorted(piece.splitlines(keepends=True))
        apart = [line for line in ordered if line.startswith(_OF_SECTION)]
        reach.update(map(_reach_of_line, apart))
        packed[0].append(
            first.compress(b"".join(line for line in ordered if line[: len(_OF_SECTION)] != _OF_SECTION))
        )
        packed[1].append(later.compress(b"".join(apart)))
    early, late = b"".join((*packed[0], first.flush())), b"".join((*packed[1], later.flush()))
    head = {
        "kept": {key: len(value) for key, value in kept.items()},
        "reach": sorted(reach),
        "lines": len(early),
        "sum": zlib.crc32(late),
    }
    names = json.dumps(head).encode()
    front = zlib.compress(b"".join((_SIZE.pack(len(names)), names, *kept.values())), _QUICK)
    return b"".join((_SIZE.pack(len(front)), front, early, late))


def _pieces(lines: bytes) -> Iterator[bytes]:
    """Yield the lines in pieces of some size."""
    at = 0
    while at < len(lines):
        end = lines.find(b"\n", min(at + _PIECE, len(lines) - 1)) + 1 or len(lines)
        yield lines[at:end]
        at = end


def _reach_of_line(line: bytes) -> tuple[str, str]:
    """Return the predicate of a triple, and the class that it names where the predicate is ``rdf:type``."""
    _, predicate, value = line.split(b" ", 2)
    of = value.partition(b">")[0][1:].decode() if predicate == _TYPE else ""
    return predicate[1:-1].decode(), of


def body_parts(body: bytes) -> tuple[dict[str, bytes], bytes, Waiting | None]:
    """Return what was kept, the lines, and those that may wait. Raises ValueError for a damaged body."""
    size = _SIZE.size
    try:
        (end,) = _SIZE.unpack(body[:size])
        end += size
        data = zlib.decompress(body[size:end])
        (at,) = _SIZE.unpack(data[:size])
        head = json.loads(data[size : size + at])
        middle = end + head["lines"]
        lines, late = zlib.decompress(body[end:middle]), body[middle:]
        if zlib.crc32(late) != head["sum"]:
            raise ValueError("no body of a copy")
        reach = frozenset((predicate, of) for predicate, of in head["reach"])
    except (zlib.error, struct.error, KeyError, TypeError) as error:
        raise ValueError("no body of a copy") from error
    kept: dict[str, bytes] = {}
    at += size
    for key, length in head["kept"].items():
        kept[key] = data[at : at + length]
        at += length
    return kept, lines, Waiting(reach, late) if reach else None


def write_copy(path: Path, head: bytes, body: bytes) -> bool:
    """Put a file in place whole; False where the disk refuses or another process is at it."""
    spare = path.with_name(f"{path.name}.new")
    with suppress(OSError):
        if time.time() - spare.stat().st_mtime > _ABANDONED_SECONDS:
            spare.unlink()  # its writer was ended
    try:
        descriptor = os.open(spare, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError:
        return False
    try:
        with open(descriptor, "wb") as file:
            file.write(b"".join((_MAGIC, _SIZE.pack(len(head)), head, body)))
        os.replace(spare, path)
    except OSError:
        with suppress(OSError):
            spare.unlink()
        return False
    return True
