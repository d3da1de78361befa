"""A change of several files that is completed even when the process dies in the middle of it.

The new contents are staged and flushed first, then an intent that lists them is put in place: from
that moment the change counts as made. Files are then replaced one by one. Whoever takes the lock
next finds an intent that was left behind and completes it; staged files without an intent are
dropped. A file that somebody else changed in between keeps their text, and ours is kept aside.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wikimcp.authoring.workspace import STATE_FOLDER, Area, Workspace, contained
from wikimcp.errors import AccessDenied, WikiError

_INTENT = "intent.json"
_STAGED = "staged"
_ASIDE = "kept-aside"
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Replacement:
    """One file of a change: its hash before and after (None: it is not there); ``staged`` names the copy."""

    area: str
    path: str
    before: str | None
    after: str | None
    staged: str


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, 64 hex."""
    return hashlib.sha256(data).hexdigest()


def hash_of(path: Path) -> str | None:
    """Return the content hash of a file; None when it is not there."""
    try:
        return content_hash(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def state_folder(workspace: Workspace) -> Path:
    """Return the folder of lock and intent, made where it is missing."""
    folder = contained(workspace.wiki_root, STATE_FOLDER)
    make_state_folder(folder)
    return folder


def make_state_folder(folder: Path) -> None:
    """Make a folder for locks and unfinished work, which ignores itself in git, where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def carry_out(
    workspace: Workspace, folder: Path, changes: Sequence[tuple[Area, str, bytes | None, bytes | None]]
) -> None:
    """Make a change of files (area, path, bytes before, bytes after) as one. Under the lock only.

    Raises WikiError when the disk refuses; then every file is as it was.
    """
    made: list[Path] = []
    staging = folder / _STAGED
    replacements: list[Replacement] = []
    try:
        staging.mkdir(exist_ok=True)
        for number, (area, path, before, after) in enumerate(changes):
            place = workspace.place(area, path)
            made += _made_folders(place.parent)
            staged = f"{number}"
            if after is not None:
                _write(staging / staged, after, mode_of=place)
            replacements.append(
                Replacement(str(area), path, _hash(before), _hash(after), staged if after is not None else "")
            )
        _sync_folder(staging)
        _write_intent(folder, replacements)
    except OSError as error:
        _drop(folder, made)
        raise _disk_refused(error) from error
    try:
        folders = {_put(workspace, staging, item) for item in replacements}
        for place in sorted(folders):
            _sync_folder(place)
    except OSError as error:
        _take_back(workspace, folder, changes)
        _drop(folder, made)
        raise _disk_refused(error) from error
    _finish(folder)


def complete(workspace: Workspace, folder: Path) -> tuple[str, ...]:
    """Complete what a process that died had begun; returns notes on what could not be. Under the lock."""
    file = folder / _INTENT
    if not file.is_file():
        _drop(folder, ())
        return ()
    try:
        replacements = _read_intent(file)
        notes = [note for item in replacements if (note := _redo(workspace, folder, item))]
    except OSError as error:
        raise _disk_refused(error) from error
    _finish(folder)
    return tuple(notes)


def _redo(workspace: Workspace, folder: Path, item: Replacement) -> str:
    try:
        place = workspace.place(Area(item.area), item.path)
    except (AccessDenied, ValueError):
        return f"an interrupted change of {item.path} was left out: its place is no longer inside"
    now = hash_of(place)
    staged = folder / _STAGED / item.staged
    if now == item.after:
        return ""
    if item.after is None:
        if now == item.before:
            _sync_folder(_put(workspace, folder / _STAGED, item))
            return ""
        return f"{item.path} was to be removed by an interrupted change; it changed since and stays"
    if not staged.is_file() or hash_of(staged) != item.after:
        return f"an interrupted change of {item.path} could not be completed: its text is lost"
    if now == item.before:
        _sync_folder(_put(workspace, folder / _STAGED, item))
        return ""
    aside = folder / _ASIDE
    aside.mkdir(exist_ok=True)
    name = f"{item.after[:12]}-{Path(item.path).name}"
    os.replace(staged, aside / name)
    other = f"{STATE_FOLDER}/{_ASIDE}/{name}"
    return f"{item.path} changed after an interrupted change; the other text is in {other}"


def _put(workspace: Workspace, staging: Path, item: Replacement) -> Path:
    """Put one file in its place; returns the folder, which is to be flushed before the change is done."""
    place = workspace.place(Area(item.area), item.path)
    if item.after is None:
        place.unlink(missing_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        _move(staging / item.staged, place)
    return place.parent


def _move(staged: Path, place: Path) -> None:
    """Put a staged file in its place in one step, by way of a copy beside it on another file system."""
    try:
        os.replace(staged, place)
    except OSError:
        if staged.stat().st_dev == place.parent.stat().st_dev:
            raise
        beside = place.with_name(f".{place.name}.new")
        _write(beside, staged.read_bytes(), mode_of=place)
        os.replace(beside, place)
        staged.unlink()


def _take_back(
    workspace: Workspace, folder: Path, changes: Sequence[tuple[Area, str, bytes | None, bytes | None]]
) -> None:
    """Restore the files of a change that could not be finished; the intent stays where that fails too."""
    spare = folder / f"{_STAGED}-back"
    for area, path, before, after in changes:
        place = workspace.place(area, path)
        if hash_of(place) != _hash(after) or before == after:
            continue
        if before is None:
            place.unlink(missing_ok=True)
        else:
            _write(spare, before, mode_of=place)
            _move(spare, place)


def _write(path: Path, data: bytes, *, mode_of: Path) -> None:
    """Write and flush a file that takes the rights of the one it will replace."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.chmod(path, mode_of.stat().st_mode & 0o7777)


def _write_intent(folder: Path, replacements: Sequence[Replacement]) -> None:
    fresh = folder / f"{_INTENT}.new"
    text = json.dumps({"schema": _SCHEMA, "files": [asdict(item) for item in replacements]})
    _write(fresh, text.encode(), mode_of=folder / _INTENT)
    os.replace(fresh, folder / _INTENT)
    _sync_folder(folder)


def _read_intent(file: Path) -> list[Replacement]:
    try:
        value = json.loads(file.read_bytes())
        if value["schema"] != _SCHEMA:
            raise ValueError("another schema")
        return [Replacement(**item) for item in value["files"]]
    except (ValueError, TypeError, KeyError) as error:
        raise WikiError(
            f"the record of an interrupted change is broken ({STATE_FOLDER}/{_INTENT})",
            hint="Look at the files of the wiki, then remove that record.",
        ) from error


def _finish(folder: Path) -> None:
    (folder / _INTENT).unlink(missing_ok=True)
    _sync_folder(folder)
    shutil.rmtree(folder / _STAGED, ignore_errors=True)


def _drop(folder: Path, made: Sequence[Path]) -> None:
    """Leave nothing of a change that was refused: no intent, no staged file, no empty folder."""
    for name in (_INTENT, f"{_INTENT}.new", f"{_STAGED}-back"):
        with contextlib.suppress(OSError):
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / _STAGED, ignore_errors=True)
    for path in reversed(made):
        with contextlib.suppress(OSError):
            path.rmdir()


def _made_folders(folder: Path) -> list[Path]:
    """Make a folder with those above it; returns the new ones, outermost first."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
    return missing[::-1]


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hash(data: bytes | None) -> str | None:
    return None if data is None else content_hash(data)


def _disk_refused(error: OSError) -> WikiError:
    reason = error.strerror or type(error).__name__
    return WikiError(
        f"the disk refused the change ({reason})", hint="Nothing was changed. See to room and rights."
    )
