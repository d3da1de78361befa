"""The files of a project that an installation changes: read and checked first, then written all or none.

No write leaves the project: a path that a symbolic link leads out of it is refused. A file is
replaced in one step and keeps its rights; when one write fails, those before it are taken back.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wikimcp.clients.parts import InstallRefused

_BOM = "\ufeff"
_MOST_BYTES = 8 * 2**20
_UNTOUCHED = "Nothing was written."


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None: it is not there. ``folders``: how many are made or removed."""

    file: str
    path: Path
    before: bytes | None
    after: bytes | None
    folders: int = 0


class ProjectFolder:
    """A project's folder; ``read`` and ``missing_folders`` check what they touch."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InstallRefused(f"the project '{folder.name}' is no folder", hint="Name it with --project.")
        self.root = folder.resolve()

    def path_of(self, file: str) -> Path:
        """Return where a file of the project really lies. Raises InstallRefused when that is outside."""
        path = self.root
        for part in file.split("/"):
            path = path / part
            if path.is_symlink():
                path = _followed(path, file)
                if not path.is_relative_to(self.root):
                    raise InstallRefused(
                        f"{file} leads out of the project by a symbolic link",
                        hint=f"{_UNTOUCHED} Replace the link, or install in the folder it leads to.",
                    )
        return path

    def read(self, file: str) -> bytes | None:
        """Return a file's bytes; None when it is not there. Raises InstallRefused."""
        path = self.path_of(file)
        try:
            kind = os.stat(path)
            if not stat.S_ISREG(kind.st_mode):
                raise InstallRefused(f"{file} is no file", hint=f"{_UNTOUCHED} Move it away and try again.")
            if kind.st_size > _MOST_BYTES:
                raise InstallRefused(f"{file} is over 8 MiB", hint=f"{_UNTOUCHED} Is it the right file?")
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            raise InstallRefused(
                f"a folder on the way to {file} is a file", hint=f"{_UNTOUCHED} Move it away and try again."
            ) from error
        except OSError as error:
            raise InstallRefused(
                f"{file} cannot be read ({error.strerror})", hint=f"{_UNTOUCHED} Check its rights."
            ) from error

    def missing_folders(self, file: str) -> int:
        """Count the folders that have to be made for a file."""
        folder, count = self.path_of(file).parent, 0
        while not folder.exists():
            folder, count = folder.parent, count + 1
        return count

    def check_writable(self, change: Change) -> None:
        """Raise InstallRefused when a change could not be written."""
        folder = change.path.parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise InstallRefused(
                f"a folder on the way to {change.file} is a file",
                hint=f"{_UNTOUCHED} Move it away and try again.",
            )
        present = [folder, *([change.path] if change.before is not None else [])]
        for path in present:
            if not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222:
                what = "is read-only" if path is change.path else "lies in a folder that is read-only"
                raise InstallRefused(
                    f"{change.file} {what}",
                    hint=f"{_UNTOUCHED} Give yourself the right to write and try again.",
                )


def decoded(file: str, data: bytes | None) -> tuple[str | None, str]:
    """Return a file's text and its byte order mark (empty: it has none). Raises InstallRefused."""
    if data is None:
        return None, ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InstallRefused(
            f"{file} line {line} is broken: it is not UTF-8",
            hint=f"{_UNTOUCHED} Save it as UTF-8 and try again.",
        ) from error
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")


def write_all(changes: Sequence[Change]) -> None:
    """Write every change or none. Raises InstallRefused with what went wrong."""
    made: list[Path] = []
    staged: list[tuple[Change, Path | None]] = []
    try:
        staged.extend((change, _staged(change, made)) for change in changes)
        _swap_in(staged)
    except BaseException as error:
        for _, temporary in staged:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise InstallRefused(
                f"the files of the client cannot be written ({error.strerror})",
                hint="Everything is as it was. Check the rights and the free space.",
            ) from error
        raise
    for change in changes:
        if change.after is None:
            _remove_empty(change.path.parent, change.folders)


def _swap_in(staged: Sequence[tuple[Change, Path | None]]) -> None:
    """Put each new file in its place; when one fails, put back those before it."""
    done: list[Change] = []
    try:
        for change, temporary in staged:
            if _now(change.path) != change.before:
                raise InstallRefused(f"{change.file} changed meanwhile", hint=f"{_UNTOUCHED} Try again.")
            done.append(change)
            if temporary is None:
                change.path.unlink()
            else:
                os.replace(temporary, change.path)
    except BaseException:
        for change in reversed(done):
            _put_back(change)
        raise


def _followed(link: Path, file: str) -> Path:
    try:
        return link.resolve()
    except (OSError, RuntimeError) as error:  # a circle of links
        raise InstallRefused(
            f"{file} lies behind a symbolic link that leads nowhere", hint=f"{_UNTOUCHED} Remove the link."
        ) from error


def _staged(change: Change, made: list[Path]) -> Path | None:
    """Write the new bytes beside the file, with its rights; None when the file is to go."""
    if change.after is None:
        return None
    folder = change.path.parent
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        made.append(parent)
    handle, name = tempfile.mkstemp(prefix=f".{change.path.name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(
            name, stat.S_IMODE(os.stat(change.path).st_mode) if change.before is not None else _new_mode()
        )
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _new_mode() -> int:
    """Return the rights that a new file gets here."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _now(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _put_back(change: Change) -> None:
    with contextlib.suppress(OSError):
        if change.before is None:
            change.path.unlink(missing_ok=True)
        elif _now(change.path) != change.before:
            change.path.write_bytes(change.before)


def _remove_empty(folder: Path, count: int) -> None:
    for _ in range(count):
        try:
            folder.rmdir()
        except OSError:  # somebody put something in it
            return
        folder = folder.parent
