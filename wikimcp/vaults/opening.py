"""Opening files of a vault safely: inside of it, regular, never blocking, checked on what was opened."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import NotFound
from wikimcp.regular_files import READ_FLAGS

_DESCRIPTORS = "/proc/self/fd" if sys.platform.startswith("linux") and os.path.isdir("/proc/self/fd") else ""
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_OUTSIDE = "there is no such page in the vault"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The folders that files may lie in: the real path of the vault, and trusted targets of links."""

    root: str
    trusted: tuple[str, ...] = ()

    @classmethod
    def of(cls, root: Path, trusted: tuple[str, ...] = ()) -> Bounds:
        """Resolve a vault's root and the trusted targets, which are relative to it or absolute."""
        return cls(
            os.path.realpath(root),
            tuple(os.path.realpath(os.path.join(root, os.path.expanduser(target))) for target in trusted),
        )

    def hold(self, real: str) -> bool:
        """Say whether a real path lies inside."""
        return any(_below(real, folder) for folder in (self.root, *self.trusted))

    def inside(self, path: str) -> str:
        """Return the full path of a vault path. Raises NotFound for one that is no plain relative path."""
        if path.startswith(("/", "\\")) or "\0" in path or not path:
            raise NotFound(_OUTSIDE)
        if any(part in ("", ".", "..") for part in path.split("/")) or (os.sep == "\\" and ":" in path):
            raise NotFound(_OUTSIDE)
        return on_disk(f"{self.root}/{path}")


@dataclass(frozen=True, slots=True)
class FileBytes:
    """What was read of a file (at most the cap) and its status from before the read."""

    data: bytes
    status: os.stat_result
    partial: bool


def read_file(bounds: Bounds, path: str, *, cap: int) -> FileBytes:
    """Read one file of the vault.

    Raises FileNotFoundError when it is gone or no regular file, NotFound when it lies outside of the
    bounds, OSError when it cannot be read.
    """
    full = bounds.inside(path)
    try:
        return _read_file(bounds, path, full, cap)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None  # the vault's path, not the machine's


def _read_file(bounds: Bounds, path: str, full: str, cap: int) -> FileBytes:
    descriptor = _open(bounds, full)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, "no regular file", path)
        _check_opened(bounds, full, descriptor, status)
        data = _read(descriptor, min(status.st_size, cap) + 1)
    finally:
        os.close(descriptor)
    return FileBytes(data[:cap], status, len(data) > cap)


def stat_file(bounds: Bounds, path: str) -> os.stat_result:
    """Stat one file of the vault without opening it for reading.

    Raises FileNotFoundError when it is gone or no regular file, NotFound when it lies outside of the
    bounds, OSError when it cannot be looked at.
    """
    full = bounds.inside(path)
    status = _stat_named(bounds, full) if _DESCRIPTORS else None
    if status is None:  # a link, or a system that cannot say what was opened
        real = os.path.realpath(full)
        if not bounds.hold(real):
            raise NotFound(_OUTSIDE)
        status = os.lstat(real)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(errno.ENOENT, "no regular file", path)
    return status


def _stat_named(bounds: Bounds, full: str) -> os.stat_result | None:
    """Stat what stands at a path, None for a link; a quarter of the work of following the path by hand.

    The descriptor opens nothing (``O_PATH``): it only holds on to the file whose place is checked.
    """
    descriptor = os.open(full, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISLNK(status.st_mode):
            return None
        real = os.readlink(f"{_DESCRIPTORS}/{descriptor}")
        if real != full and not bounds.hold(real):
            raise NotFound(_OUTSIDE)
        return status
    finally:
        os.close(descriptor)


@contextmanager
def listed_folder(bounds: Bounds, real: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Give the entries of a folder by its real path; their ``path`` is not to be used, only their name.

    What was opened is checked, so that a folder for which a link was put meanwhile is not followed out.
    Raises OSError when it cannot be listed or lies outside of the bounds.
    """
    if not _DESCRIPTORS:
        with os.scandir(real) as entries:
            if not bounds.hold(os.path.realpath(real)):
                raise FileNotFoundError(errno.ENOENT, _OUTSIDE)
            yield entries
        return
    descriptor = os.open(real, READ_FLAGS | os.O_DIRECTORY)
    try:
        opened = os.readlink(f"{_DESCRIPTORS}/{descriptor}")
        if opened != real and not bounds.hold(opened):
            raise FileNotFoundError(errno.ENOENT, _OUTSIDE)
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def printable(name: str) -> str:
    r"""Return a file name as text that can be written as UTF-8: bytes that are none become ``\xNN``."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    return name


def on_disk(path: str) -> str:
    """Return the path that a printable one stands for."""
    if "\\x" not in path or os.path.lexists(path):
        return path
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes((int(match[1], 16),)), os.fsencode(path)))


def _open(bounds: Bounds, full: str) -> int:
    """Open without following a link at the end; a link is followed by hand where it stays inside."""
    try:
        return os.open(full, READ_FLAGS)
    except NotADirectoryError as error:
        raise FileNotFoundError(errno.ENOENT, error.strerror) from None
    except OSError:
        if not os.path.islink(full):
            raise
    real = os.path.realpath(full)
    if not bounds.hold(real):
        raise NotFound(_OUTSIDE)
    return os.open(real, READ_FLAGS)


def _check_opened(bounds: Bounds, full: str, descriptor: int, status: os.stat_result) -> None:
    """Raise NotFound unless what was opened, not what its name says now, lies inside of the bounds."""
    if _DESCRIPTORS:
        real = os.readlink(f"{_DESCRIPTORS}/{descriptor}")
        if real == full or bounds.hold(real):
            return
        raise NotFound(_OUTSIDE)
    real = os.path.realpath(full)
    if not bounds.hold(real) or not os.path.samestat(os.stat(real), status):
        raise NotFound(_OUTSIDE)


def _read(descriptor: int, size: int) -> bytes:
    """Read up to ``size`` bytes; one call is enough for a file that does not change under us."""
    data = os.read(descriptor, size)
    while len(data) < size:
        more = os.read(descriptor, size - len(data))
        if not more:
            break
        data += more
    return data


def _below(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
