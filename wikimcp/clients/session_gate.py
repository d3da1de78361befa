"""The gate of a session: it is briefed once, however many of its hooks run at the same time.

The state of a session is a few small files named by a digest, so that no id of a client is a path:
`.lock` is held while a briefing is made, `.tries` counts those that were begun, `.done` says that
one arrived. All is swept after a week.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wikimcp.errors import StateError
from wikimcp.index.lock import ProcessLock

MOST_TRIES = 3
_KEPT_SECONDS = 7 * 24 * 3600
_OURS = re.compile(r"[0-9a-f]{32}\.(lock|tries|done)")


class SessionGate:
    """The gate of one session of one client; ``folder`` is shared by all sessions."""

    def __init__(self, folder: Path, client: str, session: str) -> None:
        self._folder = folder
        key = hashlib.sha256(f"{client}:{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._lock, self._tries, self._done = (folder / f"{key}.{kind}" for kind in ("lock", "tries", "done"))

    @contextmanager
    def entered(self, *, again: bool = False) -> Iterator[str]:
        """Hold the gate for a block; yields why it is shut, or an empty text when it is open.

        ``again`` forgets what the session has had. Raises StateError when no state can be kept.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.touch()
        except OSError as error:
            raise StateError(
                f"it cannot be noted which sessions were briefed ({error.strerror or 'no folder'})",
                hint="XDG_CACHE_HOME names another folder for it.",
            ) from error
        with ProcessLock(self._lock).hold(timeout=0) as taken:
            if not taken:
                yield "another hook is briefing this session"
                return
            if again:
                self._done.unlink(missing_ok=True)
                self._tries.unlink(missing_ok=True)
            if self._done.exists():
                yield "this session has been briefed"
            elif self._count() >= MOST_TRIES:
                yield f"briefing this session failed {MOST_TRIES} times"
            else:
                yield ""

    def begin(self) -> None:
        """Count a try, before it is made: one that is killed counts as well."""
        self._tries.write_text(str(self._count() + 1), encoding="ascii")

    def succeed(self) -> None:
        """Note that the briefing arrived."""
        self._done.touch()
        self._tries.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete the state of sessions that are long over."""
        oldest = time.time() - _KEPT_SECONDS
        with contextlib.suppress(OSError):
            for file in self._folder.iterdir():
                if _OURS.fullmatch(file.name) and file.lstat().st_mtime < oldest:
                    file.unlink(missing_ok=True)

    def _count(self) -> int:
        try:
            return int(self._tries.read_text(encoding="ascii")[:8])
        except (OSError, ValueError):
            return 0
