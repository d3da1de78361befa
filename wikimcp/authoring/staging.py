"""The staging area ``raw/ingest``: one folder for each source, complete from the moment it can be seen.

A folder holds the untouched ``source.*``, its ``extract.md`` and ``metadata.json``. It is written in
``.state/``, which also holds the lock and ignores itself in git, and renamed when all of it is on the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wikimcp.authoring.intent import make_state_folder
from wikimcp.authoring.workspace import STATE_FOLDER, Area, Workspace
from wikimcp.errors import Unavailable, WikiError
from wikimcp.index.lock import ProcessLock

EXTRACT = "extract.md"
METADATA = "metadata.json"
_LOCK = "lock"
_UNFINISHED = "unfinished-"
_LOCK_SECONDS = 30.0
_LONGEST_SLUG = 60
_MOST_METADATA = 1 << 20
_NO_WORD = re.compile(r"[^\w]+|_+")


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged source: the name of its folder, and what its metadata say."""

    name: str
    metadata: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """The folder, relative to the workspace."""
        return f"{Area.STAGING}/{self.name}"

    @property
    def source(self) -> str:
        """The untouched source, relative to the workspace."""
        return f"{self.folder}/{self.metadata.get('file', 'source.txt')}"

    @property
    def extract(self) -> str:
        """The text of the source, relative to the workspace."""
        return f"{self.folder}/{EXTRACT}"


@contextmanager
def staging_lock(workspace: Workspace) -> Iterator[Path]:
    """Hold the staging area, which is made where it is missing; yields its folder.

    Raises AccessDenied when it leads out of the workspace, Unavailable when another holds it for long.
    """
    state = workspace.place(Area.STAGING, STATE_FOLDER)
    folder = workspace.place(Area.STAGING, "x").parent
    try:
        make_state_folder(state)
        with ProcessLock(state / _LOCK).hold(timeout=_LOCK_SECONDS) as taken:
            if not taken:
                raise Unavailable("another ingest is at work here", hint="Try again in a moment.")
            _drop_unfinished(state)
            yield folder
    except OSError as error:
        raise _refused(error) from error


def find_staged(folder: Path, sha256: str) -> Staged | None:
    """Return the source of that content; None when it was never staged. What is broken is passed over."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        metadata = _read_metadata(place / METADATA)
        if metadata.get("sha256") == sha256:
            return Staged(place.name, metadata)
    return None


def stage(folder: Path, name: str, *, source: bytes, extract: str, metadata: Mapping[str, Any]) -> Staged:
    """Put a source into the staging area, under ``name`` or the next that is free. Under the lock only.

    Raises WikiError when the disk refuses; nothing is left of it then.
    """
    unfinished = folder / STATE_FOLDER / f"{_UNFINISHED}{secrets.token_hex(8)}"
    try:
        unfinished.mkdir()
        _write(unfinished / str(metadata["file"]), source)
        _write(unfinished / EXTRACT, extract.encode("utf-8", "replace"))
        text = json.dumps(dict(metadata), ensure_ascii=False, indent=2)
        _write(unfinished / METADATA, f"{text}\n".encode("utf-8", "replace"))
        _sync(unfinished)
        free = free_name(folder, name)
        os.rename(unfinished, folder / free)
        _sync(folder)
    except OSError as error:
        raise _refused(error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Staged(free, metadata)


def free_name(folder: Path, name: str) -> str:
    """Return a name that no folder has: as given, else with a number."""
    number, free = 2, name
    while os.path.lexists(folder / free):
        free, number = f"{name}-{number}", number + 1
    return free


def folder_name(title: str, at: datetime) -> str:
    """Return the name of a source's folder: the time in UTC, and the title as a slug."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{slug_of(title)}"


def slug_of(title: str) -> str:
    """Return a title as a part of a file name: words in lower case, joined by dashes."""
    words = _NO_WORD.sub("-", unicodedata.normalize("NFC", title).casefold()).strip("-")
    return words[:_LONGEST_SLUG].rstrip("-") or "source"


def _read_metadata(file: Path) -> Mapping[str, Any]:
    try:
        if file.is_symlink() or file.stat().st_size > _MOST_METADATA:
            return {}
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _drop_unfinished(state: Path) -> None:
    """Remove what ingests that died have left: under the lock nobody is at work on it."""
    for place in state.glob(f"{_UNFINISHED}*"):
        if not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        os.fsync(descriptor)


def _refused(error: OSError) -> WikiError:
    reason = error.strerror or type(error).__name__
    return WikiError(f"the disk refused the source ({reason})", hint="Nothing was staged.")
