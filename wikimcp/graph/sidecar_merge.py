"""Taking the rows of one sidecar into another: what is there stays, what is said again is brought up to date.

Works on text and returns text; reading and writing files is for others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wikimcp.errors import BadArgument, TooLarge
from wikimcp.graph.resolve import fold
from wikimcp.graph.sidecar import (
    MOST_BYTES,
    MOST_EDGES,
    MOST_NODES,
    SidecarEdge,
    SidecarRow,
    read_sidecar,
)

_HINT = "Mend it or move it away, then import again; nothing was written."
_Json = Any


@dataclass(slots=True)
class Merged:
    """The new text, and the rows that make it differ: ``added`` and ``changed`` as (kind, new row).

    ``unchanged`` counts rows of the new sidecar that were there already, ``kept`` the rows of the old one.
    """

    text: str = ""
    added: list[tuple[str, _Json]] = field(default_factory=list)
    changed: list[tuple[str, _Json]] = field(default_factory=list)
    unchanged: int = 0
    kept: int = 0


@dataclass(slots=True)
class _Part:
    """The rows of one kind of the old sidecar, by what they are about."""

    rows: list[_Json]
    places: dict[tuple[str, ...], int]


def merge_sidecars(old: bytes | None, new: bytes) -> Merged:
    """Merge ``new``, which was checked before, into ``old`` (None: there is none).

    An edge is the same when ends and predicate are, a node when its id is; then the new row's fields are
    set in the old row, whose other fields stay, as do rows and keys that mean nothing here. Where
    nothing differs, ``text`` is that of ``old``. Raises BadArgument when ``old`` cannot be read as it is,
    TooLarge when both together are over the bounds of a sidecar.
    """
    before = _loaded(old) if old is not None else {}
    after: dict[str, _Json] = dict(before) if isinstance(before, dict) else {"edges": before}
    links = "links" if "links" in after and "edges" not in after else "edges"
    merged = Merged()
    nodes_as_mapping = isinstance(after.get("nodes"), dict)
    nodes = _part("nodes", _as_rows(after.get("nodes", [])))
    edges = _part("edges", after.get(links, []))
    merged.kept = len(nodes.rows) + len(edges.rows)
    for row in _rows_of(new):
        if row.parsed is None:
            raise BadArgument(f"{row.kind} {row.number} is broken: {row.why}", hint="See `graph validate`.")
        _take(edges if isinstance(row.parsed, SidecarEdge) else nodes, row, merged)
    for key, value in _others(new):
        if key not in after:
            after[key] = value
            merged.added.append((key, value))
    if not merged.added and not merged.changed and old is not None:
        merged.text = old.decode("utf-8-sig")
        return merged
    if nodes.rows or "nodes" in after:
        after["nodes"] = _as_mapping(nodes.rows) if nodes_as_mapping else nodes.rows
    after[links] = edges.rows
    plain_list = isinstance(before, list) and set(after) == {"edges"}
    merged.text = _written(after[links] if plain_list else after)
    over = len(edges.rows) > MOST_EDGES or len(nodes.rows) > MOST_NODES
    if over or len(merged.text.encode("utf-8", "replace")) > MOST_BYTES:
        raise TooLarge(
            f"with these rows the sidecar would have {len(nodes.rows):,} nodes and {len(edges.rows):,} edges",
            hint=f"At most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges are read; nothing was written.",
        )
    return merged


def _take(part: _Part, row: SidecarRow, merged: Merged) -> None:
    raw = row.raw if isinstance(row.raw, dict) else {"id": row.raw}
    key = _key(row)
    place = part.places.get(key)
    if place is None:
        part.places[key] = len(part.rows)
        part.rows.append(raw)
        merged.added.append((row.kind, raw))
        return
    old = part.rows[place] if isinstance(part.rows[place], dict) else {"id": part.rows[place]}
    # An end or a predicate that is spelt otherwise means the same: the old row keeps its own spelling.
    said = {name: value for name, value in raw.items() if row.kind == "node" or name not in _SPELT}
    update = {**old, **said}
    if update == old:
        merged.unchanged += 1
        return
    part.rows[place] = update
    merged.changed.append((row.kind, raw))


_SPELT = frozenset(
    ("from", "to", "source", "target", "subject", "object", "head", "tail", "type", "relation", "predicate")
)


def _key(row: SidecarRow) -> tuple[str, ...]:
    parsed = row.parsed
    if isinstance(parsed, SidecarEdge):
        return (fold(parsed.source), fold(parsed.target), parsed.relation)
    return (fold(parsed.id),) if parsed is not None else ()


def _part(name: str, rows: _Json) -> _Part:
    """Return rows with their places; broken ones stay where they are and are never met."""
    if not isinstance(rows, list):
        raise BadArgument(f"the vault's sidecar is broken: its '{name}' is no list", hint=_HINT)
    places: dict[tuple[str, ...], int] = {}
    for row in _rows_of(json.dumps({name: rows}).encode()):
        if row.parsed is not None:
            places.setdefault(_key(row), row.number - 1)
    return _Part(list(rows), places)


def _rows_of(data: bytes) -> list[SidecarRow]:
    rows: list[SidecarRow] = []
    read_sidecar("", data, on_row=rows.append)
    return rows


def _others(data: bytes) -> Iterable[tuple[str, _Json]]:
    """Return the keys of a sidecar that hold no rows."""
    value = json.loads(data.decode("utf-8-sig"), parse_constant=lambda _: None)
    if not isinstance(value, dict):
        return []
    return [(key, item) for key, item in value.items() if key not in ("nodes", "edges", "links")]


def _loaded(data: bytes) -> _Json:
    """Read the vault's sidecar whole, so that it can be written again without losing anything."""
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_each_key_once)
    except UnicodeDecodeError as error:
        raise BadArgument("the vault's sidecar is broken: it is not UTF-8", hint=_HINT) from error
    except json.JSONDecodeError as error:
        raise BadArgument(
            f"the vault's sidecar is broken: line {error.lineno} is not JSON ({error.msg})", hint=_HINT
        ) from error
    except RecursionError as error:
        raise BadArgument("the vault's sidecar is broken: it is nested too deep", hint=_HINT) from error
    except ValueError as error:
        raise BadArgument(f"the vault's sidecar cannot be written again: {error}", hint=_HINT) from error
    if not isinstance(value, dict | list):
        raise BadArgument("the vault's sidecar is neither a list of edges nor an object", hint=_HINT)
    return value


def _each_key_once(pairs: list[tuple[str, _Json]]) -> dict[str, _Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object in it has one key twice")
    return found


def _as_rows(nodes: _Json) -> _Json:
    """Return nodes that stand by their id as rows."""
    if not isinstance(nodes, dict):
        return nodes
    if not all(isinstance(facts, dict) for facts in nodes.values()):
        raise BadArgument("the vault's sidecar is broken: a node in it is no object", hint=_HINT)
    return [{**facts, "id": facts.get("id", name), _NAME: name} for name, facts in nodes.items()]


_NAME = "\0name"  # under which a node of a mapping stood


def _as_mapping(rows: Iterable[Mapping[str, _Json]]) -> dict[str, _Json]:
    found: dict[str, _Json] = {}
    for row in rows:
        name = row.get(_NAME)
        facts = {key: value for key, value in row.items() if key != _NAME}
        if name is not None and facts.get("id") == name:
            del facts["id"]
        found[str(name if name is not None else facts.pop("id", facts.get("label", "")))] = facts
    return found


def _written(value: _Json) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can say
        return json.dumps(value, indent=1) + "\n"
    return text
