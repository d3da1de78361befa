"""Locks between processes: an OS lock on a file, which dies with the process that holds it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


_POLL_SECONDS = 0.003


class ProcessLock:
    """An exclusive lock among processes and, with a plain mutex, among threads of this one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mutex = threading.Lock()
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, *, timeout: float) -> bool:
        """Take the lock within ``timeout`` seconds (0: try once); False when somebody else has it.

        Raises OSError when the lock file can be neither opened nor made.
        """
        deadline = time.monotonic() + timeout
        if not self._mutex.acquire(timeout=max(timeout, 0)) if timeout else not self._mutex.acquire(False):
            return False
        try:
            descriptor = self._open_locked(deadline)
        except OSError:
            self._mutex.release()
            raise
        if descriptor is None:
            self._mutex.release()
            return False
        self._descriptor = descriptor
        return True

    def _open_locked(self, deadline: float) -> int | None:
        while True:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            while not (locked := _try_lock(descriptor)) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
            if locked and _is_at(descriptor, self._path):
                return descriptor
            os.close(descriptor)
            if not locked:
                return None
            # The folder was removed and made anew meanwhile: that lock excludes nobody.

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
            self._mutex.release()

    @contextmanager
    def hold(self, *, timeout: float) -> Iterator[bool]:
        """Hold the lock for a block; yields whether it could be taken."""
        taken = self.acquire(timeout=timeout)
        try:
            yield taken
        finally:
            if taken:
                self.release()


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is the one that its path leads to now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
