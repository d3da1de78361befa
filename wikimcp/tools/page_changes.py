"""What changed on a page lately, as an answer tells it. Where it is read from is the index's matter."""

from __future__ import annotations

from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Wire

_FIRST, _AFTER = "first seen by the index", "content changed"


class Change(Wire):
    """One change: the version it made; who made it and how it was called, where git tells of that."""

    schema_in_full = False

    version: int | None = None
    at: str
    author: str | None = None
    subject: str


def recent_changes(reading: Reading, page: PageRecord, *, limit: int) -> list[Change]:
    """Return the newest changes first. Raises StateError when they cannot be read."""
    return [
        Change(
            version=change.version or None,
            at=change.at,
            author=change.author or None,
            subject=change.subject or (_FIRST if change.version == 1 else _AFTER),
        )
        for change in reading.recent_changes(page, limit=limit)
    ]
