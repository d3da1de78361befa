"""The catalog on disk: one SQLite file in WAL mode that holds pages and their bodies.

One writer (under the write lock of the state directory) and any number of readers, in any number
of processes. Rows are never changed in place but for stamps: an edited page gets a new ``rev``.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wikimcp.errors import StateError
from wikimcp.index.records import (
    BODY_COLUMNS,
    PAGE_COLUMNS,
    PageBody,
    PageRecord,
    Row,
    body_from_row,
    page_from_row,
)
from wikimcp.models import Diagnostic, FileStamp

FORMAT = 1

_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pages ({", ".join(PAGE_COLUMNS)}, PRIMARY KEY (rev));
CREATE UNIQUE INDEX pages_path ON pages (path);
CREATE TABLE bodies ({", ".join(BODY_COLUMNS)}, PRIMARY KEY (rev));
CREATE TABLE skipped (path TEXT, code TEXT, message TEXT, line INTEGER);
"""
_PAGE_SQL = f"INSERT INTO pages VALUES ({','.join('?' * len(PAGE_COLUMNS))})"
_BODY_SQL = f"INSERT INTO bodies VALUES ({','.join('?' * len(BODY_COLUMNS))})"


class Catalog:
    """One catalog file. Connections belong to threads; close() closes them all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._mutex = threading.Lock()
        # A replaced index is read by running calls until the last lets go of it; then it is closed.
        weakref.finalize(self, _close_all, self._open)

    @classmethod
    def create(cls, path: Path, meta: dict[str, str]) -> Catalog:
        """Make an empty catalog file. Raises StateError when the disk refuses."""
        catalog = cls(path)
        try:
            connection = catalog.connection
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)
            with catalog.transaction() as writing:
                writing.executemany(
                    "INSERT INTO meta VALUES (?, ?)",
                    [*meta.items(), ("format", str(FORMAT)), ("generation", "0")],
                )
        except sqlite3.Error as error:
            catalog.close()
            raise StateError(f"the index cannot be written ({error})") from error
        return catalog

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._path, timeout=10.0, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA mmap_size=268435456")
            self._local.connection = connection
            with self._mutex:
                self._open.append(connection)
        return connection

    def close(self) -> None:
        """Close every connection."""
        with self._mutex:
            self._local = threading.local()
            _close_all(self._open)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write atomically: commit at the end of the block, roll back on any error."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    # Reading

    def meta(self) -> dict[str, str]:
        """Return all facts about the index: format, generation, adapter, settings."""
        return dict(self.connection.execute("SELECT key, value FROM meta"))

    def generation(self) -> int:
        """Return the number of the newest committed generation."""
        row = self.connection.execute("SELECT value FROM meta WHERE key='generation'").fetchone()
        return int(row[0]) if row else 0

    def pages(self) -> tuple[dict[str, str], list[PageRecord]]:
        """Return meta and every page, withheld ones too, by path, of one moment."""
        connection = self.connection
        connection.execute("BEGIN")
        try:
            meta = self.meta()
            rows = connection.execute(f"SELECT {','.join(PAGE_COLUMNS)} FROM pages ORDER BY path").fetchall()
        finally:
            connection.execute("COMMIT")
        return meta, [page_from_row(row) for row in rows]

    def body(self, rev: int) -> PageBody | None:
        """Return the body of one rev; None when it is no longer there."""
        row = self.connection.execute("SELECT * FROM bodies WHERE rev=?", (rev,)).fetchone()
        return None if row is None else body_from_row(row)

    def sections_cell(self, rev: int) -> str | None:
        """Return the sections cell of one rev; None when it is no longer there."""
        row = self.connection.execute("SELECT sections FROM bodies WHERE rev=?", (rev,)).fetchone()
        return None if row is None else row[0]

    def links(self) -> Iterator[tuple[int, str]]:
        """Yield (rev, links cell) of every page that has links."""
        yield from self.connection.execute("SELECT rev, links FROM bodies WHERE links <> ''")

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Yield (rev, rest cell as JSON text) of every page that has block ids."""
        yield from self.connection.execute("SELECT rev, rest FROM bodies WHERE rest LIKE '%\"blocks\"%'")

    def frontmatters(self) -> Iterator[tuple[int, str]]:
        """Yield (rev, frontmatter as JSON text) of every page that has one."""
        yield from self.connection.execute("SELECT rev, frontmatter FROM bodies WHERE frontmatter <> ''")

    def chunk_keys(self, revs: Sequence[int] | None = None) -> dict[int, bytes]:
        """Return the chunk keys (8 bytes for each chunk) by rev, of all pages or of ``revs``."""
        if revs is None:
            return dict(self.connection.execute("SELECT rev, chunk_keys FROM bodies"))
        found: dict[int, bytes] = {}
        for rev in revs:
            found.update(self.connection.execute("SELECT rev, chunk_keys FROM bodies WHERE rev=?", (rev,)))
        return found

    def outline_cells(self, revs: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return (traits, chunks) cells by rev."""
        marks = ",".join("?" * len(revs))
        rows = self.connection.execute(f"SELECT rev, traits, chunks FROM bodies WHERE rev IN ({marks})", revs)
        return {rev: (traits, chunks) for rev, traits, chunks in rows}

    def skipped(self) -> list[tuple[str, Diagnostic]]:
        """Return the files that are not served, with reasons."""
        rows = self.connection.execute("SELECT path, code, message, line FROM skipped ORDER BY path")
        return [(path, Diagnostic(code, message, line)) for path, code, message, line in rows]

    def diagnosed(self) -> list[tuple[int, str]]:
        """Return (rev, rest cell as JSON text) of the pages that have diagnostics."""
        return self.connection.execute(
            "SELECT rev, rest FROM bodies WHERE rest LIKE '%\"diagnostics\"%'"
        ).fetchall()

    # Writing, inside a transaction of the one writer

    def next_rev(self) -> int:
        """Return the first rev that was never used."""
        row = self.connection.execute("SELECT value FROM meta WHERE key='next_rev'").fetchone()
        return int(row[0]) if row else 1

    def add(self, pages: Iterable[Row], bodies: Iterable[Row]) -> None:
        """Insert pages and their bodies."""
        self.connection.executemany(_PAGE_SQL, pages)
        self.connection.executemany(_BODY_SQL, bodies)

    def remove(self, revs: Iterable[int]) -> None:
        """Delete pages by rev."""
        keys = [(rev,) for rev in revs]
        self.connection.executemany("DELETE FROM pages WHERE rev=?", keys)
        self.connection.executemany("DELETE FROM bodies WHERE rev=?", keys)

    def restamp(self, stamps: Iterable[tuple[int, FileStamp]]) -> None:
        """Record new stamps of files whose content did not change."""
        self.connection.executemany(
            "UPDATE pages SET mtime_ns=?, size=?, inode=? WHERE rev=?",
            [(stamp.mtime_ns, stamp.size, stamp.inode, rev) for rev, stamp in stamps],
        )

    def set_meta(self, **values: str | int) -> None:
        """Set facts about the index."""
        self.connection.executemany(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
            [(key, str(value)) for key, value in values.items()],
        )

    def set_skipped(self, skipped: Iterable[tuple[str, Diagnostic]]) -> None:
        """Replace the list of files that are not served."""
        self.connection.execute("DELETE FROM skipped")
        self.connection.executemany(
            "INSERT INTO skipped VALUES (?,?,?,?)", [(path, d.code, d.message, d.line) for path, d in skipped]
        )


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def check(path: Path) -> str:
    """Return why a catalog file is unusable, or an empty string: a real query decides."""
    catalog = Catalog(path)
    try:
        if not path.exists():
            return "missing"
        meta = catalog.meta()
        if meta.get("format") != str(FORMAT):
            return f"format {meta.get('format', 'unknown')} instead of {FORMAT}"
        catalog.connection.execute("SELECT rev, path FROM pages LIMIT 3").fetchall()
        catalog.connection.execute("SELECT rev, sections FROM bodies LIMIT 3").fetchall()
    except sqlite3.OperationalError as error:
        # A busy database is healthy: it must never be thrown away for being busy.
        return "" if "locked" in str(error) or "busy" in str(error) else str(error)
    except sqlite3.DatabaseError as error:
        return str(error)
    finally:
        catalog.close()
    return ""
