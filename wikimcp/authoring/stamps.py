"""The stamps that sources were hashed at, kept beside the wiki so that they need not be read again.

They say something on this machine only and stay out of the manifest, which travels with the wiki. Losing
them costs the time of hashing and nothing else: a file of stamps that is missing, broken or cannot be
written is no error.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from wikimcp.authoring.intent import state_folder
from wikimcp.authoring.merkle import FileNode, Stamp, Tree
from wikimcp.authoring.workspace import STATE_FOLDER, Workspace

_FILE = "stamps.json"
_SCHEMA = 1


def load_stamps(workspace: Workspace) -> Mapping[str, FileNode]:
    """Return the files that were hashed before, by path."""
    try:
        value = json.loads((workspace.wiki_root / STATE_FOLDER / _FILE).read_bytes())
        if value["schema"] != _SCHEMA:
            return {}
        return {path: _node(*row) for path, row in value["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def save_stamps(workspace: Workspace, tree: Tree) -> None:
    """Keep the stamps of a tree, in one step."""
    files = {
        path: [file.sha256, file.size, *_row(file.stamp)]
        for path, file in sorted(tree.files(), key=lambda f: f[0])
    }
    with contextlib.suppress(OSError):
        folder = state_folder(workspace)
        fresh = folder / f"{_FILE}.{os.getpid()}"
        try:
            fresh.write_text(json.dumps({"schema": _SCHEMA, "files": files}, separators=(",", ":")), "utf-8")
            os.replace(fresh, folder / _FILE)
        finally:
            fresh.unlink(missing_ok=True)


def _row(stamp: Stamp | None) -> list[int]:
    return [stamp.mtime_ns, stamp.ctime_ns, stamp.inode] if stamp else []


def _node(sha256: str, size: int, *stamp: int) -> FileNode:
    return FileNode(sha256, size, stamp[0] if stamp else 0, Stamp(size, *stamp) if stamp else None)
