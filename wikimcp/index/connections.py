"""Connections to one SQLite file, one for each thread that reads, closed only where no call uses them.

SQLite frees what it reads for a thread when another closes the connection, and the process crashes.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_BUSY_SECONDS = 10.0


class Connections:
    """The connections of all threads to a file. Each ends with its thread, or with ``close``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._mutex = threading.Lock()
        # A replaced file is read by running calls until the last lets go of it; then it is closed.
        weakref.finalize(self, _let_go_of, self._open)

    @property
    def mine(self) -> _Connection:
        """The connection of the calling thread; only ``using`` keeps it open."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode=rw",  # never made anew where it is gone
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=64,
                factory=_Connection,
            )
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.connection = connection
            with self._mutex:
                self._open.add(connection)
        return connection

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """Give the connection of the calling thread, and keep it open during the block."""
        connection = self._held()
        try:
            yield connection
        finally:
            connection.busy.release()
            if connection.let_go:
                connection.end()

    def _held(self) -> _Connection:
        """Return the connection of the calling thread, in use from now on."""
        while True:
            connection = self.mine
            connection.busy.acquire()
            if not connection.let_go:
                return connection
            connection.busy.release()
            self._local.connection = None

    def close(self) -> None:
        """Close all that are not in use, and have the others closed as soon as their call is over."""
        with self._mutex:
            self._local = threading.local()
            _let_go_of(self._open)


class _Connection(sqlite3.Connection):
    """A connection that is closed once thread or catalog let go of it and no call uses it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - sqlite3's own
        self.busy = threading.RLock()
        self.let_go = False
        super().__init__(*args, **kwargs)

    def end(self) -> None:
        """Close it, unless another thread is using it; that one does it then."""
        self.let_go = True
        if self.busy.acquire(blocking=False):
            try:
                self.close()
            finally:
                self.busy.release()

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # one that never came to be
            self.close()


def _let_go_of(connections: weakref.WeakSet[_Connection]) -> None:
    for connection in list(connections):
        connection.end()
    connections.clear()
