"""What changed on a page lately, as an answer tells it. Where it is read from is the index's matter."""

from __future__ import annotations

from wikimcp.errors import StateError
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Wire

_FIRST, _AFTER = "first seen by the index", "content changed"


class Change(Wire):
    """One change; ``version`` is absent where the page counts its own, ``author`` where git tells none."""

    schema_in_full = False

    version: int | None = None
    at: str
    author: str | None = None
    subject: str


def recent_changes(reading: Reading, page: PageRecord, *, limit: int) -> list[Change]:
    """Return the newest changes first. Raises StateError when they cannot be read."""
    changes = reading.recent_changes(page, limit=limit)
    if not changes and reading.view.snapshot.ledger is not None:
        raise StateError("there is no version ledger")  # else it had counted the page once at least
    counted = bool(changes) and changes[0].version == page.version  # else the frontmatter says the version
    return [
        Change(
            version=change.version if counted else page.version if at == 0 else None,
            at=change.at,
            author=change.author or None,
            subject=change.subject or (_FIRST if change.version == 1 and not change.author else _AFTER),
        )
        for at, change in enumerate(changes)
    ]
