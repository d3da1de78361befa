"""Changes on disk as they happen: a watcher that can be asked, before an answer, what moved.

Events are collected by watchfiles' native thread; ``drain`` takes what has come in so far without
waiting for a quiet period, so an edit is known to the very next call.
"""

from __future__ import annotations

import threading
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError


class VaultWatcher:
    """Watches one folder and all below it. ``healthy`` false means: scan instead."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self.healthy = True
        try:
            self._notify: RustNotify | None = RustNotify(
                [str(root)], False, False, 0, True, ignore_permission_denied=True
            )
        except (OSError, WatchfilesRustInternalError):
            self._notify = None
            self.healthy = False

    def drain(self) -> set[str]:
        """Return the paths (absolute) that changed since the last drain; takes about a millisecond."""
        with self._mutex:
            if self._notify is None:
                return set()
            try:
                found = self._notify.watch(1, 1, 1, self._stop)
            except (OSError, WatchfilesRustInternalError, RuntimeError):
                self.healthy = False
                return set()
        if isinstance(found, str):  # 'timeout', 'stop' or 'signal': nothing came in
            return set()
        return {path for _, path in found}

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        with self._mutex:
            notify, self._notify = self._notify, None
            if notify is not None:
                notify.close()
        self.healthy = False
