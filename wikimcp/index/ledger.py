"""The version ledger: counts content changes of each page. The one thing that cannot be rebuilt.

A page keeps its count through a rename when its declared id or its content tells that it is the
same page. Touching a file changes nothing.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
CREATE INDEX IF NOT EXISTS gone_ids ON pages (declared_id) WHERE gone=1 AND moved_to='';
CREATE INDEX IF NOT EXISTS gone_hashes ON pages (content_hash) WHERE gone=1 AND moved_to='';
"""
_NOT_FOUND = "gone=1 AND moved_to=''"
_GIVEN = "(SELECT value FROM json_each(?1))"


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

    It is asked for what a write is about and never read as a whole: other processes write it too, and
    to read again what they did would make an edit of one page cost all pages.
    A power cut may undo the last entries: they are counted again from the content. Raises
    LedgerDamaged when the file cannot be read, StateError when it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        with _translated():
            self._connection = sqlite3.connect(
                path, timeout=10.0, isolation_level=None, check_same_thread=False
            )
        try:
            with _translated():
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.executescript(_SCHEMA + PINS_SCHEMA)
        except StateError:
            self._connection.close()
            raise

    def _select(self, where: str, values: Iterable[str] = ()) -> list[Entry]:
        """Return entries in the order of their paths; ``?1`` of the condition is a list of ``values``."""
        columns = "path, declared_id, content_hash, version, gone"
        sql = f"SELECT {columns} FROM pages WHERE {where} ORDER BY path"  # nosec B608 # our own conditions
        with _translated():
            rows = self._connection.execute(sql, (json.dumps(list(values)),)).fetchall()
        return [Entry(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]

    def _at(self, paths: Iterable[str]) -> dict[str, Entry]:
        return {entry.path: entry for entry in self._select(f"path IN {_GIVEN}", paths)}

    def _vanished(self, sightings: Iterable[Sighting]) -> _Vanished:
        ids, hashes = set(), set()
        for seen in sightings:
            ids.add(seen.declared_id)
            hashes.add(seen.content_hash)
        by_id = self._select(f"{_NOT_FOUND} AND declared_id<>'' AND declared_id IN {_GIVEN}", ids)
        return _Vanished(by_id, self._select(f"{_NOT_FOUND} AND content_hash IN {_GIVEN}", hashes))

    def seed(self, entries: Iterable[Entry]) -> None:
        """Fill a new ledger with what the index still knows, so that no version goes back."""
        with _translated():
            begun = self._connection.execute("SELECT 1 FROM pages LIMIT 1").fetchone()
        if begun is None:
            self._save(list(entries))

    def paths(self) -> list[str]:
        """Return the paths of all pages that are not known to be gone."""
        with _translated():
            return [path for (path,) in self._connection.execute("SELECT path FROM pages WHERE gone=0")]

    def retire(self, paths: Iterable[str]) -> None:
        """Note that files are gone, so that a page that turns up elsewhere can be told as moved."""
        found = self._at(paths).values()
        self._save([replace(entry, gone=True) for entry in found if not entry.gone])

    def record(self, sightings: Iterable[Sighting]) -> dict[str, int]:
        """Return the version of each page seen, by path, counting up where content changed."""
        versions: dict[str, int] = {}
        changed: list[Entry] = []
        moves: list[tuple[str, str]] = []
        ids: list[tuple[str, str]] = []
        history: list[tuple[str, int, str, str]] = []
        pages = list(sightings)
        entries, vanished = self._at(seen.path for seen in pages), self._vanished(pages)
        for seen in pages:
            known = _entry_before(seen, entries.get(seen.path), vanished)
            if known and known.gone:
                vanished.found(known)
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


class _Vanished:
    """Pages that are gone and were not found again, among those that some sightings may go on from."""

    def __init__(self, by_id: Iterable[Entry], by_hash: Iterable[Entry]) -> None:
        self._by_id: dict[str, list[Entry]] = {}
        self._by_hash: dict[str, list[Entry]] = {}
        for entry in by_id:
            self._by_id.setdefault(entry.declared_id, []).append(entry)
        for entry in by_hash:
            self._by_hash.setdefault(entry.content_hash, []).append(entry)

    def was(self, seen: Sighting) -> Entry | None:
        """Return the page that one found now was: by declared id, else by equal content."""
        found = self._by_id.get(seen.declared_id) or self._by_hash.get(seen.content_hash)
        return found[-1] if found else None

    def found(self, entry: Entry) -> None:
        """Look no more for a page that was found again."""
        for entries in (self._by_id.get(entry.declared_id), self._by_hash.get(entry.content_hash)):
            if entries and entry in entries:
                entries.remove(entry)


def _entry_before(seen: Sighting, own: Entry | None, vanished: _Vanished) -> Entry | None:
    """Return the entry that a page goes on from; one that came back goes on from its newest."""
    if own and not own.gone:
        return own
    moved = vanished.was(seen)
    if own and moved:
        return max(own, moved, key=lambda entry: entry.version)
    return own or moved


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
        damaged = any(sign in str(error) for sign in ("no such column", "malformed", "decode"))
        kind = LedgerDamaged if damaged else StateError
        reason = "it holds no text" if "decode" in str(error) else error  # which would hold its bytes
        raise kind(f"the version ledger cannot be used ({reason})") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise LedgerDamaged(f"the version ledger cannot be read ({error})") from error
