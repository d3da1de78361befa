"""One PageRecord for each page in memory, and the catalog's rows of them.

A start makes a record of every page before the first answer, and needs of each but what tells pages, files
and audiences apart: only that is read out at once. The rest stays one cell of text until somebody asks.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from wikimcp.index.stale import IndexDamaged
from wikimcp.markdown.identity import derived_id
from wikimcp.models import FileStamp

Row = tuple[Any, ...]


class _ReadLater:
    """An object with fields that come to be when they are first asked for.

    ``_rest`` holds those that were not read out of the catalog yet, ``_declared`` an id that the page may
    not have, since another has it: its own is derived then.
    """

    __slots__ = ("_declared", "_rest")
    _declared: str
    _rest: str

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any field; called where a slot is empty
        if name == "canonical_id":
            _derive_id(self)
        elif name in _REST:
            if rest := getattr(self, "_rest", ""):
                _read_rest(self, rest)
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)  # perhaps another thread has just set it


@dataclass(frozen=True, slots=True, eq=False)
class PageRecord(_ReadLater):
    """One indexed page. ``rev`` names this very content; an edit makes a new rev.

    ``updated_at`` is ISO 8601 with offset, from the frontmatter or the file time. ``version_fixed`` says
    that the frontmatter gives the version. ``copy_of`` is the path of the page of which this is a copy, if
    that page is there.
    """

    rev: int
    path: str
    slug: str
    canonical_id: str
    id_derived: bool
    title: str
    title_explicit: bool
    summary: str
    role: str
    type: str
    status: str
    review_state: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    clusters: tuple[str, ...]
    updated_at: str
    created: str
    author: str
    verified_at: str
    verified_by: str
    version: int
    version_fixed: bool
    content_hash: str
    mtime_ns: int
    size: int
    inode: int
    encoding: str
    section_count: int
    chunk_count: int
    withheld: str
    labels: frozenset[str]
    conflict_copy: bool
    partial: bool
    copy_of: str = ""

    @property
    def cluster(self) -> str:
        """The first cluster the page names, or an empty string."""
        return self.clusters[0] if self.clusters else ""

    @property
    def public(self) -> bool:
        """Whether everybody may see the page."""
        return not self.withheld and not self.labels

    @property
    def stamp(self) -> FileStamp:
        """The file's stamp when it was read."""
        return FileStamp(self.path, self.mtime_ns, self.size, self.inode)

    def at_version(self, version: int) -> PageRecord:
        """Return the record with another version number."""
        return _copied(self, version=version)

    def as_copy(self) -> PageRecord:
        """Return the record as that of a conflict copy."""
        return _copied(self, conflict_copy=True)

    def under(self, slug: str) -> PageRecord:
        """Return the record under another slug than the one it would have by itself."""
        return _copied(self, slug=slug, id_derived=True)

    def under_own_id(self) -> PageRecord:
        """Return the record under an id that is derived from its slug, and not the one it has now."""
        made = _copied(self, id_derived=True)
        _DECLARED_SLOT.__set__(made, self.canonical_id)
        _SLOTS["canonical_id"].__delete__(made)
        return made


_NO_LABELS: frozenset[str] = frozenset()
_SEPARATOR = "\x1e"  # of the values of a column read at once
_LISTS = ("tags", "aliases", "clusters")
_NUMBERS = ("rev", "version", "mtime_ns", "size", "inode")
_FLAGS = ("id_derived", "version_fixed", "conflict_copy")
AT_ONCE = 1024  # records that are made column by column: as many as stay in a processor's cache
_FLAG_VALUES = {"0": False, "1": True}
_FIRST = (
    *(*_NUMBERS, *_FLAGS),
    *("path", "slug", "canonical_id", "content_hash", "withheld", "labels", "copy_of"),
)
_REST = tuple(name for name in PageRecord.__dataclass_fields__ if name not in _FIRST)
PAGE_COLUMNS = (*_FIRST, "rest")
_SLOTS: Mapping[str, Any] = {name: getattr(PageRecord, name) for name in PageRecord.__dataclass_fields__}
_REST_SLOT = _ReadLater.__dict__["_rest"]
_DECLARED_SLOT = _ReadLater.__dict__["_declared"]
_FIRST_SLOTS = [_SLOTS[name] for name in _FIRST]
_LIST_AT = tuple(_REST.index(name) for name in _LISTS)


def page_row(page: PageRecord) -> Row:
    """Return the catalog row of a record, in the order of ``PAGE_COLUMNS``."""
    first = {name: getattr(page, name) for name in _FIRST}
    first |= {name: int(first[name]) for name in _FLAGS}
    first["labels"] = as_cell(sorted(page.labels)) if page.labels else ""
    return (*first.values(), as_cell([getattr(page, name) for name in _REST]))


