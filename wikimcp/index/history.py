"""The history of the pages as git has it, kept in the state directory: their commits, and the count of them.

One pass over all commits makes it, later passes read what is new. Whoever leads does that; the others
read the file. A page's version is the number of commits that touched it, renames followed, and one more
while its content is not that of HEAD. Derived from git alone, so it may be thrown away.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from wikimcp.index.git_log import Change, Commit, GitError, Repository, find_repository
from wikimcp.index.records import PageRecord

log = logging.getLogger("wikimcp.index")

_FORMAT = "1"
_PASS_SECONDS = 300.0  # for all commits of a repository
_STEP_SECONDS = 60.0  # for any other question to git
_SUFFIXES = (".md", ".markdown", ".org")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, commits INTEGER NOT NULL, moved_to INTEGER NOT NULL
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
_TABLES = ("meta", "files", "commits", "touches", "head")


@dataclass(frozen=True, slots=True)
class Touch:
    """One commit of a page: the version it made, and the ids of all files that it touched."""

    version: int
    at: str
    author: str
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """The commits of each path, and the content hashes that its file at HEAD may have on disk."""

    commits: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def version(self, page: PageRecord) -> int:
        """Return a page's version: that of its frontmatter, else git's, else the one it has."""
        commits = 0 if page.version_fixed else self.commits.get(page.path, 0)
        if not commits:
            return page.version
        return commits + (page.content_hash not in self.committed.get(page.path, ()))


class GitHistory:
    """The history of one vault's pages. ``counts`` are empty until one has been read.

    ``env`` is the environment that git is run in.
    """

    def __init__(self, state: Path, folder: Path, env: Mapping[str, str]) -> None:
        name = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        self.file = state / f"history-{name}.sqlite"
        self.counts = Counts()
        self._folder = folder
        self._env = env
        self._loaded: object = None
        self._done: object = None
        self._mutex = threading.Lock()

    def repository(self) -> Repository | None:
        """Return the repository that the vault lies in, when all of its history is there."""
        found = find_repository(self._folder, self._env)
        return found if found is not None and found.whole else None

    def load(self) -> bool:
        """Read what is kept where it is newer than what was read; tells whether the counts changed."""
        with self._mutex:
            mark = _mark(self.file)
            if mark == self._loaded:
                return False
            self._loaded = mark
            before = self.counts
            self.counts = self._read() if mark is not None and self.repository() is not None else Counts()
            return self.counts != before

    def _read(self) -> Counts:
        try:
            with closing(sqlite3.connect(self.file, timeout=5.0)) as connection:
                if dict(connection.execute("SELECT key, value FROM meta")).get("format") != _FORMAT:
                    return Counts()
                commits = connection.execute("SELECT path, commits FROM files WHERE moved_to=0 ORDER BY id")
                committed = connection.execute(
                    "SELECT path, content, windows FROM head JOIN blobs ON blobs.oid=head.oid"
                )
                return Counts(dict(commits), {path: (plain, crlf) for path, plain, crlf in committed})
        except sqlite3.Error:
            return Counts()

    def refresh(self, stop: threading.Event) -> bool:
        """Bring what is kept in line with git; returns whether the counts changed.

        Costs a few looks at files when HEAD has not moved. Where git fails or takes too long the counts
        stay as they were until HEAD moves.
        """
        repository = self.repository()
        if repository is None:
            changed, self.counts = self.counts != Counts(), Counts()
            return changed
        mark = repository.mark()
        if mark != self._done:
            self._done = mark
            try:
                self._update(repository, stop)
            except GitError as error:
                log.warning("versions are counted here and not by git: %s", error)
            except sqlite3.OperationalError as error:
                log.warning("the history of versions cannot be kept (%s)", error)
            except sqlite3.DatabaseError:
                self._discard()
                self._done = None
        return self.load()

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self.file}{suffix}").unlink()

    def _update(self, repository: Repository, stop: threading.Event) -> None:
        head = repository.head(stop=stop, seconds=_STEP_SECONDS)
        with _writing(self.file) as connection:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            old = meta.get("head", "") if meta.get("format") == _FORMAT else ""
            if old == head and meta.get("prefix") == repository.prefix:
                return
            goes_on = bool(old) and meta.get("prefix") == repository.prefix
            if not head or not goes_on or not repository.follows(old, head, stop=stop, seconds=_STEP_SECONDS):
                for table in _TABLES:
                    connection.execute(f"DELETE FROM {table}")  # nosec B608 # a constant
                old = ""
            if head:
                commits = repository.commits(old, head, stop=stop, seconds=_PASS_SECONDS)
                _Recorder(connection).record(commits)
                _note_head(connection, repository, head, stop)
            facts = {"format": _FORMAT, "head": head, "prefix": repository.prefix}
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", facts.items())

    def touches(self, path: str, *, limit: int) -> list[Touch]:
        """Return the newest commits of a page, the newest first; empty where git knows nothing of it."""
        if path not in self.counts.commits:
            return []
        try:
            with closing(sqlite3.connect(self.file, timeout=5.0)) as connection:
                rows = connection.execute(
                    "SELECT touches.number, commits.id, commits.at, commits.author, commits.subject"
                    " FROM touches JOIN commits ON commits.id=touches.commit_id WHERE touches.file="
                    "(SELECT max(id) FROM files WHERE path=? AND moved_to=0) ORDER BY number DESC LIMIT ?",
                    (path, limit),
                ).fetchall()
                return [
                    Touch(number, at, author, subject, _paths_of(connection, commit))
                    for number, commit, at, author, subject in rows
                ]
        except sqlite3.Error:
            return []


def _paths_of(connection: sqlite3.Connection, commit: int) -> tuple[str, ...]:
    """Return the paths that the files of a commit have today, or had last."""
    rows = connection.execute(
        "SELECT path FROM touches JOIN files ON files.id=touches.file WHERE commit_id=?", (commit,)
    )
    return tuple(str(path) for (path,) in rows)


def _note_head(
    connection: sqlite3.Connection, repository: Repository, head: str, stop: threading.Event
) -> None:
    """Store the pages at HEAD with the hashes of their content; only blobs that are new are read."""
    tree = repository.tree(head, stop=stop, seconds=_STEP_SECONDS)
    pages = {path: oid for path, oid in tree.items() if _is_page(path)}
    known = {oid for (oid,) in connection.execute("SELECT oid FROM blobs")}
    lacking = sorted(set(pages.values()) - known)
    hashes = repository.content_hashes(lacking, stop=stop, seconds=_PASS_SECONDS)
    connection.executemany("INSERT OR REPLACE INTO blobs VALUES (?,?,?)", hashes)
    connection.execute("DELETE FROM head")
    connection.executemany("INSERT INTO head VALUES (?,?)", pages.items())
    connection.execute("DELETE FROM blobs WHERE oid NOT IN (SELECT oid FROM head)")


class _Recorder:
    """Applies commits to the tables, parents first.

    A renamed file goes on counting under its new path; what a side branch still does to the old path
    counts for it too. A file that is written anew where one was renamed away begins at one.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._counts: dict[int, int] = {}
        self._paths: dict[int, str] = {}
        self._moved: dict[str, int] = {}  # former path: the file that went from there
        for number, path, commits, moved_to in connection.execute(
            "SELECT id, path, commits, moved_to FROM files ORDER BY id"
        ):
            if moved_to > 0:
                self._moved[path] = moved_to
                continue
            self._counts[number], self._paths[number] = commits, path
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
            self._connection.executemany(
                "INSERT INTO touches VALUES (?,?,?)",
                [(number, self._counts[number], added.lastrowid) for number in touched],
            )
        self._connection.execute("DELETE FROM files")
        rows = [
            (number, path, self._counts[number], 0 if self._ids.get(path) == number else _REPLACED)
            for number, path in self._paths.items()
        ]
        self._connection.executemany("INSERT INTO files VALUES (?,?,?,?)", rows)
        self._connection.executemany(
            "INSERT INTO files (path, commits, moved_to) VALUES (?,0,?)", self._moved.items()
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
    return path.lower().endswith(_SUFFIXES) and not any("\ud800" <= mark <= "\udfff" for mark in path)


def _mark(file: Path) -> tuple[object, ...] | None:
    """Return what changes with every commit to a SQLite file."""
    marks: list[object] = []
    for suffix in ("", "-wal"):
        try:
            facts = Path(f"{file}{suffix}").stat()
            marks.append((facts.st_mtime_ns, facts.st_size, facts.st_ino))
        except OSError:
            marks.append(None)
    return tuple(marks) if marks[0] is not None else None


@contextmanager
def _writing(file: Path) -> Iterator[sqlite3.Connection]:
    """Open the file and write as one; another process that writes is not waited for."""
    with closing(sqlite3.connect(file, timeout=0.5, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
