"""Opening files whose names come from elsewhere: only regular ones, and without ever waiting for one.

Whether a file lies where it may be read is the caller's to check.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
"""How such a file is opened: a link at the end of its path is refused, a pipe answers at once."""


class NotRegularError(FileNotFoundError):
    """What has this name is a pipe, a device, a folder or a socket."""


def open_regular(path: Path | str, *, follow: bool = False) -> int:
    """Return a descriptor of a regular file; a link at the end of the path is followed only on ``follow``.

    Raises NotRegularError, or OSError as ``os.open`` does.
    """
    descriptor = os.open(path, READ_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if follow else READ_FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegularError(errno.ENOENT, "no regular file")


def read_regular(path: Path | str, *, most: int, follow: bool = False) -> bytes:
    """Return a file's bytes, one more than ``most`` at most; errors as ``open_regular``."""
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        return file.read(most + 1)