def page_from_row(row: Row) -> PageRecord:
    """Rebuild a record from its catalog row."""
    values = list(row)
    for at, name in enumerate(_FIRST):
        if name in _FLAGS:
            values[at] = _FLAG_VALUES[str(values[at])]
    return _made([[value] for value in values])[0]


def page_columns_sql() -> str:
    """Return what to select for ``pages_from_columns``: each column as one text, and how many rows there are.

    A row by itself costs as much as a page, and gives other threads of a start their turn, who are slow to
    give it back; SQLite puts all rows together beside them.
    """
    parts = [f"group_concat({name}, char({ord(_SEPARATOR)}))" for name in PAGE_COLUMNS]
    return ", ".join(("count(*)", *parts))


def pages_from_columns(row: Row) -> list[PageRecord] | None:
    """Return the records of what ``page_columns_sql`` selects; None where a text holds the separator."""
    count, *texts = row
    if not count:
        return []
    columns: list[list[Any]] = [str.split(text, _SEPARATOR) for text in texts]
    if any(len(column) != count for column in columns):
        return None
    first_flag = len(_NUMBERS)
    for at in range(first_flag):
        columns[at] = list(map(int, columns[at]))
    for at in range(first_flag, first_flag + len(_FLAGS)):
        columns[at] = list(map(_FLAG_VALUES.__getitem__, columns[at]))
    return _made(columns)


def _made(columns: list[list[Any]]) -> list[PageRecord]:
    """Return the records with the values of ``PAGE_COLUMNS``, set column by column: that is quickest."""
    at = _FIRST.index("labels")
    columns[at] = [frozenset(json.loads(cell)) if cell else _NO_LABELS for cell in columns[at]]
    made = [object.__new__(PageRecord) for _ in columns[0]]
    for slot, values in zip((*_FIRST_SLOTS, _REST_SLOT), columns, strict=True):
        deque(map(slot.__set__, made, values), maxlen=0)
    return made


def _read_rest(page: _ReadLater, cell: str) -> None:
    """Read the fields of a record that were left in its cell. Raises IndexDamaged if it holds others."""
    try:
        values = json.loads(cell)
        for at in _LIST_AT:
            values[at] = tuple(values[at])
        for name, value in zip(_REST, values, strict=True):
            _SLOTS[name].__set__(page, value)
    except (ValueError, TypeError, LookupError) as error:
        raise IndexDamaged("the index holds what was never written to it") from error
    _REST_SLOT.__set__(page, "")


def under_own_ids(pages: Sequence[PageRecord]) -> list[PageRecord]:
    """Return what ``under_own_id`` gives for each of many pages, in a fraction of the time."""
    if len(pages) > AT_ONCE:
        parts = (under_own_ids(pages[at : at + AT_ONCE]) for at in range(0, len(pages), AT_ONCE))
        return list(chain.from_iterable(parts))
    if not all(getattr(page, "_rest", "") and page.canonical_id for page in pages):
        return [page.under_own_id() for page in pages]
    made = [object.__new__(PageRecord) for _ in pages]
    id_slot = _SLOTS["canonical_id"]
    kept = (*(slot for slot in _FIRST_SLOTS if slot is not id_slot), _REST_SLOT)
    for source, slot in (*zip(kept, kept, strict=True), (id_slot, _DECLARED_SLOT)):
        deque(map(slot.__set__, made, map(source.__get__, pages)), maxlen=0)
    deque(map(_SLOTS["id_derived"].__set__, made, repeat(True)), maxlen=0)
    return made


def _derive_id(page: _ReadLater) -> None:
    """Set the id of a page that may not have the one it declares: made of its slug, else its path too."""
    declared = object.__getattribute__(page, "_declared")
    slug, path = _SLOTS["slug"].__get__(page), _SLOTS["path"].__get__(page)
    own = derived_id(slug)
    _SLOTS["canonical_id"].__set__(page, own if own != declared else derived_id(f"{slug}\0{path}"))


def _copied(page: PageRecord, **changes: Any) -> PageRecord:  # noqa: ANN401 - values of fields
    """Return a record with other values in some of the fields that are read at once."""
    made = object.__new__(PageRecord)
    rest = getattr(page, "_rest", "")
    _REST_SLOT.__set__(made, rest)
    page.canonical_id  # noqa: B018 - comes to be
    for slot in _FIRST_SLOTS if rest else _SLOTS.values():
        slot.__set__(made, slot.__get__(page))
    for name, value in changes.items():
        _SLOTS[name].__set__(made, value)
    return made


def as_cell(value: object) -> str:
    """Return the JSON of a value as one cell of the catalog holds it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
