"""Pins: the version that a citation's target had when the citation was first seen. Kept in the ledger.

A pin belongs to a citation by its page, its target as written and its quoted span; it goes with the
page through a rename and is never changed. A target that does not exist yet is pinned when it comes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wikimcp.citations.anchors import SourceRoots, anchored_hash, parse_anchor
from wikimcp.citations.uri import parse_cite_uri
from wikimcp.index.records import links_from_cell
from wikimcp.markdown.footnotes import FOOTNOTE, source_of
from wikimcp.markdown.links import target_name
from wikimcp.markdown.tokens import normalise_span
from wikimcp.models import Link, LinkKind

PINS_SCHEMA = """
CREATE TABLE IF NOT EXISTS pins (
    source TEXT NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL, version INTEGER NOT NULL,
    content TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (source, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pins_waiting ON pins (target) WHERE version = 0 AND target <> '';
"""
Name = tuple[str, str, str, int, str]
"""Canonical id, slug, path, version and content hash of a page."""
Names = Iterable[Name]
PinRow = tuple[str, str, str, int, str, str]
"""source path, key, target, version (0: not there yet), content hash, time (ISO)."""


@dataclass(frozen=True, slots=True)
class Pin:
    """What was there when a citation was first seen.

    ``content`` is the content hash of the target page, or the span hash of the lines of a source file.
    """

    version: int
    content: str
    at: str


@dataclass(frozen=True, slots=True)
class CitingPage:
    """A page as just stored, with the cells of its links and its frontmatter."""

    path: str
    links: str
    frontmatter: str


def cites(links_cell: str) -> bool:
    """Whether a links cell holds a citation."""
    return f'["{LinkKind.CITATION.value}",' in links_cell


def citations_of(links: Iterable[Link]) -> list[Link]:
    """Return the citations among the links of a page; those in comments are none."""
    return [link for link in links if link.kind is LinkKind.CITATION and not link.in_comment]


def pin_key(link: Link) -> str:
    """Return what tells a citation from the others of its page (16 hex)."""
    told = f"{link.target}\0{normalise_span(link.span_text)}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def named_target(link: Link, frontmatter: Mapping[str, Any]) -> str:
    """Return what a citation names: its own target, or that of the source that its footnote is keyed to."""
    if not link.target.startswith(FOOTNOTE):
        return link.target
    found = source_of(frontmatter, link.target.removeprefix(FOOTNOTE))
    return target_name(found[0]) if found else ""


def new_pins(
    pages: Iterable[CitingPage],
    *,
    known: Callable[[str], Collection[str]],
    names: Callable[[Sequence[str]], Names],
    sources: SourceRoots | None,
    at: str,
) -> list[PinRow]:
    """Return the pins of the citations of some pages that have none yet.

    ``known`` gives the keys that a page has pins of, ``names`` the pages that go by one of some names.
    """
    wanted: list[tuple[str, str, str]] = []
    for page in pages:
        pinned = known(page.path)
        frontmatter = json.loads(page.frontmatter) if page.frontmatter else {}
        links = citations_of(links_from_cell(page.links))
        wanted.extend(
            (page.path, key, named_target(link, frontmatter))
            for link in links
            if (key := pin_key(link)) not in pinned
        )
    asked = {target: uri.canonical_id for _, _, target in wanted if (uri := parse_cite_uri(target))}
    files = {target: anchor for _, _, target in wanted if (anchor := parse_anchor(target))}
    others = {target for _, _, target in wanted if target and target not in asked and target not in files}
    lookup = sorted({*asked.values(), *others})
    found = _by_name(names(lookup)) if lookup else {}
    rows: list[PinRow] = []
    for path, key, target in wanted:
        if target in files:
            text = sources.read(files[target].path) if sources else None
            content = anchored_hash(text, files[target]) if text is not None else ""
            rows.append((path, key, "", 0, content, at))
        else:
            name = asked.get(target, target)
            version, content = found.get(name, (0, ""))
            rows.append((path, key, name, version, content, at))
    return rows


def pinned_keys(connection: sqlite3.Connection, source: str) -> set[str]:
    """Return the keys of the pins of a page that nothing can be added to."""
    rows = connection.execute(
        "SELECT key FROM pins WHERE source=? AND (target<>'' OR content<>'')", (source,)
    )
    return {key for (key,) in rows}


def _by_name(names: Names) -> dict[str, tuple[int, str]]:
    """Return version and content hash by id, slug and path; the first page by path keeps a name."""
    found: dict[str, tuple[int, str]] = {}
    rows = sorted(names, key=_path)
    for names_of in (_id, _slug, _path):
        for row in rows:
            found.setdefault(names_of(row), (row[3], row[4]))
    return found


def _id(name: Name) -> str:
    return name[0]


def _slug(name: Name) -> str:
    return name[1]


def _path(name: Name) -> str:
    return name[2]


def save_pins(connection: sqlite3.Connection, rows: Sequence[PinRow]) -> None:
    """Store pins that are new; lines of a source file that could not be read before are pinned now."""
    connection.executemany(
        "INSERT INTO pins VALUES (?,?,?,?,?,?) ON CONFLICT (source, key) DO UPDATE"
        " SET content=excluded.content, at=excluded.at WHERE content='' AND excluded.content<>''"
        " AND pins.target=''",
        rows,
    )


def move_pins(connection: sqlite3.Connection, moves: Iterable[tuple[str, str]]) -> None:
    """Take the pins of renamed pages along; ``moves`` are (new path, old path)."""
    connection.executemany("UPDATE OR IGNORE pins SET source=? WHERE source=?", moves)


def pins_wait(connection: sqlite3.Connection) -> bool:
    """Whether any citation waits for its page."""
    rows = connection.execute("SELECT 1 FROM pins WHERE version=0 AND target<>'' LIMIT 1")
    return rows.fetchone() is not None


def fill_pins(connection: sqlite3.Connection, names: Names, at: str) -> None:
    """Pin the citations that waited for pages which are there now."""
    waiting = {row[0] for row in connection.execute("SELECT target FROM pins WHERE version=0 AND target<>''")}
    if not waiting:
        return
    found = [(name, facts) for name, facts in _by_name(names).items() if name in waiting]
    connection.executemany(
        "UPDATE pins SET version=?, content=?, at=? WHERE target=? AND version=0",
        [(version, content, at, name) for name, (version, content) in found],
    )


def read_pins(ledger: Path, sources: Collection[str]) -> dict[tuple[str, str], Pin]:
    """Return the pins of the citations of some pages (by path), by path and key."""
    if not sources or not ledger.exists():
        return {}
    connection = sqlite3.connect(ledger, timeout=5.0)
    found: dict[tuple[str, str], Pin] = {}
    try:
        for source in sources:
            rows = connection.execute("SELECT key, version, content, at FROM pins WHERE source=?", (source,))
            found.update(((source, key), Pin(version, content, at)) for key, version, content, at in rows)
    except sqlite3.Error:
        return found
    finally:
        connection.close()
    return found
