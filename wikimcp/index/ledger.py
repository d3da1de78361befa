"""The version ledger: counts content changes of each page. The one thing that cannot be rebuilt.

A page keeps its count through a rename when its declared id or its content tells that it is the
same page. Touching a file changes nothing.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import StateError
from wikimcp.index.pins import (
    PINS_SCHEMA,
    Names,
    PinRow,
    fill_pins,
    move_pins,
    pinned_keys,
    pins_wait,
    save_pins,
)
from wikimcp.index.state import StateDir

log = logging.getLogger("wikimcp.index")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    path TEXT PRIMARY KEY, declared_id TEXT NOT NULL, content_hash TEXT NOT NULL,
    version INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0, moved_to TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ids (id TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    path TEXT NOT NULL, version INTEGER NOT NULL, content_hash TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (path, version)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of a page under its last path."""

    path: str
    declared_id: str
    content_hash: str
    version: int
    gone: bool


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page as found now: path, id in use, declared id (empty when it has none), hash, time (ISO)."""

    path: str
    canonical_id: str
    declared_id: str
    content_hash: str
    at: str


class LedgerDamaged(StateError):
    """The ledger is no database any more, or one of another make."""


class Ledger:
    """The ledger file; used by the one writer only, so it holds a single connection.

    A power cut may undo the last entries: they are counted again from the content. Raises
    LedgerDamaged when the file cannot be read, StateError when it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._entries: dict[str, Entry] = {}
        self._by_id: dict[str, str] = {}
        self._by_hash: dict[str, str] = {}
        self._seen = -1
        with _translated():
            self._connection = sqlite3.connect(
                path, timeout=10.0, isolation_level=None, check_same_thread=False
            )
        try:
            with _translated():
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(_SCHEMA + PINS_SCHEMA)
            self.sync()
        except StateError:
            self._connection.close()
            raise

    def sync(self) -> None:
        """Read again what other processes wrote; cheap when they wrote nothing."""
        with _translated():
            seen = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
            if seen == self._seen:
                return
            rows = self._connection.execute(
                "SELECT path, declared_id, content_hash, version, gone, moved_to FROM pages"
            ).fetchall()
        self._seen = seen
        self._entries = {row[0]: Entry(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows}
        self._by_id.clear()
        self._by_hash.clear()
        self._index_gone(self._entries[row[0]] for row in rows if row[4] and not row[5])

    def _index_gone(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.declared_id:
                self._by_id[entry.declared_id] = entry.path
            self._by_hash[entry.content_hash] = entry.path

    def seed(self, entries: Iterable[Entry]) -> None:
        """Fill a new ledger with what the index still knows, so that no version goes back."""
        if not self._entries:
            self._save(list(entries))

    def retire(self, paths: Iterable[str]) -> None:
        """Note that files are gone, so that a page that turns up elsewhere can be told as moved."""
        gone = []
        for path in paths:
            entry = self._entries.get(path)
            if entry and not entry.gone:
                gone.append(Entry(path, entry.declared_id, entry.content_hash, entry.version, True))
        self._save(gone)
        self._index_gone(gone)

    def record(self, sightings: Iterable[Sighting]) -> dict[str, int]:
        """Return the version of each page seen, by path, counting up where content changed."""
        versions: dict[str, int] = {}
        changed: list[Entry] = []
        moves: list[tuple[str, str]] = []
        ids: list[tuple[str, str]] = []
        history: list[tuple[str, int, str, str]] = []
        for seen in sightings:
            known = self._entry_before(seen)
            if known and known.gone:
                self._forget_gone(known)
            if known and known.path != seen.path:
                moves.append((seen.path, known.path))
            ids.append((seen.canonical_id, seen.path))
            version = 1
            if known:
                version = known.version + (known.content_hash != seen.content_hash)
            versions[seen.path] = version
            entry = Entry(seen.path, seen.declared_id, seen.content_hash, version, False)
            if entry != known:
                changed.append(entry)
            if not known or known.content_hash != seen.content_hash:
                history.append((seen.path, version, seen.content_hash, seen.at))
        self._save(changed, history, moves, ids)
        return versions

    def _entry_before(self, seen: Sighting) -> Entry | None:
        """Return the entry that a page goes on from; one that came back goes on from its newest."""
        own = self._entries.get(seen.path)
        if own and not own.gone:
            return own
        moved = self._moved_from(seen)
        if own and moved:
            return max(own, moved, key=lambda entry: entry.version)
        return own or moved

    def _moved_from(self, seen: Sighting) -> Entry | None:
        """Find the vanished page this one was: by declared id, else by equal content."""
        path = self._by_id.get(seen.declared_id) if seen.declared_id else None
        entry = self._entries.get(path or self._by_hash.get(seen.content_hash, ""))
        return entry if entry and entry.gone else None

    def _forget_gone(self, entry: Entry) -> None:
        """Look no more for a page that was found again."""
        if self._by_id.get(entry.declared_id) == entry.path:
            del self._by_id[entry.declared_id]
        if self._by_hash.get(entry.content_hash) == entry.path:
            del self._by_hash[entry.content_hash]

    def _save(
        self,
        entries: list[Entry],
        history: Iterable[tuple[str, int, str, str]] = (),
        moves: Sequence[tuple[str, str]] = (),
        ids: Iterable[tuple[str, str]] = (),
    ) -> None:
        if not entries:
            return
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO pages (path, declared_id, content_hash, version, gone)"
                " VALUES (?,?,?,?,?)",
                [(e.path, e.declared_id, e.content_hash, e.version, int(e.gone)) for e in entries],
            )
            connection.executemany("INSERT OR REPLACE INTO history VALUES (?,?,?,?)", history)
            connection.executemany("UPDATE pages SET moved_to=? WHERE path=?", moves)
            move_pins(connection, moves)
            connection.executemany("INSERT OR REPLACE INTO ids VALUES (?,?)", ids)
        self._entries.update((entry.path, entry) for entry in entries)

    def pinned(self, path: str) -> set[str]:
        """Return the keys of the citations of a page that are pinned."""
        with _translated():
            return pinned_keys(self._connection, path)

    def pin(self, pins: Sequence[PinRow], added: Names, at: str) -> None:
        """Pin citations that are new, and those that waited for the pages ``added``."""
        with _translated():
            if not pins and not pins_wait(self._connection):
                return
        with self._writing() as connection:
            if pins:
                save_pins(connection, pins)
            fill_pins(connection, added, at)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def open_ledger(state: StateDir) -> Ledger:
    """Open the ledger of a state directory; one that cannot be read is set aside and a new one begun."""
    try:
        return Ledger(state.ledger)
    except LedgerDamaged as error:
        set_aside(state, error)
        return Ledger(state.ledger)


def set_aside(state: StateDir, error: LedgerDamaged) -> None:
    """Move a damaged ledger out of the way, keeping it; the next one is begun anew."""
    aside = state.set_ledger_aside()
    log.warning("%s; it is kept as %s and a new one is begun", error.message, aside.name)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors of SQLite into those of the house; a busy or full disk is no damage."""
    try:
        yield
    except sqlite3.OperationalError as error:
        damaged = "no such column" in str(error) or "malformed" in str(error)
        kind = LedgerDamaged if damaged else StateError
        raise kind(f"the version ledger cannot be used ({error})") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise LedgerDamaged(f"the version ledger cannot be read ({error})") from error
