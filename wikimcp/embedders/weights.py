"""Model weight files: mapping the tensors of a safetensors file, and telling one file from another."""

from __future__ import annotations

import hashlib
import json
import math
import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1"}
LONGEST_HEADER = 16 << 20
SAMPLES = 16
SAMPLE_BYTES = 4096


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map every tensor of a safetensors file read-only, by name; nothing is read until it is touched.

    The format is 8 bytes of little-endian header length, a JSON header (dtype, shape and offsets of
    each tensor), then the data. Raises OSError when the file cannot be opened, ValueError when it is
    not of that form.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(LONGEST_HEADER, size - 8):
            raise ValueError(f"{path.name} is not a safetensors file")
        header = json.loads(file.read(length))
    data = np.asarray(np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length, shape=size - 8 - length))
    try:
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        return {name: _tensor(data, name, entry) for name, entry in entries.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} has a header of another form") from error


def let_go(tensor: NDArray[Any]) -> None:
    """Take the pages of a mapped file out of this process; what is touched again is there again.

    For who has read much of a file and will need little of it. Does nothing for what is not mapped.
    """
    owner: object = tensor
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def _tensor(data: NDArray[np.uint8], name: str, entry: dict[str, Any]) -> NDArray[Any]:
    dtype = DTYPES.get(entry["dtype"])
    if dtype is None:
        raise ValueError(f"tensor {name} has the unknown type {entry['dtype']}")
    shape = tuple(entry["shape"])
    first, last = entry["data_offsets"]
    if not 0 <= first <= last <= data.size or last - first != math.prod(shape) * np.dtype(dtype).itemsize:
        raise ValueError(f"tensor {name} does not fit its file")
    return data[first:last].view(dtype).reshape(shape)


def fingerprint(paths: Iterable[Path], *, also: str = "") -> str:
    """Return 8 hex that change when a file's size or one of 16 sampled blocks does, or ``also`` does.

    Costs a few reads instead of hashing hundreds of megabytes; weights that were trained or
    quantised anew differ nearly everywhere. Raises OSError when a file cannot be read.
    """
    digest = hashlib.sha256(also.encode())
    for path in paths:
        size = path.stat().st_size
        digest.update(size.to_bytes(8, "little"))
        with path.open("rb") as file:
            for sample in range(SAMPLES):
                file.seek(max(0, size - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()[:8]
