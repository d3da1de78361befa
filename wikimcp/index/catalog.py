"""The catalog on disk: one SQLite file in WAL mode that holds pages and their bodies.

One writer (under the write lock of the state directory) and any number of readers, in any number
of processes. Rows are never changed in place but for stamps: an edited page gets a new ``rev``.
"""

from __future__ import annotations

import gc
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

from wikimcp.errors import StateError
from wikimcp.index.connections import Connections
from wikimcp.index.page_record import (
    AT_ONCE,
    PAGE_COLUMNS,
    PageRecord,
    Row,
    page_columns_sql,
    page_from_row,
    pages_from_columns,
)
from wikimcp.index.records import (
    BODY_COLUMNS,
    Comments,
    PageBody,
    SkippedFile,
    body_from_row,
    comments_from_cell,
    sections_from_cell,
)
from wikimcp.index.stale import BusyError, IndexDamaged
from wikimcp.models import LINK_SERVED_ONCE, Diagnostic, FileStamp, LinkKind, Section

FORMAT = 8

_path = attrgetter("path")
_CITING = f"""instr(links, '["{LinkKind.CITATION.value}",') > 0"""
_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pages ({", ".join(PAGE_COLUMNS)}, PRIMARY KEY (rev));
CREATE UNIQUE INDEX pages_path ON pages (path);
CREATE TABLE bodies ({", ".join(BODY_COLUMNS)}, PRIMARY KEY (rev));
CREATE INDEX bodies_citing ON bodies (rev) WHERE {_CITING};
CREATE INDEX bodies_keys ON bodies (rev, chunk_keys);
CREATE TABLE skipped (path TEXT, code TEXT, message TEXT, line INTEGER, mtime_ns, size, inode);
"""
_PAGE_SQL = f"INSERT INTO pages VALUES ({','.join('?' * len(PAGE_COLUMNS))})"  # nosec B608 # marks only
_BODY_SQL = f"INSERT INTO bodies VALUES ({','.join('?' * len(BODY_COLUMNS))})"  # nosec B608 # marks only


class Catalog:
    """One catalog file, read by any thread over a connection of its own.

    Reading raises IndexDamaged when the file is no catalog any more, StateError when it is busy or
    away.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections = Connections(path)

    @classmethod
    def create(cls, path: Path, meta: dict[str, str]) -> Catalog:
        """Make an empty catalog file. Raises StateError when the disk refuses."""
        catalog = cls(path)
        try:
            path.touch(mode=0o600)
            catalog.connection.execute("PRAGMA journal_mode=WAL")
            catalog.connection.executescript(_SCHEMA)
            with catalog.transaction() as writing:
                writing.executemany(
                    "INSERT INTO meta VALUES (?, ?)",
                    [*meta.items(), ("format", str(FORMAT)), ("generation", "0")],
                )
        except (sqlite3.Error, OSError) as error:
            catalog.close()
            raise StateError(f"the index cannot be written ({error})") from error
        return catalog

    @property
    def folder(self) -> Path:
        """The folder of the index that the file belongs to; it goes when the index is replaced."""
        return self._path.parent

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread, for use in a transaction."""
        return self._connections.mine

    def close(self) -> None:
        """Close every connection that is not in use; one that is, as soon as its call is over."""
        self._connections.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write atomically: commit at the end of the block, roll back on any error."""
        with translated(), self._connections.using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with translated(), self._connections.using() as connection:
            return connection.execute(sql, values).fetchall()

    # Reading

    def meta(self) -> dict[str, str]:
        """Return all facts about the index: format, generation, adapter, settings."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def generation(self) -> int:
        """Return the number of the newest committed generation."""
        rows = self._rows("SELECT value FROM meta WHERE key='generation'")
        return int(rows[0][0]) if rows else 0

    def pages(self, *, since: int = 0) -> tuple[dict[str, str], list[PageRecord], list[int]]:
        """Return of one moment: meta, the pages from rev ``since`` on by path, and the revs of all pages.

        Withheld pages are among them.
        """
        with translated(), uncollected(), self._connections.using() as connection:
            connection.execute("BEGIN")
            try:
                meta = self.meta()
                newest = connection.execute("SELECT max(rev) FROM pages").fetchone()[0] or 0
                pages: list[PageRecord] = []
                for first in range(since, newest + 1, AT_ONCE):
                    pages += _pages_between(connection, first, first + AT_ONCE - 1)
                revs = [page.rev for page in pages]
                if since:
                    revs = [rev for (rev,) in connection.execute("SELECT rev FROM pages").fetchall()]
            finally:
                connection.execute("COMMIT")
            pages.sort(key=_path)
            return meta, pages, revs

    def public_pages(self, names: Sequence[str]) -> list[PageRecord]:
        """Return the pages that everybody may see and that go by one of ``names``: id, slug or path.

        Those of a transaction that is under way are among them.
        """
        asked = json.dumps(list(names))
        rows = self._rows(
            f"SELECT {','.join(PAGE_COLUMNS)} FROM pages WHERE withheld='' AND labels='' AND ("  # nosec B608 # our own columns
            "canonical_id IN (SELECT value FROM json_each(?1)) OR slug IN (SELECT value FROM json_each(?1))"
            " OR path IN (SELECT value FROM json_each(?1)))",
            (asked,),
        )
        with translated():
            return [page_from_row(row) for row in rows]

    def body(self, rev: int) -> PageBody | None:
        """Return the body of one rev; None when it is no longer there."""
        with translated(), self._connections.using() as connection:
            row = connection.execute("SELECT * FROM bodies WHERE rev=?", (rev,)).fetchone()
            return None if row is None else body_from_row(row)

    def sections(self, rev: int) -> tuple[tuple[Section, ...], Comments] | None:
        """Return the sections and the comments of one rev; None when it is no longer there."""
        with translated(), self._connections.using() as connection:
            row = connection.execute("SELECT sections, rest FROM bodies WHERE rev=?", (rev,)).fetchone()
            return None if row is None else (sections_from_cell(row[0]), comments_from_cell(row[1]))

    def links(self) -> list[tuple[int, str]]:
        """Return (rev, links cell) of every page that has links."""
        return self._rows("SELECT rev, links FROM bodies WHERE links <> ''")

    def citing(self) -> list[tuple[int, str]]:
        """Return (rev, links cell) of every page that cites something."""
        return self._rows(f"SELECT rev, links FROM bodies WHERE {_CITING}")  # nosec B608 # a constant

    def blocks(self) -> list[tuple[int, str]]:
        """Return (rev, rest cell as JSON text) of every page that has block ids."""
        return self._rows("SELECT rev, rest FROM bodies WHERE rest LIKE '%\"blocks\"%'")

    def graph_cells(self, revs: Sequence[int] | None = None) -> dict[int, tuple[str, str, str]]:
        """Return (links, frontmatter, rest) cells by rev, of all pages or of ``revs``."""
        sql = "SELECT rev, links, frontmatter, rest FROM bodies"
        if revs is None:
            rows = self._rows(sql)
        else:
            rows = [row for rev in revs for row in self._rows(f"{sql} WHERE rev=?", (rev,))]
        return {rev: (links, frontmatter, rest) for rev, links, frontmatter, rest in rows}

    def section_cells(self) -> dict[int, str]:
        """Return the sections cell of every page by rev."""
        return dict(self._rows("SELECT rev, sections FROM bodies"))

    def chunk_cells(self, revs: Sequence[int]) -> dict[int, tuple[bytes, str]]:
        """Return (chunks, rest) cells by rev."""
        sql = "SELECT rev, chunks, rest FROM bodies WHERE rev=?"
        rows = [row for rev in revs for row in self._rows(sql, (rev,))]
        return {rev: (chunks, rest) for rev, chunks, rest in rows}

    def frontmatters(self, *, since: int = 0) -> list[tuple[int, str]]:
        """Return (rev, frontmatter as JSON text) of every page that has one, from rev ``since`` on."""
        return self._rows(
            "SELECT rev, frontmatter FROM bodies WHERE frontmatter <> '' AND rev >= ?", (since,)
        )

    def chunk_keys(self, revs: Sequence[int] | None = None) -> dict[int, bytes]:
        """Return the chunk keys (8 bytes for each chunk) by rev, of all pages or of ``revs``."""
        if revs is None:
            return dict(self._rows("SELECT rev, chunk_keys FROM bodies"))
        found: dict[int, bytes] = {}
        for rev in revs:
            found.update(self._rows("SELECT rev, chunk_keys FROM bodies WHERE rev=?", (rev,)))
        return found

    def outline_cells(self, revs: Sequence[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return (traits, chunks) cells by rev."""
        marks = ",".join("?" * len(revs))
        rows = self._rows(f"SELECT rev, traits, chunks FROM bodies WHERE rev IN ({marks})", revs)  # nosec B608 # marks only
        return {rev: (traits, chunks) for rev, traits, chunks in rows}

    def body_cells(
        self, columns: Sequence[str], revs: Sequence[int] | None = None
    ) -> dict[int, tuple[Any, ...]]:
        """Return some of ``BODY_COLUMNS`` as they are stored by rev, of all pages or of ``revs``."""
        sql = f"SELECT rev, {', '.join(columns)} FROM bodies"  # nosec B608 # our own columns
        if revs is None:
            return {row[0]: row[1:] for row in self._rows(sql)}
        return {row[0]: row[1:] for rev in revs for row in self._rows(f"{sql} WHERE rev=?", (rev,))}

    def skipped(self) -> list[SkippedFile]:
        """Return the files that are not served, with reasons, by path."""
        rows = self._rows("SELECT * FROM skipped ORDER BY path, code")
        return [
            SkippedFile(path, Diagnostic(code, message, line), None if mtime is None else stamp)
            for path, code, message, line, mtime, size, inode in rows
            for stamp in (FileStamp(path, mtime or 0, size or 0, inode or 0),)
        ]

    def skipped_count(self) -> int:
        """Return how many files are not served under any name."""
        query = "SELECT count(DISTINCT path) FROM skipped WHERE code <> ?"
        return int(self._rows(query, (LINK_SERVED_ONCE,))[0][0])

    def diagnosed(self) -> list[tuple[int, str]]:
        """Return (rev, rest cell as JSON text) of the pages that have diagnostics."""
        return self._rows("SELECT rev, rest FROM bodies WHERE rest LIKE '%\"diagnostics\"%'")

    def sourced(self) -> list[tuple[int, str]]:
        """Return (rev, rest cell as JSON text) of the pages that name sources, perhaps of a few more."""
        return self._rows("SELECT rev, rest FROM bodies WHERE rest LIKE '%\"sources\"%'")

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

    def set_skipped(self, skipped: Iterable[SkippedFile]) -> None:
        """Replace the list of files that are not served."""
        self.connection.execute("DELETE FROM skipped")
        self.connection.executemany(
            "INSERT INTO skipped VALUES (?,?,?,?,?,?,?)",
            [
                (s.path, s.why.code, s.why.message, s.why.line)
                + ((s.stamp.mtime_ns, s.stamp.size, s.stamp.inode) if s.stamp else (None, None, None))
                for s in skipped
            ],
        )


