"""Vectors on disk: append-only files per embedder, keyed by the hash of the embedded text.

``keys.u64`` names row *i* of ``rows.f32``; where the embedder has tokens, those of row *i* end at
``ends.i64[i]`` in ``tokens.u16``. Rows and tokens are flushed before their keys, so a torn write
leaves rows without keys, which the next append overwrites. Nothing is embedded twice.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wikimcp.errors import StateError
from wikimcp.ports import Vectors

Keys = NDArray[np.uint64]
_CHECKED_AT_ONCE = 16_384  # rows
_LENGTH_TOLERANCE = 0.02  # of the square of a row's length
_MOST_ZEROS = 0.1  # share of rows without a token
_KEY_BYTES = _END_BYTES = 8
_TOKEN_BYTES = 2


@dataclass(frozen=True, slots=True)
class TokenLists:
    """Distinct token ids of each row's text: ``flat`` memory-mapped, ``ends`` of shape (rows,)."""

    flat: NDArray[np.uint16]
    ends: NDArray[np.int64]

    def bounds(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the lists of ``rows`` start and end in ``flat``."""
        ends = self.ends[rows]
        starts = np.where(rows > 0, self.ends[rows - 1], 0)
        return starts, ends


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """What the files hold: keys (n,), rows (n, dimension) memory-mapped, and token lists if kept."""

    keys: Keys
    rows: Vectors
    tokens: TokenLists | None


class VectorFile:
    """The vectors of one embedder. Many readers; one appender at a time (under a lock of the caller).

    ``with_tokens`` files hold a row only together with its token list.
    """

    def __init__(self, folder: Path, *, dimension: int, with_tokens: bool = False) -> None:
        self._keys = folder / "keys.u64"
        self._rows = folder / "rows.f32"
        self._tokens = folder / "tokens.u16"
        self._ends = folder / "ends.i64"
        self._folder = folder
        self._dimension = dimension
        self._with_tokens = with_tokens

    def count(self) -> int:
        """Return the number of rows by the sizes of the files."""
        row_bytes = 4 * self._dimension
        sizes = [_size(self._keys) // _KEY_BYTES, _size(self._rows) // row_bytes]
        if self._with_tokens:
            sizes.append(_size(self._ends) // _END_BYTES)
        return min(sizes)

    def mark(self) -> tuple[int, ...]:
        """Return what differs once rows were added: keys are written last."""
        try:
            status = self._keys.stat()
        except FileNotFoundError:
            return ()
        return status.st_size, status.st_ino, status.st_mtime_ns

    def read(self) -> StoredVectors:
        """Return all rows that are whole: those before the first torn one."""
        count, ends = self._whole()
        if not count:
            none = TokenLists(np.zeros(0, np.uint16), ends) if self._with_tokens else None
            return StoredVectors(np.zeros(0, np.uint64), np.zeros((0, self._dimension), np.float32), none)
        keys = np.fromfile(self._keys, dtype=np.uint64, count=count)
        rows: Vectors = np.memmap(self._rows, dtype=np.float32, mode="r", shape=(count, self._dimension))
        tokens = TokenLists(self._flat(int(ends[-1])), ends) if self._with_tokens else None
        return StoredVectors(keys, rows, tokens)

    def damaged(self) -> bool:
        """Whether rows or tokens are not what an embedder makes.

        Rows are of length 1, seldom 0, all finite; the token ids of a text are distinct and sorted.
        """
        stored = self.read()
        if stored.tokens is not None and not _all_sorted(stored.tokens):
            return True
        rows = stored.rows
        zeros = 0
        for start in range(0, len(rows), _CHECKED_AT_ONCE):
            block = rows[start : start + _CHECKED_AT_ONCE]
            with np.errstate(all="ignore"):
                squares = np.vecdot(block, block)
            empty = squares == 0
            zeros += int(empty.sum())
            if not (empty | (np.abs(squares - 1) < _LENGTH_TOLERANCE)).all():
                return True
        return zeros > _MOST_ZEROS * len(rows)

    def discard(self) -> None:
        """Forget all rows; they are made again."""
        for path in (self._keys, self._rows):
            path.unlink(missing_ok=True)

    def _whole(self) -> tuple[int, NDArray[np.int64]]:
        """Return the number of whole rows, and where their token lists end."""
        count = self.count()
        if not count or not self._with_tokens:
            return count, np.zeros(0, np.int64)
        ends = np.fromfile(self._ends, dtype=np.int64, count=count)
        sound = ends <= _size(self._tokens) // _TOKEN_BYTES
        sound &= np.diff(ends, prepend=0) >= 0
        if not sound.all():
            ends = ends[: int(np.argmin(sound))]
        return len(ends), ends

    def _flat(self, count: int) -> NDArray[np.uint16]:
        if not count:
            return np.zeros(0, np.uint16)
        return np.memmap(self._tokens, dtype=np.uint16, mode="r", shape=(count,))

    def append(self, keys: Keys, rows: Vectors, tokens: Sequence[NDArray[np.uint16]] | None = None) -> None:
        """Add rows durably, with the token ids of their texts in a file with tokens.

        Raises StateError when the disk refuses; nothing half-written counts.
        """
        if rows.shape != (len(keys), self._dimension):
            raise ValueError(f"expected rows of shape ({len(keys)}, {self._dimension}), got {rows.shape}")
        if (tokens is not None) != self._with_tokens or (tokens is not None and len(tokens) != len(keys)):
            raise ValueError("token lists are needed for each row where the file has them, and only there")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            start, ends = self._whole()
            self._mend(start, ends)
            if tokens is not None:
                self._append_tokens(start, int(ends[-1]) if start else 0, tokens)
            data = np.ascontiguousarray(rows, np.float32).tobytes()
            _write_at(self._rows, start * 4 * self._dimension, data)
            _write_at(self._keys, start * _KEY_BYTES, np.ascontiguousarray(keys, np.uint64).tobytes())
        except OSError as error:
            raise StateError(f"vectors cannot be written ({error.strerror})") from error

    def _append_tokens(self, start: int, offset: int, tokens: Sequence[NDArray[np.uint16]]) -> None:
        ends = offset + np.cumsum([len(ids) for ids in tokens], dtype=np.int64)
        flat = np.concatenate([*tokens, np.zeros(0, np.uint16)]).astype(np.uint16)
        _write_at(self._tokens, offset * _TOKEN_BYTES, flat.tobytes())
        _write_at(self._ends, start * _END_BYTES, ends.tobytes())

    def _mend(self, count: int, ends: NDArray[np.int64]) -> None:
        """Make files anew that hold more than ``count`` whole rows: others may have mapped what is torn."""
        whole = {self._keys: count * _KEY_BYTES, self._rows: count * 4 * self._dimension}
        if self._with_tokens:
            whole[self._ends] = count * _END_BYTES
            whole[self._tokens] = int(ends[-1]) * _TOKEN_BYTES if count else 0
        for path, size in whole.items():
            if _size(path) != size:
                spare = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
                with open(path, "rb") as source:
                    spare.write_bytes(source.read(size))
                os.replace(spare, path)


def _all_sorted(tokens: TokenLists) -> bool:
    """Whether the ids of every list ascend."""
    for first in range(0, len(tokens.ends), _CHECKED_AT_ONCE):
        starts, ends = tokens.bounds(np.arange(first, min(first + _CHECKED_AT_ONCE, len(tokens.ends))))
        flat = tokens.flat[starts[0] : ends[-1]]
        falls = np.flatnonzero(flat[1:] <= flat[:-1]) + 1 + starts[0]
        if not np.isin(falls, starts).all():
            return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write_at(path: Path, offset: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, offset)
        os.lseek(descriptor, offset, os.SEEK_SET)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
