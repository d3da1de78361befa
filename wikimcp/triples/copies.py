"""A data set as a file, so that another start need not make it: a head for the store, a body for the worker.

The head says what is in it: the mark of the whole and those of its pieces. The body is the data as N-Triples
with what was kept under keys. A file that cannot be read is no file.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"wikimcp triples 1\n"
_SIZE = struct.Struct("<Q")
_QUICK = 1  # level of compression: a tenth of the bytes in a fifth of the time it takes to load them
_ABANDONED_SECONDS = 60.0


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


def body_of(kept: Mapping[str, bytes], lines: bytes) -> bytes:
    """Return the body of a data set: ``kept`` by key, and all ``lines``, those of ``kept`` among them."""
    names = json.dumps({key: len(value) for key, value in kept.items()}).encode()
    first = zlib.compress(b"".join((_SIZE.pack(len(names)), names, *kept.values())), _QUICK)
    return b"".join((_SIZE.pack(len(first)), first, zlib.compress(lines, _QUICK)))


def body_parts(body: bytes) -> tuple[dict[str, bytes], bytes]:
    """Return what ``body_of`` was made of. Raises ValueError where it is damaged."""
    size = _SIZE.size
    try:
        (end,) = _SIZE.unpack(body[:size])
        data, lines = zlib.decompress(body[size : size + end]), zlib.decompress(body[size + end :])
        (at,) = _SIZE.unpack(data[:size])
        lengths: dict[str, int] = json.loads(data[size : size + at])
    except (zlib.error, struct.error) as error:
        raise ValueError("no body of a copy") from error
    kept: dict[str, bytes] = {}
    at += size
    for key, length in lengths.items():
        kept[key] = data[at : at + length]
        at += length
    return kept, lines


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
