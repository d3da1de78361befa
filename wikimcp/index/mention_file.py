"""A file beside the index: the mentions that were found before, and which words stand on which page.

Mentions hold for the content of a page and the names that were looked for. When names come, go or change
their meaning, only the pages that hold all words of such a name are looked through again: the words of each
page are kept as hashes, of which equal ones tell too much now and then, and never too little. What cannot be
read or written is not known: then all is looked through.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wikimcp.graph.mentions import ChunkMentions

_NAME = "mentions-1.sqlite"  # with the number of the format
_SCHEMA = """
CREATE TABLE IF NOT EXISTS words (rev INTEGER PRIMARY KEY, hashes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS found (audience TEXT PRIMARY KEY, cell BLOB NOT NULL) WITHOUT ROWID;
"""
_MOST_NAMES = 400  # that changed at once; of more, everything is looked through again
_BUSY_SECONDS = 1.0

PageMentions = tuple[ChunkMentions, ...]


@dataclass(frozen=True, slots=True)
class FoundMentions:
    """Mentions by rev, and what the names meant that were looked for."""

    meanings: Mapping[str, str]
    by_rev: Mapping[int, PageMentions]


class MentionFile:
    """The file of one index. Every method opens it for a moment."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME

    def read(self, audience: str) -> FoundMentions | None:
        """Return what was found for an audience; None where that is not known."""
        try:
            with self._opened() as connection:
                row = connection.execute("SELECT cell FROM found WHERE audience=?", (audience,)).fetchone()
            return None if row is None else _found_from(row[0])
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError, IndexError, zlib.error):
            return None

    def write(self, audience: str, found: FoundMentions) -> None:
        """Keep what was found for an audience."""
        with suppress(sqlite3.Error, OSError), self._opened() as connection:
            connection.execute("INSERT OR REPLACE INTO found VALUES (?, ?)", (audience, _cell_of(found)))

    def add_words(self, words: Mapping[int, bytes], *, live: Collection[int]) -> None:
        """Keep the words of pages by rev (``word_hashes``) and drop those of revs that are not ``live``."""
        with suppress(sqlite3.Error, OSError), self._opened() as connection:
            connection.executemany("INSERT OR REPLACE INTO words VALUES (?, ?)", words.items())
            known = {rev for (rev,) in connection.execute("SELECT rev FROM words")}
            gone = known.difference(live)
            if len(gone) > len(known) // 4:
                connection.executemany("DELETE FROM words WHERE rev=?", [(rev,) for rev in gone])

    def pages_with(self, names: Collection[str], revs: Collection[int]) -> set[int]:
        """Return those of some revs that may hold all words of one of ``names``: rather too many."""
        if len(names) > _MOST_NAMES:
            return set(revs)
        try:
            with self._opened() as connection:
                rows = dict(connection.execute("SELECT rev, hashes FROM words"))
        except (sqlite3.Error, OSError):
            return set(revs)
        found = {rev for rev in revs if rev not in rows}
        known = [rev for rev in revs if rev in rows]
        hashes = WordHashes()
        wanted = [{hashes[word] for word in name.split(" ")} for name in names]
        for rev, held in _held(known, rows, set().union(*wanted)):
            if any(words <= held for words in wanted):
                found.add(rev)
        return found

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; one that is damaged is made anew."""
        if not self._path.exists():
            self._path.touch(mode=0o600)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection:
            try:
                connection.execute("PRAGMA synchronous=OFF")  # what is lost is found again
                connection.executescript(_SCHEMA)
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError):
                    self._path.unlink(missing_ok=True)
                raise
            with connection:
                yield connection


class WordHashes(dict[str, int]):
    """The hash of each word that was asked for, the same in every process."""

    def __missing__(self, word: str) -> int:
        found = self[word] = zlib.crc32(word.encode("utf-8", "replace"))
        return found


def word_hashes(words: Iterable[str], known: WordHashes | None = None) -> bytes:
    """Return the words of a page as sorted hashes, 4 bytes each.

    ``known`` keeps those of words that many pages hold, from one call to the next.
    """
    found = known if known is not None else WordHashes()
    hashes = {found[word] for word in set(words)}
    return np.sort(np.fromiter(hashes, np.uint32, len(hashes))).tobytes()


def _held(
    revs: list[int], rows: Mapping[int, bytes], wanted: Collection[int]
) -> Iterator[tuple[int, set[int]]]:
    """Yield the revs that hold any of the wanted hashes, with those that they hold."""
    flat = np.frombuffer(b"".join(rows[rev] for rev in revs), np.uint32)
    lengths = [len(rows[rev]) // 4 for rev in revs]
    places = np.flatnonzero(np.isin(flat, np.fromiter(wanted, np.uint32, len(wanted))))
    owners = np.repeat(np.arange(len(revs)), lengths)[places]
    held: dict[int, set[int]] = {}
    for owner, value in zip(owners.tolist(), flat[places].tolist(), strict=True):
        held.setdefault(revs[owner], set()).add(value)
    yield from held.items()


def _cell_of(found: FoundMentions) -> bytes:
    """Write each node once, and the chunks of a page as ``[ordinal, node, count, node, count ...]``."""
    numbers: dict[str, int] = {}
    pages: dict[int, list[list[int]]] = {}
    for rev, chunks in found.by_rev.items():
        rows = pages[rev] = []
        for chunk in chunks:
            row = [chunk.ordinal]
            for node, count in chunk.nodes:
                row += (numbers.setdefault(node, len(numbers)), count)
            rows.append(row)
    whole = {"meanings": dict(found.meanings), "nodes": list(numbers), "pages": pages}
    return zlib.compress(json.dumps(whole, separators=(",", ":")).encode(), 1)


def _found_from(cell: bytes) -> FoundMentions:
    whole: dict[str, Any] = json.loads(zlib.decompress(cell))
    nodes: list[str] = whole["nodes"]
    by_rev = {
        int(rev): tuple(
            ChunkMentions(row[0], tuple((nodes[row[at]], row[at + 1]) for at in range(1, len(row), 2)))
            for row in rows
        )
        for rev, rows in whole["pages"].items()
    }
    return FoundMentions(dict(whole["meanings"]), by_rev)
