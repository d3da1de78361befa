"""Reading the history that the version ledger keeps: when the content of a page was seen to change."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import StateError

_MOST_FORMER = 20


@dataclass(frozen=True, slots=True)
class SeenChange:
    """One content of a page as the index met it: the ledger's own count from 1, and the time (ISO)."""

    count: int
    at: str


def seen_changes(ledger: Path, path: str, *, limit: int) -> list[SeenChange]:
    """Return the newest changes of the page at ``path`` first, those under its former paths too.

    Raises StateError when the ledger cannot be read.
    """
    if not ledger.exists():
        raise StateError("there is no version ledger")
    try:
        connection = sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True, timeout=2.0)
        try:
            paths = _paths_of(connection, path)
            marks = ",".join("?" * len(paths))
            rows = connection.execute(
                f"SELECT version, MIN(at) FROM history WHERE path IN ({marks}) GROUP BY version"  # noqa: S608
                " ORDER BY version DESC LIMIT ?",
                (*paths, limit),
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StateError("the version ledger cannot be read") from error
    return [SeenChange(int(count), str(at)) for count, at in rows]


def _paths_of(connection: sqlite3.Connection, path: str) -> list[str]:
    """Return a page's path and those it was moved from."""
    paths = [path]
    for known in paths:
        if len(paths) > _MOST_FORMER:
            break
        found = connection.execute("SELECT path FROM pages WHERE moved_to=?", (known,))
        paths += [row[0] for row in found if row[0] not in paths]
    return paths
