"""The signals of a reader to its service: a file moved on, or the index itself cannot be read."""

from __future__ import annotations

from wikimcp.errors import StateError


class Stale(Exception):
    """The file at ``path`` changed or vanished since it was indexed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class BusyError(StateError):
    """The index is healthy but another process is at it: it must never be thrown away for that."""


class IndexDamaged(StateError):
    """What is on disk is no index any more: it is to be made anew from the vault."""
