"""Bounded YAML: one pass over the parser's events builds JSON-safe values, limits checked on the way.

Nothing is constructed that was not counted first. What YAML 1.1 would turn into something else
(``NO``, ``1.10``, ``12:30``, timestamps) and unquoted ``[[wikilinks]]`` stay text as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

MAX_SIZE = 256 * 1024
MAX_DEPTH = 50
MAX_NODES = 10_000
MAX_ALIASES = 50

_PARSER: Callable[[str], Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""What yields events: libyaml where PyYAML has it, else the pure parser, which yields the same."""

_TEXT_KEYS = frozenset(
    ("title", "name", "id", "canonical_id", "object_id", "slug", "permalink", "summary", "description")
    + ("alias", "aliases")
)
_CONSTANTS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_MAYBE_SPECIAL = frozenset("~ntfNTF-0123456789")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_FLOAT = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})(?:[Tt]|[ \t]+)([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]*)?)?)"
    r"(?:[ \t]*(Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
)
_WIKILINK = re.compile(r"\[\[[^\[\]]+\]\]")
_MATRIX_ROW = re.compile(r"[\s\d.,+-]*,[\s\d.,+-]*")
_SAFE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "timestamp"))
_TEXT_TAGS = frozenset(("!", "tag:yaml.org,2002:str"))
_MAP_TAGS = frozenset((None, "!", "tag:yaml.org,2002:map"))
_SEQ_TAGS = frozenset((None, "!", "tag:yaml.org,2002:seq"))


class YamlFault(Exception):
    """A text that is no acceptable YAML: ``index`` is the character it was noticed at."""

    def __init__(self, reason: str, index: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of the top-level mapping as met: every occurrence, also of a repeated key."""

    key: str
    value: Any
    index: int


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A parsed text: its root value, the top-level entries, and repeated keys (key, first, second index)."""

    root: Any
    entries: tuple[Entry, ...] = ()
    repeated: tuple[tuple[str, int, int], ...] = ()


def load_yaml(text: str) -> YamlDocument:
    """Parse one YAML document into JSON-safe values. Raises YamlFault."""
    if len(text) > MAX_SIZE:
        raise YamlFault(f"larger than {MAX_SIZE // 1024} KiB", 0)
    builder = _Builder(text)
    handlers = _HANDLERS
    index = 0
    parser = _PARSER(text)
    try:
        while (event := parser.get_event()) is not None:
            handle = handlers.get(event.__class__)
            if handle is not None:
                index = event.start_mark.index
                handle(builder, event, index, event.end_mark.index)
            elif event.__class__ is StreamEndEvent:
                break
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlFault(error.problem or "not valid YAML", mark.index if mark else index) from None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        position = getattr(error, "position", index)
        raise YamlFault(
            str(getattr(error, "reason", "")) or "not valid YAML",
            position if isinstance(position, int) else index,
        ) from None
    finally:
        parser.dispose()
    return YamlDocument(builder.root, tuple(builder.entries), tuple(builder.repeated))


def plain_value(text: str) -> Any:  # noqa: ANN401 - None, bool, int, float or text
    """Resolve an unquoted scalar: null, true/false and canonical numbers; all else is text as written.

    A number is canonical when it is written as JSON would write it. A timestamp gets its ``T``.
    """
    if text and text[0] not in _MAYBE_SPECIAL:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text) and text != "-0":
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if repr(number) == text else text
    stamp = _TIMESTAMP.fullmatch(text)
    return f"{stamp[1]}T{stamp[2]}{stamp[3] or ''}" if stamp else text


@dataclass(slots=True)
class _Frame:
    """A collection being built. ``key`` is the mapping key that waits for its value."""

    container: dict[str, Any] | list[Any]
    start: int
    flow: bool
    anchor: str | None
    nodes_before: int
    key: str | None = None
    key_index: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    merged: list[dict[str, Any]] = field(default_factory=list)


