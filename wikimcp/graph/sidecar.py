"""Reading a sidecar, ``graph/graph.json``: nodes and edges that a person or a model wrote beside the pages.

Reads any bytes: what is broken becomes a diagnostic. Which pages its names mean is `sidecar_ends`' matter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from wikimcp.graph.predicates import predicate
from wikimcp.models import Diagnostic

MOST_EDGES = 100_000
MOST_NODES = 50_000
MOST_BYTES = 64 * 1024 * 1024
"""Bounds of one sidecar; what goes beyond is left out and said."""

_BLANK = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,]*")
_DEEPEST = 8
_MOST_KEYS = 40
_LONGEST_TEXT = 2_000
_LONGEST_NAME = 500
_MOST_BROKEN = 20  # rows that are named one by one
_ENDS = (("from", "source", "subject", "head"), ("to", "target", "object", "tail"))
_RELATION = ("type", "relation", "predicate", "label")
_STRUCTURE = frozenset((*_ENDS[0], *_ENDS[1], "type", "relation", "predicate"))
_NODE_NAMES = ("label", "title", "name")


@dataclass(frozen=True, slots=True)
class SidecarNode:
    """A node as written: ``id`` is what its edges may call it, ``path`` the page it stands for, if any."""

    id: str
    label: str
    kind: str
    path: str
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SidecarEdge:
    """An edge between two ends as written; ``relation`` is in lower snake case already."""

    source: str
    target: str
    relation: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What one or more sidecars hold, in their order."""

    nodes: tuple[SidecarNode, ...] = ()
    edges: tuple[SidecarEdge, ...] = ()
    diagnostics: tuple[tuple[str, Diagnostic], ...] = ()

    def __add__(self, other: Sidecar) -> Sidecar:
        """Return both, one after the other."""
        return Sidecar(
            self.nodes + other.nodes, self.edges + other.edges, self.diagnostics + other.diagnostics
        )


EMPTY = Sidecar()


@dataclass(frozen=True, slots=True)
class SidecarRow:
    """One row as it stands: ``kind`` node or edge, ``number`` from 1, the character ``at`` which it begins.

    ``at`` is -1 where that is not known, ``parsed`` None for a row that is left out, ``why`` the reason.
    """

    kind: str
    number: int
    at: int
    raw: Any
    parsed: SidecarNode | SidecarEdge | None = None
    why: str = ""


OnRow = Callable[[SidecarRow], None]


@dataclass(slots=True)
class _Reading:
    path: str
    nodes: list[SidecarNode] = field(default_factory=list)
    edges: list[SidecarEdge] = field(default_factory=list)
    diagnostics: list[tuple[str, Diagnostic]] = field(default_factory=list)
    broken: int = 0
    on_row: OnRow | None = None

    def note(self, code: str, message: str, line: int = 0) -> None:
        self.diagnostics.append((self.path, Diagnostic(code, message, line)))

    def keep(self, row: SidecarRow) -> None:
        """Keep a row that can be used."""
        if isinstance(row.parsed, SidecarNode):
            self.nodes.append(row.parsed)
        elif row.parsed is not None:
            self.edges.append(row.parsed)
        if self.on_row is not None:
            self.on_row(row)

    def note_row(self, kind: str, number: int, why: str, *, at: int, raw: object) -> None:
        """Note a row that cannot be used, by its place alone: what it holds may not be for everybody."""
        if self.on_row is not None:
            self.on_row(SidecarRow(kind, number, at, raw, None, why))
        self.broken += 1
        if self.broken <= _MOST_BROKEN:
            self.note("sidecar_row", f"{kind} {number} is left out: {why}")


def read_sidecar(path: str, data: bytes, *, on_row: OnRow | None = None) -> Sidecar:
    """Read the bytes of a sidecar; never raises for what they hold. ``on_row`` is given each row read."""
    reading = _Reading(path, on_row=on_row)
    try:
        _read_text(data.decode("utf-8-sig"), reading)
    except UnicodeDecodeError:
        return _broken(path, "the sidecar is not UTF-8 text")
    except RecursionError:
        return _broken(path, "the sidecar is nested too deep")
    except json.JSONDecodeError as error:
        return _broken(path, f"the sidecar is not JSON: {error.msg}", error.lineno)
    except ValueError as error:
        return _broken(path, f"the sidecar cannot be read ({type(error).__name__})")
    if reading.broken > _MOST_BROKEN:
        reading.note("sidecar_rows", f"{reading.broken} rows in all are left out")
    return Sidecar(tuple(reading.nodes), tuple(reading.edges), tuple(reading.diagnostics))


def _broken(path: str, message: str, line: int = 0) -> Sidecar:
    return Sidecar(diagnostics=((path, Diagnostic("sidecar_broken", message, line)),))


def _read_text(text: str, reading: _Reading) -> None:
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    at = _skip(text, 0)
    if text[at : at + 1] == "[":
        rows = _elements(decoder, text, at)
        _read_edges(rows, reading)
        if rows.end >= 0:
            _at_the_end(text, rows.end)
    elif text[at : at + 1] == "{":
        _read_object(decoder, text, at, reading)
    elif text[at:]:
        decoder.raw_decode(text, at)
        reading.note("sidecar_broken", "the sidecar is neither a list of edges nor an object")
    else:
        reading.note("sidecar_broken", "the sidecar is empty")


