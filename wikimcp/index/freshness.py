"""Keeps the index in line with the disk between two answers: what moved, and when to walk the vault.

Every process does this for itself before it answers; nothing that moved is forgotten until the
index has taken it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from wikimcp.index.moves import Moves, Watcher
from wikimcp.index.store import IndexStore
from wikimcp.index.watch import watch_folder

_SWEEP = 60.0  # seconds between full walks where the watcher works
_OTHER_FILES_SWEEP = 2.0  # seconds between walks for files that are no pages
_QUICK_WALK = 0.1  # seconds: a walk this quick is done before every answer where nothing can be watched
_UNWATCHED_SWEEP = 0.25  # seconds that a slower one stays good there
_TROUBLED_SWEEP = 2.0  # where it works but a walk could not see all of the vault
_WATCH_AGAIN = 60.0  # seconds after which watching is tried again where it could not be


class Freshness:
    """What is known to have moved and is not in the index yet. One caller at a time does the work."""

    def __init__(self, store: IndexStore, *, watch: bool) -> None:
        self._store = store
        self._watch = watch
        self._watcher: Watcher | None = None
        self._watch_next = 0.0
        self._moves = Moves()
        self._suspects: set[str] = set()
        self._walked = 0.0
        self._moved = time.monotonic()
        self._mutex = threading.Lock()
        self.verified = time.monotonic()

    @property
    def behind(self) -> frozenset[str]:
        """Page files that moved and could not be taken into the index yet."""
        return frozenset(self._moves.pages)

    @property
    def pending(self) -> bool:
        """Whether anything moved that is not in the index yet."""
        return bool(self._moves.pages or self._moves.folders)

    @property
    def walked(self) -> float:
        """When the vault was last walked (monotonic seconds)."""
        return self._walked

    @property
    def quiet_seconds(self) -> float:
        """How long nothing has moved."""
        return time.monotonic() - self._moved

    def begin(self) -> None:
        """Watch from now on: what moves during the first walk is not lost."""
        if self._watch and self._watcher is None:
            self._watch_anew()

    def freshen(self) -> None:
        """Bring the index in line with all that happened before this call.

        Callers wait for each other here: none may overtake the one that learned of its edit.
        """
        with self._mutex:
            self._store.sync()
            self._look()
            if self._moves.folders or self._walk_due():
                self._walk()
            elif self._moves.pages:
                self._take_pages()
            if not self.pending and self.watched:
                self.verified = time.monotonic()

    def peek(self) -> bool:
        """Look, without doing anything about it, whether something moved; False where nothing can tell."""
        with self._mutex:
            self._look()
            return self.pending

    def doubt(self, paths: Collection[str]) -> None:
        """Note files that an answer found to be other than indexed, whatever their stamps say."""
        with self._mutex:
            self._moves.pages.update(paths)
            self._suspects.update(paths)

    def walk(self) -> None:
        """Walk the whole vault now and refresh what differs."""
        with self._mutex:
            self._store.sync()
            self._look()
            self._walk()

    def sweep(self) -> None:
        """Walk when a walk is due that no answer waits for."""
        due = _OTHER_FILES_SWEEP if self._moves.others else _SWEEP
        if time.monotonic() - self._walked > due:
            with self._mutex:
                self._walk()

    def note_walk(self) -> None:
        """Note that the vault has just been walked from end to end."""
        self._walked = self.verified = time.monotonic()

    def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.close()

    @property
    def watched(self) -> bool:
        """Whether a watcher tells of what moves; else the vault is walked."""
        return self._watcher is not None and self._watcher.healthy

    def _look(self) -> None:
        if self._watcher is not None and self._watcher.healthy and (moves := self._watcher.drain()):
            self._moves.take(moves)
            self._moved = time.monotonic()

    def _walk_due(self) -> bool:
        if self.watched:
            if not self._store.vault_trouble:
                return False
            good_for = _TROUBLED_SWEEP
        else:
            good_for = 0.0 if self._store.walk_seconds < _QUICK_WALK else _UNWATCHED_SWEEP
        return time.monotonic() - self._walked >= good_for

    def _watch_anew(self) -> None:
        if time.monotonic() < self._watch_next:
            return
        if self._watcher is not None:
            self._watcher.close()
        root = self._store.adapter.source_root
        self._watcher = watch_folder(root) if root.is_dir() else None
        if self._watcher is None and root.is_dir():
            self._watch_next = time.monotonic() + _WATCH_AGAIN

    def _take_pages(self) -> None:
        pages, suspects = set(self._moves.pages), set(self._suspects)
        if self._store.refresh(pages - suspects) and (
            not suspects or self._store.refresh(suspects, reread=True)
        ):
            self._moves.pages -= pages
            self._suspects -= suspects

    def _walk(self) -> None:
        """Walk the vault; what moved meanwhile is looked for by the next call."""
        if self._watch and not self.watched:
            self._watch_anew()
        moves, self._moves = self._moves, Moves()
        suspects, self._suspects = self._suspects, set()
        began = time.monotonic()
        done = self._store.refresh() and (not suspects or self._store.refresh(suspects, reread=True))
        if not done:
            self._moves.take(moves)
            self._moves.folders = True
            self._suspects |= suspects
            return
        self._walked = self.verified = began
        if self.watched and self._cover_links():
            self._moves.folders = True

    def _cover_links(self) -> bool:
        """Watch folders of pages that only a link leads to; True when one was not watched before."""
        snapshot = self._store.snapshot
        if snapshot is None or self._watcher is None:
            return False
        folders = {path.rpartition("/")[0] for path in snapshot.records}
        return self._watcher.cover(folders)