def _pages_between(connection: sqlite3.Connection, first: int, last: int) -> list[PageRecord]:
    where = "FROM pages WHERE rev BETWEEN ? AND ?"
    at_once = connection.execute(f"SELECT {page_columns_sql()} {where}", (first, last)).fetchone()  # nosec B608 # our own columns
    pages = pages_from_columns(at_once)
    if pages is None:
        rows = connection.execute(f"SELECT {','.join(PAGE_COLUMNS)} {where}", (first, last))  # nosec B608 # our own columns
        pages = [page_from_row(row) for row in rows]
    return pages


def _kind(message: str) -> type[StateError]:
    if any(sign in message for sign in ("locked", "busy")):
        return BusyError
    damaged = any(sign in message for sign in ("malformed", "no such table", "no such column", "decode"))
    return IndexDamaged if damaged else StateError


@contextmanager
def uncollected() -> Iterator[None]:
    """Make many objects that stay without the collector looking through them again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of SQLite, and of decoding what it holds, as those of the index."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.InterfaceError) as error:
        # What cannot be decoded is quoted in SQLite's message: it may be of a withheld page.
        reason = "it holds no text" if "decode" in str(error) else error
        raise _kind(str(error))(f"the index cannot be used ({reason})") from error
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"the index cannot be read ({error})") from error
    except (ValueError, TypeError, LookupError) as error:
        raise IndexDamaged("the index holds what was never written to it") from error


def check(path: Path) -> str:
    """Return why a catalog file is unusable, or an empty string: a real query decides."""
    if not path.exists():
        return "missing"
    if _cut_short(path):
        return "its end is missing"
    catalog = Catalog(path)
    try:
        meta = catalog.meta()
        if meta.get("format") != str(FORMAT):
            return f"format {meta.get('format', 'unknown')} instead of {FORMAT}"
        with translated():
            catalog.connection.execute("SELECT rev, path FROM pages LIMIT 3").fetchall()
            catalog.connection.execute("SELECT rev, sections FROM bodies LIMIT 3").fetchall()
    except BusyError:
        return ""
    except StateError as error:
        return error.message
    finally:
        catalog.close()
    return ""


def _cut_short(path: Path) -> bool:
    """Whether a file is shorter than its header says: what is lost may be cells that no check reads.

    Where there is a log the header may be behind or ahead of it, so that nothing can be told.
    """
    try:
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            return False
        with path.open("rb") as file:
            header = file.read(32)
        size = int.from_bytes(header[16:18], "big")
        return path.stat().st_size < (65_536 if size == 1 else size) * int.from_bytes(header[28:32], "big")
    except OSError:
        return False