def _read_object(decoder: json.JSONDecoder, text: str, at: int, reading: _Reading) -> None:
    """Read ``{"nodes": ..., "edges": ...}`` row by row, so that a huge one is never held whole."""
    seen = False
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = decoder.raw_decode(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":" or not isinstance(key, str):
            raise json.JSONDecodeError("expected a key and ':'", text, at)
        at = _skip(text, at + 1)
        wanted = key if key in ("nodes", "edges", "links") else ""
        if wanted and text[at : at + 1] == "[":
            rows = _elements(decoder, text, at)
            (_read_nodes if wanted == "nodes" else _read_edges)(rows, reading)
            at = rows.end
            if at < 0:
                return  # cut at the bound
        else:
            value, at = decoder.raw_decode(text, at)
            if wanted == "nodes" and isinstance(value, dict):
                _read_nodes(({"id": name, **_mapping(facts)} for name, facts in value.items()), reading)
            elif wanted:
                reading.note("sidecar_shape", f"'{wanted}' is no list")
        seen = seen or bool(wanted)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "}":
            raise json.JSONDecodeError("expected ',' or '}'", text, at)
    _at_the_end(text, at + 1)
    if not seen:
        reading.note("sidecar_shape", "the sidecar has neither 'nodes' nor 'edges'")


class _elements(Iterator[Any]):  # noqa: N801 - read as a function, like enumerate
    """The elements of a JSON array, decoded one by one.

    ``start`` is where the newest begins, ``end`` where the array ends, -1 before that.
    """

    def __init__(self, decoder: json.JSONDecoder, text: str, at: int) -> None:
        self._decoder, self._text, self._at = decoder, text, at + 1
        self.end = self.start = -1

    def __next__(self) -> Any:  # noqa: ANN401 - any JSON value
        between = _BETWEEN.match(self._text, self._at)
        at = between.end() if between else self._at
        if self._text[at : at + 1] == "]":
            self.end = at + 1
            raise StopIteration
        self.start = at
        value, self._at = self._decoder.raw_decode(self._text, at)
        return value


def _at_the_end(text: str, at: int) -> None:
    at = _skip(text, at)
    if at < len(text):
        raise json.JSONDecodeError("more after the end", text, at)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _read_edges(rows: Iterator[Any], reading: _Reading) -> None:
    for number, row in enumerate(rows, 1):
        if len(reading.edges) >= MOST_EDGES:
            reading.note("sidecar_too_large", f"only the first {MOST_EDGES:,} edges are used")
            return
        at = getattr(rows, "start", -1)
        if not isinstance(row, dict):
            reading.note_row("edge", number, "it is no object", at=at, raw=row)
            continue
        source, target = (_end(row, keys) for keys in _ENDS)
        if not source or not target:
            reading.note_row("edge", number, "it lacks 'from' or 'to'", at=at, raw=row)
            continue
        relation = next((row[key] for key in _RELATION if isinstance(row.get(key), str)), "")
        metadata = _metadata(row, _STRUCTURE)
        edge = SidecarEdge(source, target, predicate(relation), metadata)
        reading.keep(SidecarRow("edge", number, at, row, edge))


def _read_nodes(rows: Iterator[Any], reading: _Reading) -> None:
    for number, row in enumerate(rows, 1):
        if len(reading.nodes) >= MOST_NODES:
            reading.note("sidecar_too_large", f"only the first {MOST_NODES:,} nodes are used")
            return
        at, raw = getattr(rows, "start", -1), row
        if isinstance(row, str) and row.strip():
            row = {"id": row}
        if not isinstance(row, dict):
            reading.note_row("node", number, "it is no object", at=at, raw=raw)
            continue
        label = next((text for key in _NODE_NAMES if (text := _name(row.get(key)))), "")
        path = _name(row.get("path")) or _name(row.get("page")) or _name(row.get("slug"))
        name = _name(row.get("id")) or label or path
        if not name:
            reading.note_row("node", number, "it has no id, label or path", at=at, raw=raw)
            continue
        kind = row.get("kind") or row.get("type")
        aliases = row.get("aliases")
        names = tuple(filter(None, map(_name, aliases[:_MOST_KEYS]))) if isinstance(aliases, list) else ()
        metadata = _metadata(row, frozenset(("id", "kind", "type", "path", "page", "slug", *_NODE_NAMES)))
        node = SidecarNode(name, label or name, kind if isinstance(kind, str) else "", path, names, metadata)
        reading.keep(SidecarRow("node", number, at, raw, node))


def _end(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the name of an edge's end: a text, a number, or an object with an id, path or title."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, dict):
            value = next((value[k] for k in ("id", "path", "slug", *_NODE_NAMES) if value.get(k)), None)
        if name := _name(value):
            return name
    return ""


def _name(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return _writable(" ".join(value[: 2 * _LONGEST_NAME].split()))[:_LONGEST_NAME]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _metadata(row: Mapping[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    """Return the other keys of a row, texts and lists cut to sane sizes; confidence only from 0 to 1."""
    kept = {
        _writable(key[:_LONGEST_NAME]): _bounded(value)
        for key, value in islice(row.items(), _MOST_KEYS)
        if key not in left_out and value is not None
    }
    confidence = kept.pop("confidence", None)
    if isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1:
        kept["confidence"] = confidence
    return kept


def _bounded(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return _writable(value[:_LONGEST_TEXT])
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | dict) and depth >= _DEEPEST:
        return None
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value[:_MOST_KEYS]]
    if isinstance(value, dict):
        kept = islice(value.items(), _MOST_KEYS)
        return {_writable(key[:_LONGEST_NAME]): _bounded(item, depth + 1) for key, item in kept}
    return value


def _writable(text: str) -> str:
    """Return a text without lone surrogates, which an escape in JSON may make."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, dict) else {}
