"""The history of the pages as git has it, kept in the state directory: their commits, and the count of them.

One pass over all commits makes it, later passes read what is new. Of servers, whoever leads does that and
the others read the file; a single command does it for itself, within a few seconds. A page's version is
the number of commits that touched it, renames followed, and one more while its content or its path is not
that of HEAD. Derived from git alone, so it may be thrown away.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from wikimcp.index.git_log import GitError, Repository, find_repository
from wikimcp.index.history_file import (
    FORMAT,
    SUFFIXES,
    Recorder,
    TimeLeft,
    forget_history,
    kept_facts,
    note_head,
    writing,
)
from wikimcp.index.page_record import PageRecord
from wikimcp.markdown.identity import derived_id

log = logging.getLogger("wikimcp.index")

PASS_SECONDS = 300.0
"""What reading a whole history may take where nobody waits for it."""
COMMAND_SECONDS = 5.0
"""What a command may spend on it that is about something else."""
GLANCE_SECONDS = 1.0
"""What a hook may spend: enough for what is new since the last time, too little to begin from the start."""
_LEAST_TO_BEGIN = 2.0  # seconds; with less a history is only continued


@dataclass(frozen=True, slots=True)
class Touch:
    """One commit of a page: the version it made, and the paths of all pages that it touched."""

    version: int
    at: str
    author: str
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What git knows of the pages, by path: the commits of each, and the hashes its file at HEAD may have.

    ``moved`` leads from a path that a page had in an earlier commit to its path at HEAD.
    """

    commits: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)

    def version(self, page: PageRecord, former: str = "") -> int:
        """Return a page's version: that of its frontmatter, else git's, else the one it has.

        ``former`` is its path at HEAD where it was moved since.
        """
        commits = 0 if page.version_fixed else self.commits.get(former or page.path, 0)
        if not commits:
            return page.version
        return commits + (bool(former) or page.content_hash not in self.committed.get(page.path, ()))


@dataclass(frozen=True, slots=True)
class FormerNames:
    """Where pages lie at HEAD by slugs and derived ids that they had in earlier commits."""

    slugs: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


