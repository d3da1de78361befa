"""What the ledger remembers for readers: where a page that was renamed lies now, and its own counting.

Readers open the file for a moment and never write; what cannot be read is not known.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

_MOST_MOVES = 50
_SUFFIXES = (".md", ".markdown", ".org", "")
T = TypeVar("T")


def path_of_former_id(ledger: Path, canonical_id: str) -> str:
    """Return where the page that once had an id lies now; empty when no page ever had it."""

    def ask(connection: sqlite3.Connection) -> str:
        row = connection.execute("SELECT path FROM ids WHERE id=?", (canonical_id,)).fetchone()
        # Also without a row: an id of a page that is hidden now may not cost more than one that never was.
        return _followed(connection, str(row[0]) if row else "")

    return _asked(ledger, ask, "")


def path_of_former_slug(ledger: Path, slug: str) -> str:
    """Return where the page that once had a slug lies now; empty when none is known to have been renamed."""

    def ask(connection: sqlite3.Connection) -> str:
        for path in (slug + suffix for suffix in _SUFFIXES):
            now = _followed(connection, path)
            if now != path:
                return now
        return ""

    return _asked(ledger, ask, "")


def paths_now(ledger: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return where the pages that were renamed from these paths lie now, by former path."""

    def ask(connection: sqlite3.Connection) -> dict[str, str]:
        found = ((path, _followed(connection, path)) for path in paths)
        return {path: now for path, now in found if now != path}

    return _asked(ledger, ask, {})


def counted_version(ledger: Path, path: str) -> int:
    """Return how many versions of a page the ledger has counted; 0 when it knows nothing of it."""

    def ask(connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT version FROM pages WHERE path=?", (path,)).fetchone()
        return int(row[0]) if row else 0

    return _asked(ledger, ask, 0)


def paths_of(ledger: Path, path: str) -> Sequence[str]:
    """Return a page's path and those that the ledger knows it was moved from."""
    return _asked(ledger, lambda connection: _paths_of(connection, path), [path])


def counted_changes(ledger: Path, path: str, *, limit: int) -> Sequence[tuple[int, str]]:
    """Return (version, ISO time) of a page's newest changes, under former paths too, newest first."""

    def ask(connection: sqlite3.Connection) -> Sequence[tuple[int, str]]:
        times: dict[int, str] = {}
        for known in _paths_of(connection, path):
            rows = connection.execute(
                "SELECT version, at FROM history WHERE path=? ORDER BY version DESC LIMIT ?", (known, limit)
            )
            for version, at in rows:
                times[version] = min(times.get(version, at), at)
        return sorted(times.items(), reverse=True)[:limit]

    return _asked(ledger, ask, ())


def _paths_of(connection: sqlite3.Connection, path: str) -> list[str]:
    """Return a page's path and those it was moved from."""
    paths = [path]
    for known in paths:
        if len(paths) > _MOST_MOVES:
            break
        found = connection.execute("SELECT path FROM pages WHERE moved_to=?", (known,))
        paths += [row[0] for row in found if row[0] not in paths]
    return paths


def _followed(connection: sqlite3.Connection, path: str) -> str:
    for _ in range(_MOST_MOVES):
        row = connection.execute("SELECT moved_to FROM pages WHERE path=?", (path,)).fetchone()
        if not row or not row[0]:
            break
        path = str(row[0])
    return path


def _asked(ledger: Path, ask: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
    """Return the answer of a ledger; ``otherwise`` when there is none, or it cannot be read."""
    if not ledger.exists():
        return otherwise
    try:
        with closing(sqlite3.connect(ledger, timeout=5.0)) as connection:
            return ask(connection)
    except sqlite3.Error:
        return otherwise