class _Builder:
    """The stack machine that turns events into values; an iterative one, so depth costs no C stack."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: Any = None
        self.entries: list[Entry] = []
        self.repeated: list[tuple[str, int, int]] = []
        self.stack: list[_Frame] = []
        self.nodes = 0
        self.aliases = 0
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.documents = 0

    def count(self, nodes: int, index: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise YamlFault(f"more than {MAX_NODES:,} values", index)

    def scalar(self, event: ScalarEvent, index: int, _end: int) -> None:
        self.count(1, index)
        raw: str = event.value
        plain = event.implicit[0]
        tag = event.tag
        if tag is not None and tag not in _TEXT_TAGS:
            if tag not in _SAFE_TAGS:
                raise YamlFault(f"the tag {tag!r} is not allowed", index)
            plain = True
        elif tag is not None:
            plain = False
        value = plain_value(raw) if plain else raw
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.key is None and frame.container.__class__ is dict:
            self.open_key(frame, raw, index)
            return
        if plain and value is not None and self.stack and self.stack[0].key in _TEXT_KEYS:
            value = raw
        self.put(value, index)

    def alias(self, event: AliasEvent, index: int, _end: int) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise YamlFault(f"more than {MAX_ALIASES} aliases", index)
        if event.anchor not in self.anchors:
            raise YamlFault(f"the alias *{event.anchor} has no finished anchor", index)
        value, size = self.anchors[event.anchor]
        self.count(size, index)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.key is None and frame.container.__class__ is dict:
            self.open_key(frame, value if isinstance(value, str) else f"*{event.anchor}", index)
        else:
            self.put(value, index)

    def start(self, event: MappingStartEvent | SequenceStartEvent, index: int, end: int) -> None:
        self.count(1, index)
        mapping = event.__class__ is MappingStartEvent
        if event.tag not in (_MAP_TAGS if mapping else _SEQ_TAGS):
            raise YamlFault(f"the tag {event.tag!r} is not allowed", index)
        if len(self.stack) >= MAX_DEPTH:
            raise YamlFault(f"nested deeper than {MAX_DEPTH} levels", index)
        flow = self.text[index : index + 1] in ("[", "{") and end > index
        self.stack.append(_Frame({} if mapping else [], index, flow, event.anchor, self.nodes - 1))

    def end(self, _event: Event, _index: int, end: int) -> None:
        frame = self.stack.pop()
        value: Any = frame.container
        if frame.flow:
            value = _literal(self.text[frame.start : end], value)
        if frame.merged and value is frame.container:
            self.merge(frame)
        if frame.anchor:
            self.anchors[frame.anchor] = (value, self.nodes - frame.nodes_before)
        parent = self.stack[-1] if self.stack else None
        if parent is not None and parent.key is None and parent.container.__class__ is dict:
            self.open_key(parent, self.text[frame.start : end].strip(), frame.start)
        else:
            self.put(value, frame.start)

    def open_key(self, frame: _Frame, key: str, index: int) -> None:
        first = frame.seen.get(key)
        if first is not None and key != "<<":
            self.repeated.append((key, first, index))
        frame.seen[key] = index
        frame.key = key
        frame.key_index = index

    def put(self, value: Any, index: int) -> None:  # noqa: ANN401 - any JSON value
        if not self.stack:
            self.documents += 1
            if self.documents > 1:
                raise YamlFault("more than one document", index)
            self.root = value
            return
        frame = self.stack[-1]
        container = frame.container
        if container.__class__ is list:
            container.append(value)
            return
        key = frame.key or ""
        frame.key = None
        if key == "<<" and isinstance(value, dict | list):
            sources = value if isinstance(value, list) else [value]
            frame.merged.extend(source for source in sources if isinstance(source, dict))
            return
        container[key] = value  # type: ignore[call-overload]
        if len(self.stack) == 1:
            self.entries.append(Entry(key, value, frame.key_index))

    def merge(self, frame: _Frame) -> None:
        """Apply ``<<`` merges: keys of the mapping itself win, then earlier merges."""
        container = frame.container
        assert isinstance(container, dict)
        for source in frame.merged:
            for key, value in source.items():
                if key not in container:
                    container[key] = value
                    if not self.stack:
                        self.entries.append(Entry(key, value, frame.start))


_HANDLERS: dict[type[Event], Callable[[_Builder, Any, int, int], None]] = {
    ScalarEvent: _Builder.scalar,
    AliasEvent: _Builder.alias,
    MappingStartEvent: _Builder.start,
    SequenceStartEvent: _Builder.start,
    MappingEndEvent: _Builder.end,
    SequenceEndEvent: _Builder.end,
}


def _literal(raw: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Give back as text what only looks like a nested collection: ``[[Page]]`` and ``{{template}}``."""
    if raw.startswith("[[") and _WIKILINK.fullmatch(raw) and not _MATRIX_ROW.fullmatch(raw[2:-2]):
        return " ".join(raw.split())
    if raw.startswith("{{") and raw.endswith("}}"):
        return raw
    return value
