"""The signal that a file is not what the snapshot says: the service refreshes and asks again."""

from __future__ import annotations


class Stale(Exception):
    """The file at ``path`` changed or vanished since it was indexed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