class GitHistory:
    """The history of one vault's pages. ``counts`` are empty until one has been read.

    ``env`` is the environment that git is run in, ``slug`` tells a page's slug by its path.
    """

    def __init__(
        self, state: Path, folder: Path, env: Mapping[str, str], *, slug: Callable[[str], str]
    ) -> None:
        name = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        self.file = state / f"history-{name}.sqlite"
        self.counts = Counts()
        self._folder = folder
        self._env = env
        self._slug = slug
        self._former: tuple[Counts, FormerNames] = (self.counts, FormerNames())
        self._loaded: object = None
        self._done: object = None
        self._mutex = threading.Lock()

    def repository(self) -> Repository | None:
        """Return the repository that the vault lies in, when all of its history is there."""
        found = find_repository(self._folder, self._env)
        return found if found is not None and found.whole else None

    @property
    def former(self) -> FormerNames:
        """The names that pages had before they were renamed; made at the first use."""
        counts, names = self.counts, self._former
        if names[0] is not counts:
            slugs = {self._slug(path): now for path, now in counts.moved.items()}
            names = (counts, FormerNames(slugs, {derived_id(slug): now for slug, now in slugs.items()}))
            self._former = names
        return names[1]

    def there(self, path: str) -> bool:
        """Whether a file that git knows by a path lies in the work tree, a page of the vault or not."""
        return (self._folder / path).is_file()

    def load(self) -> bool:
        """Read what is kept where it is newer than what was read; tells whether the counts changed."""
        with self._mutex:
            mark = _mark(self.file)
            if mark == self._loaded:
                return False
            self._loaded = mark
            return self._take(
                self._read() if mark is not None and self.repository() is not None else Counts()
            )

    def _take(self, counts: Counts) -> bool:
        """Take counts into use if they are others; what was made of equal ones stays."""
        if counts == self.counts:
            return False
        self.counts = counts
        return True

    def _read(self) -> Counts:
        try:
            with closing(sqlite3.connect(self.file, timeout=5.0)) as connection:
                if kept_facts(connection).get("format") != FORMAT:
                    return Counts()
                commits = connection.execute(
                    "SELECT path, commits FROM files WHERE moved_to=0 AND path NOT LIKE '/%' ORDER BY id"
                )
                committed = connection.execute(
                    "SELECT path, content, windows FROM head JOIN blobs ON blobs.oid=head.oid"
                )
                moved = connection.execute(
                    "SELECT old.path, new.path FROM files AS old JOIN files AS new ON new.id=old.moved_to"
                    " WHERE new.moved_to=0 AND old.path NOT LIKE '/%' AND new.path NOT LIKE '/%'"
                )
                return Counts(
                    dict(commits), {path: (plain, crlf) for path, plain, crlf in committed}, dict(moved)
                )
        except sqlite3.Error:
            return Counts()

    def refresh(self, stop: threading.Event, *, seconds: float = PASS_SECONDS) -> bool:
        """Bring what is kept in line with git within ``seconds``; returns whether the counts changed.

        Costs a few looks at files when HEAD has not moved. Where git fails or takes too long the counts
        stay as they were until HEAD moves, or until somebody has more time.
        """
        repository = self.repository()
        if repository is None:
            return self._take(Counts())
        mark = repository.mark()
        if mark != self._done and self._worth_a_try(repository, mark, seconds):
            self._done = mark
            try:
                self._update(repository, mark, TimeLeft(seconds, stop))
            except GitError as error:
                log.warning("versions are counted here and not by git: %s", error)
                if not stop.is_set():
                    self._give_up(seconds)
            except sqlite3.OperationalError as error:
                log.warning("the history of versions cannot be kept (%s)", error)
            except sqlite3.DatabaseError:
                self._discard()
                self._done = None
        return self.load()

    def _worth_a_try(self, repository: Repository, mark: object, seconds: float) -> bool:
        """Whether HEAD has moved since the file was written, and the time may do for what is to be read."""
        facts: dict[str, str] = {}
        with suppress(sqlite3.Error):
            if self.file.exists():
                with closing(sqlite3.connect(self.file, timeout=0.5)) as connection:
                    facts = kept_facts(connection)
        if facts.get("format") != FORMAT:
            return seconds >= _LEAST_TO_BEGIN
        if facts.get("mark") == repr(mark) and facts.get("prefix") == repository.prefix:
            return False
        begins = not facts.get("head") or facts.get("prefix") != repository.prefix
        if seconds < PASS_SECONDS and seconds <= float(facts.get("gave_up", 0)):
            return False
        return seconds >= _LEAST_TO_BEGIN or not begins

    def _give_up(self, seconds: float) -> None:
        """Note in how much time it could not be read, so that nobody with no more tries it each time."""
        with suppress(sqlite3.Error), writing(self.file) as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('gave_up', ?)", (str(seconds),))

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{self.file}{suffix}").unlink()

    def _update(self, repository: Repository, mark: object, left: TimeLeft) -> None:
        head = repository.head(stop=left.stop, seconds=left.step())
        with writing(self.file) as connection:
            kept = kept_facts(connection)
            old = kept.get("head", "") if kept.get("prefix") == repository.prefix else ""
            if not old or old != head:
                if not (old and head and repository.follows(old, head, stop=left.stop, seconds=left.step())):
                    forget_history(connection)
                    old = ""
                if head:
                    commits = repository.commits(old, head, SUFFIXES, stop=left.stop, seconds=left.all())
                    Recorder(connection).record(commits)
                    note_head(connection, repository, head, left)
            facts = {"head": head, "prefix": repository.prefix, "mark": repr(mark)}
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", facts.items())
            connection.execute("DELETE FROM meta WHERE key='gave_up'")

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
    """Return the paths that the pages of a commit have today, or had last.

    Files that have never been in the vault do not count; a page that was moved out of it does.
    """
    rows = connection.execute(
        "SELECT path FROM touches JOIN files ON files.id=touches.file WHERE commit_id=? AND inside=1",
        (commit,),
    )
    return tuple(str(path) for (path,) in rows)


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
