"""Sidecars of a vault, ``graph/graph.json`` at its root and its source root: where they are, their bytes.

What their rows mean is the graph's matter.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from wikimcp.errors import NotFound
from wikimcp.models import FileStamp
from wikimcp.vaults.opening import Bounds, read_file

SIDECAR = "graph/graph.json"


def sidecar_paths(source_folder: str) -> tuple[str, ...]:
    """Return the paths, relative to the root, at which sidecars may lie."""
    return (SIDECAR, f"{source_folder}/{SIDECAR}") if source_folder else (SIDECAR,)


def stamp_of(root: Path, path: str, bounds: Bounds) -> FileStamp | None:
    """Return the stamp of a sidecar; None when there is none, or it lies outside of the vault."""
    try:
        full = os.path.join(root, path)
        status = os.stat(full)
        if not stat.S_ISREG(status.st_mode) or not bounds.hold(os.path.realpath(full)):
            return None
    except (OSError, ValueError):
        return None
    return FileStamp(path, status.st_mtime_ns, status.st_size, status.st_ino)


def read_bytes(bounds: Bounds, path: str, *, cap: int) -> bytes:
    """Return a sidecar's bytes, one more than ``cap`` at most. Raises OSError when it cannot be read."""
    try:
        file = read_file(bounds, path, cap=cap + 1)
    except NotFound as error:
        raise FileNotFoundError(path) from error
    return file.data
