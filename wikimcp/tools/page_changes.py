"""What changed on a page lately. The one place that decides where changes are read from: now the ledger."""

from __future__ import annotations

from wikimcp.index.history import seen_changes
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Wire

_FIRST, _AFTER = "first seen by the index", "content changed"


class Change(Wire):
    """One change; ``version`` is absent where the page counts its versions itself."""

    schema_in_full = False

    version: int | None = None
    at: str
    author: str | None = None
    subject: str


def recent_changes(reading: Reading, page: PageRecord, *, limit: int) -> list[Change]:
    """Return the newest changes first. Raises StateError when they cannot be read."""
    snapshot = reading.view.snapshot
    if snapshot.ledger is None:
        return []
    seen = seen_changes(snapshot.ledger, page.path, limit=limit)
    counted = bool(seen) and seen[0].count == page.version  # else the frontmatter says the version
    return [
        Change(
            version=one.count if counted else page.version if at == 0 else None,
            at=one.at,
            subject=_FIRST if one.count == 1 else _AFTER,
        )
        for at, one in enumerate(seen)
    ]
