"""Changes on disk as they happen: a watcher that can be asked, before an answer, what moved.

Linux is asked directly (inotify.py); elsewhere watchfiles collects the events in a native thread.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from wikimcp.index.inotify import InotifyWatcher
from wikimcp.index.moves import Moves, Watcher


def watch_folder(root: Path) -> Watcher | None:
    """Return a watcher of a folder; None where nothing can be watched."""
    try:
        return InotifyWatcher(root) if sys.platform == "linux" else LibraryWatcher(root)
    except OSError:
        return None


class LibraryWatcher:
    """Watches by the watchfiles library. Raises OSError where it cannot.

    Its thread may lag a moment behind the disk; what the answer rests on is looked at again anyway.
    """

    def __init__(self, root: Path) -> None:
        from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

        self._root = os.path.realpath(root)
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self._fault: type[Exception] = WatchfilesRustInternalError
        self.healthy = True
        try:
            self._notify: RustNotify | None = RustNotify(
                [self._root], False, False, 0, True, ignore_permission_denied=True
            )
        except WatchfilesRustInternalError as error:
            raise OSError(str(error)) from error

    def drain(self) -> Moves:
        """Return what moved since the last drain; takes about two milliseconds."""
        moves = Moves()
        with self._mutex:
            if self._notify is None or not self.healthy:
                return moves
            try:
                found = self._notify.watch(1, 1, 1, self._stop)
            except (OSError, RuntimeError, self._fault):
                self.healthy = False
                moves.folders = True
                return moves
            if not os.path.isdir(self._root):
                self.healthy = False
        if not isinstance(found, str):  # 'timeout', 'stop' or 'signal': nothing came in
            for _, absolute in found:
                self._take(absolute, moves)
        return moves

    def _take(self, absolute: str, moves: Moves) -> None:
        prefix = f"{self._root}{os.sep}"
        if not absolute.startswith(prefix):
            moves.folders = True
            return
        path = absolute[len(prefix) :].replace(os.sep, "/")
        moves.add_file(path)
        # A folder that came or went: nothing is told of the files in it.
        if not path.startswith(".") and not os.path.isfile(absolute):
            moves.folders |= os.path.isdir(absolute) or path not in moves.pages

    def cover(self, folders: set[str]) -> bool:
        """Do nothing: the library follows links by itself."""
        return False

    def close(self) -> None:
        """Stop watching. Idempotent."""
        self._stop.set()
        with self._mutex:
            notify, self._notify = self._notify, None
            if notify is not None:
                notify.close()
        self.healthy = False
