"""ISO 8601 texts as comparable instants."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=65_536)
def instant(text: str) -> float | None:
    """Return the seconds since 1970 of an ISO date or time, UTC where it has no offset; None: no time."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return seconds(time if time.tzinfo else time.replace(tzinfo=UTC))


def seconds(time: datetime) -> float:
    """Return the seconds since 1970 of an aware time."""
    return (time - EPOCH).total_seconds()
