"""What scoring counts: in how many live pages and chunks a token is, of one index or of several as one.

How a member counts is its own matter; it is given as `Countable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from wikimcp.ports import LexicalStatistics


class Countable(Protocol):
    """An index that can count its live documents; ``kind`` is ``pages`` or ``chunks``."""

    def documents(self, kind: str, among: frozenset[int] | None) -> int:
        """Return how many documents there are, of pages with these revs only when given."""

    def documents_with(self, kind: str, field: str, token: str, among: frozenset[int] | None) -> float:
        """Return how many of these documents hold a token."""


class Counted:
    """The statistics of one index, or of some of its pages. A LexicalStatistics."""

    def __init__(self, index: Countable, among: frozenset[int] | None) -> None:
        self._index = index
        self._among = among
        self.page_count = index.documents("pages", among)
        self.chunk_count = index.documents("chunks", among)

    def pages(self, field: str, token: str) -> int:
        """Return how many pages hold a token in a field."""
        return int(self._index.documents_with("pages", field, token, self._among))

    def chunks(self, field: str, token: str) -> float:
        """Return how many chunks hold a token in a field, estimated where it is in very many."""
        return self._index.documents_with("chunks", field, token, self._among)


class Summed:
    """Several statistics as one. A LexicalStatistics."""

    def __init__(self, parts: Sequence[LexicalStatistics]) -> None:
        self._parts = parts
        self.page_count = sum(part.page_count for part in parts)
        self.chunk_count = sum(part.chunk_count for part in parts)

    def pages(self, field: str, token: str) -> int:
        """Return how many pages of all hold a token in a field."""
        return sum(part.pages(field, token) for part in self._parts)

    def chunks(self, field: str, token: str) -> float:
        """Return how many chunks of all hold a token in a field."""
        return sum(part.chunks(field, token) for part in self._parts)
