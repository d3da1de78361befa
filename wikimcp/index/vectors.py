"""Vectors on disk: an append-only pair of files per embedder, keyed by the hash of the embedded text.

``keys.u64`` names row *i* of ``rows.f32``. Rows are written and flushed before their keys, so a
torn write leaves rows without keys, which the next append overwrites. Nothing is embedded twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wikimcp.errors import StateError
from wikimcp.ports import Vectors

Keys = NDArray[np.uint64]


class VectorFile:
    """The vectors of one embedder. Many readers; one appender at a time (under the embed lock)."""

    def __init__(self, folder: Path, *, dimension: int) -> None:
        self._keys_path = folder / "keys.u64"
        self._rows_path = folder / "rows.f32"
        self._tokens_path = folder / "tokens.u16"
        self._ends_path = folder / "ends.i64"
        self._folder = folder
        self._dimension = dimension

    def count(self) -> int:
        """Return the number of complete rows."""
        try:
            keys = self._keys_path.stat().st_size // 8
            rows = self._rows_path.stat().st_size // (4 * self._dimension)
        except FileNotFoundError:
            return 0
        return min(keys, rows)

    def read(self) -> tuple[Keys, Vectors]:
        """Return keys of shape (n,) and rows of shape (n, dimension), memory-mapped, read-only."""
        count = self.count()
        if not count:
            return np.zeros(0, np.uint64), np.zeros((0, self._dimension), np.float32)
        keys = np.fromfile(self._keys_path, dtype=np.uint64, count=count)
        rows: Vectors = np.memmap(self._rows_path, dtype=np.float32, mode="r", shape=(count, self._dimension))
        return keys, rows

    def tokens(self, count: int) -> TokenLists | None:
        """Return the token lists of the first ``count`` rows; None when they were not kept."""
        try:
            ends = np.fromfile(self._ends_path, dtype=np.int64, count=count)
            if not count or len(ends) < count:
                return None
            flat = np.memmap(self._tokens_path, dtype=np.uint16, mode="r", shape=(int(ends[-1]),))
        except (FileNotFoundError, ValueError):
            return None
        return TokenLists(flat, ends)

    def append(self, keys: Keys, rows: Vectors, tokens: Sequence[NDArray[np.uint16]] | None = None) -> None:
        """Add rows durably, with the token ids of their texts where the embedder has them.

        Raises StateError when the disk refuses; nothing half-written counts.
        """
        if rows.shape != (len(keys), self._dimension):
            raise ValueError(f"expected rows of shape ({len(keys)}, {self._dimension}), got {rows.shape}")
        start = self.count()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if tokens is not None:
                self._append_tokens(start, tokens)
            _write_at(
                self._rows_path, start * 4 * self._dimension, np.ascontiguousarray(rows, np.float32).tobytes()
            )
            _write_at(self._keys_path, start * 8, np.ascontiguousarray(keys, np.uint64).tobytes())
        except OSError as error:
            raise StateError(f"vectors cannot be written ({error.strerror})") from error

    def _append_tokens(self, start: int, tokens: Sequence[NDArray[np.uint16]]) -> None:
        known = np.fromfile(self._ends_path, dtype=np.int64, count=start) if start else np.zeros(0, np.int64)
        offset = int(known[-1]) if start else 0
        ends = offset + np.cumsum([len(ids) for ids in tokens], dtype=np.int64)
        _write_at(self._tokens_path, offset * 2, np.concatenate(tokens).astype(np.uint16).tobytes())
        _write_at(self._ends_path, start * 8, ends.tobytes())


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
