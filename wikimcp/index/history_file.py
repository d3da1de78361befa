"""The file that keeps a repository's history: its tables, and how commits are written into them.

Read and asked by `history`. A file is a number; its path may change, and it keeps what it counted.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from wikimcp.index.git_log import OUTSIDE, Change, Commit, GitError, Repository

FORMAT = "2"
SUFFIXES = (".md", ".markdown", ".org")
_STEP_SECONDS = 60.0  # for any question to git but those that grow with the history
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, commits INTEGER NOT NULL, moved_to INTEGER NOT NULL,
    inside INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS commits (
    id INTEGER PRIMARY KEY, sha TEXT NOT NULL, at TEXT NOT NULL, author TEXT NOT NULL, subject TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS touches (
    file INTEGER NOT NULL, number INTEGER NOT NULL, commit_id INTEGER NOT NULL, PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS touches_commit ON touches (commit_id);
CREATE TABLE IF NOT EXISTS blobs (
    oid TEXT PRIMARY KEY, content TEXT NOT NULL, windows TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS head (path TEXT PRIMARY KEY, oid TEXT NOT NULL) WITHOUT ROWID;
"""
_REPLACED = -1  # in place of moved_to: another file took the path
_OF_A_HISTORY = ("files", "commits", "touches", "head")  # not blobs: their content stays what it is


class TimeLeft:
    """What is left of the time that reading a history may take, shared by its questions to git."""

    def __init__(self, seconds: float, stop: threading.Event) -> None:
        self._until = time.monotonic() + seconds
        self.stop = stop

    def all(self) -> float:
        """Return all that is left, in seconds. Raises GitError when it is nothing."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise GitError("git took too long")
        return left

    def step(self) -> float:
        """Return what one quick question may take of it."""
        return min(_STEP_SECONDS, self.all())


@contextmanager
def writing(file: Path) -> Iterator[sqlite3.Connection]:
    """Open the file and write as one; another process that writes is not waited for."""
    with closing(sqlite3.connect(file, timeout=0.5, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        if tables and kept_facts(connection).get("format") != FORMAT:
            for table in (*_OF_A_HISTORY, "blobs", "meta"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.executescript(_SCHEMA)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?)", (FORMAT,))
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def kept_facts(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what the file says of itself: its format, and where in which history it stands."""
    return dict(connection.execute("SELECT key, value FROM meta"))


def forget_history(connection: sqlite3.Connection) -> None:
    """Empty the tables of a history that has to be read from its start."""
    for table in _OF_A_HISTORY:
        connection.execute(f"DELETE FROM {table}")  # nosec B608 # a constant


def note_head(connection: sqlite3.Connection, repository: Repository, head: str, left: TimeLeft) -> None:
    """Store the pages at HEAD with the hashes of their content; only blobs that are new are read."""
    tree = repository.tree(head, stop=left.stop, seconds=left.step())
    pages = {path: oid for path, oid in tree.items() if _is_page(path)}
    known = {oid for (oid,) in connection.execute("SELECT oid FROM blobs")}
    lacking = sorted(set(pages.values()) - known)
    hashes = repository.content_hashes(lacking, stop=left.stop, seconds=left.all())
    connection.executemany("INSERT OR REPLACE INTO blobs VALUES (?,?,?)", hashes)
    connection.execute("DELETE FROM head")
    connection.executemany("INSERT INTO head VALUES (?,?)", pages.items())
    connection.execute("DELETE FROM blobs WHERE oid NOT IN (SELECT oid FROM head)")


class Recorder:
    """Applies commits to the tables, parents first.

    A renamed file goes on counting under its new path; what a side branch still does to the old path
    counts for it too. A file that is written anew where one was renamed away begins at one. Files outside
    of the folder are followed like the others: ``inside`` tells those that have ever been in it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._counts: dict[int, int] = {}
        self._paths: dict[int, str] = {}
        self._inside: set[int] = set()
        self._moved: dict[str, int] = {}  # former path: the file that went from there
        for number, path, commits, moved_to, inside in connection.execute(
            "SELECT id, path, commits, moved_to, inside FROM files ORDER BY id"
        ):
            if moved_to > 0:
                self._moved[path] = moved_to
                continue
            self._counts[number], self._paths[number] = commits, path
            if inside:
                self._inside.add(number)
            if moved_to != _REPLACED:
                self._ids[path] = number
        [(last,)] = connection.execute("SELECT coalesce(max(id), 0) FROM files")
        self._next = int(last) + 1

    def record(self, commits: Iterator[Commit]) -> None:
        """Store commits, and the files they leave."""
        for commit in commits:
            touched = self._files([change for change in commit.changes if _is_page(change.path)])
            if not touched:
                continue
            row = (commit.sha, commit.at, commit.author, commit.subject)
            added = self._connection.execute(
                "INSERT INTO commits (sha, at, author, subject) VALUES (?,?,?,?)", row
            )
            for number in touched:
                self._counts[number] += 1
                if not self._paths[number].startswith(OUTSIDE):
                    self._inside.add(number)
            self._connection.executemany(
                "INSERT INTO touches VALUES (?,?,?)",
                [(number, self._counts[number], added.lastrowid) for number in touched],
            )
        self._connection.execute("DELETE FROM files")
        rows = [
            (
                number,
                path,
                self._counts[number],
                0 if self._ids.get(path) == number else _REPLACED,
                int(number in self._inside),
            )
            for number, path in self._paths.items()
        ]
        self._connection.executemany("INSERT INTO files VALUES (?,?,?,?,?)", rows)
        self._connection.executemany(
            "INSERT INTO files (path, commits, moved_to, inside) VALUES (?,0,?,0)", self._moved.items()
        )

    def _files(self, changes: Sequence[Change]) -> set[int]:
        """Return the files that the changes of one commit are of, after noting what became of their paths."""
        renamed = [change for change in changes if change.status == "R" and _is_page(change.before)]
        # All leave their paths before any takes its new one: two files may have changed places.
        numbers = [self._leaving(change.before) for change in renamed]
        touched = set()
        for change, known in zip(renamed, numbers, strict=True):
            number = known or self._new(change.path)
            self._moved[change.before] = number
            if self._ids.get(self._paths[number]) == number:  # moved on by another branch before
                del self._ids[self._paths[number]]
            self._ids[change.path], self._paths[number] = number, change.path
            touched.add(number)
        for change in renamed:
            self._moved.pop(change.path, None)
        for change in changes:
            if change not in renamed:
                number = self._ids.get(change.path, 0)
                if not number and change.status != "A":
                    number = self._moved.get(change.path, 0)
                touched.add(number or self._new(change.path))
        return touched

    def _leaving(self, path: str) -> int:
        """Return the file that leaves a path, 0 when none is known to be there or to have been."""
        return self._ids.pop(path, 0) or self._moved.get(path, 0)

    def _new(self, path: str) -> int:
        number, self._next = self._next, self._next + 1
        self._ids[path], self._paths[number], self._counts[number] = number, path, 0
        self._moved.pop(path, None)
        return number


def _is_page(path: str) -> bool:
    """Whether a path may be one of a page; one that is no UTF-8 is left to the ledger."""
    return path.lower().endswith(SUFFIXES) and not any("\ud800" <= mark <= "\udfff" for mark in path)
