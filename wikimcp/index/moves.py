"""What a watcher saw: paths that moved, sorted by what they mean for the index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

_PAGE_SUFFIXES = (".md", ".markdown", ".org")
_SETTINGS = frozenset((".obsidian", ".obsidian/app.json"))


@dataclass(slots=True)
class Moves:
    """Paths are relative to the source root.

    ``pages`` are files with the suffix of a page that came, went or changed. ``folders``: folders or
    the vault's own settings moved, so that only a walk can tell what there is now. ``others``: files
    that are no pages came or went.
    """

    pages: set[str] = field(default_factory=set)
    folders: bool = False
    others: bool = False

    def __bool__(self) -> bool:
        return bool(self.pages) or self.folders or self.others

    def add_file(self, path: str, *, there_changed: bool = True) -> None:
        """Note a file; ``there_changed`` is false when only its content did, not that it is there."""
        if path in _SETTINGS:
            self.folders = True
        elif any(part.startswith(".") for part in path.split("/")):
            return
        elif path.lower().endswith(_PAGE_SUFFIXES):
            self.pages.add(path)
        elif there_changed:
            self.others = True

    def take(self, newer: Moves) -> None:
        """Add what another look saw."""
        self.pages |= newer.pages
        self.folders |= newer.folders
        self.others |= newer.others


class Watcher(Protocol):
    """Watches one folder and all below it."""

    @property
    def healthy(self) -> bool:
        """False: events may be missing, walk instead."""

    def drain(self) -> Moves:
        """Return what moved since the last drain, without waiting for a quiet period."""

    def cover(self, folders: set[str]) -> bool:
        """Watch folders with pages that a link led to; True when one was not watched before."""

    def close(self) -> None:
        """Stop watching. Idempotent."""
