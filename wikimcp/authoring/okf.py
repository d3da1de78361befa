"""The head of a page in the Open Knowledge Format: read with patience, rendered plainly, edited in place.

An edit touches the lines of the keys it sets. Every other byte stays: unknown keys, comments,
timestamps as they were written, line ends. What a conforming wiki is lies in `okf_check`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from wikimcp.errors import WikiError
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.yaml_values import YamlDocument, YamlFault, load_yaml

OKF_VERSION = "0.2"
RESERVED = frozenset(("index.md", "log.md"))
"""Files that are no pages, in whatever folder."""

_OPEN = re.compile(r"\ufeff?---[ \t]*(\r\n|\n|\r)")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?=\r|\n|\Z)", re.MULTILINE)
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./()'+-]*[\w/)])?")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_NO_TEXT = re.compile(r"([\[\]\\])")
_SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])


@dataclass(frozen=True, slots=True)
class Source:
    """What a page derives from; ``resource`` is a URL, or a path relative to the page.

    ``retired`` is the day on which it was given up.
    """

    resource: str
    id: str = ""
    title: str = ""
    retired: str = ""


@dataclass(frozen=True, slots=True)
class Generated:
    """How the text came to be: by whom, and when (ISO 8601 with offset)."""

    by: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a page; what is missing is empty. ``data`` holds every key as it was read."""

    type: str = ""
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    generated: Generated | None = None
    status: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def read_head(text: str) -> Head:
    """Read a page's head. Never raises: what is no use there is left empty."""
    return head_of(parse_frontmatter(text))


def head_of(frontmatter: Frontmatter) -> Head:
    """Return the head that a block of properties makes."""
    data = frontmatter.data
    tags = data.get("tags")
    listed = tags if isinstance(tags, list) else str(tags).split(",") if tags else []
    return Head(
        type=_text(data.get("type")),
        title=_text(data.get("title")),
        description=_text(data.get("description")),
        tags=tuple(tag for item in listed if (tag := _text(item))),
        sources=_sources(data.get("sources")),
        generated=_generated(data.get("generated")),
        status=_text(data.get("status")),
        data=data,
    )


def body_of(text: str) -> str:
    """Return what follows the head."""
    return text[parse_frontmatter(text).body_start :]


def render_page(fields: Mapping[str, Any], body: str) -> str:
    """Return a new page: a head with ``fields`` (None is left out), a blank line, the body."""
    head = "".join(render_field(key, value) for key, value in fields.items() if value is not None)
    return f"---\n{head}---\n\n{body.strip()}\n"


def set_fields(text: str, fields: Mapping[str, Any]) -> str:
    """Return the text with some keys of its head set (None: removed), all else byte for byte.

    A key whose value is that already keeps its form. Raises WikiError when the head cannot be edited
    safely: no valid YAML, in one line, or a key that stands twice.
    """
    opening = _OPEN.match(text)
    closing = _CLOSE.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        if opening is not None:
            raise WikiError("the head of the page is not closed", hint="Close it with a line of ---.")
        given = {key: value for key, value in fields.items() if value is not None}
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        rendered = "".join(render_field(key, value) for key, value in given.items())
        return f"{mark}---\n{rendered}---\n\n{text.removeprefix(mark)}" if given else text
    start, end, newline = opening.end(), closing.start(), opening[1]
    block = text[start:end]
    document = _document(block)
    edits: list[tuple[int, int, str]] = []
    for key, value in fields.items():
        present = [entry for entry in document.entries if entry.key == key]
        if len(present) > 1:
            raise WikiError(f"the key {key} stands twice in the head", hint="Keep one of them.")
        if present and present[0].value == value and value is not None:
            continue
        rendered = "" if value is None else render_field(key, value).replace("\n", newline)
        if present:
            edits.append((*_extent(block, document, present[0].index), rendered))
        elif rendered:
            edits.append((len(block), len(block), rendered))
    for first, last, rendered in sorted(edits, key=lambda edit: edit[0], reverse=True):
        block = block[:first] + rendered + block[last:]
    return text[:start] + block + text[end:]


def render_field(key: str, value: Any) -> str:  # noqa: ANN401 - any JSON-safe value
    """Return one key of a head as YAML lines."""
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        lines = [f"{key}:\n"]
        for item in value:
            pairs = [f"{name}: {_inline(inner)}\n" for name, inner in item.items() if inner not in (None, "")]
            lines += [("  - " if number == 0 else "    ") + pair for number, pair in enumerate(pairs)]
        return "".join(lines)
    return f"{key}: {_inline(value)}\n"


def relative_link(page: str, target: str) -> str:
    """Return the link from a page to a file, both relative to one folder, percent-encoded."""
    return quote(posixpath.relpath(target, posixpath.dirname(page) or "."), safe="/-_.~")


def link_target(page: str, link: str) -> str | None:
    """Return the path that a link of a page leads to, relative to the wiki; None for a URL or no path.

    A link that begins with ``/`` counts from the wiki's root. The path may lead out of the wiki (``../``).
    """
    path = unquote(link.partition("#")[0].partition("?")[0])
    if not path or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path):
        return None
    if path.startswith("/"):
        return posixpath.normpath(path.lstrip("/") or ".")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def as_text(words: str) -> str:
    """Return words from elsewhere as one line of markdown that is text alone: no link and no marker.

    Code spans stay as they are: nothing in them is a link.
    """
    parts: list[str] = []
    line, at = " ".join(words.replace("<!--", "&lt;!--").split()), 0
    for code in _CODE_SPAN.finditer(line):
        parts += [_NO_TEXT.sub(r"\\\1", line[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _NO_TEXT.sub(r"\\\1", line[at:])])


def _inline(value: Any) -> str:  # noqa: ANN401 - any JSON-safe value
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.casefold() not in _SPECIAL
        return value if plain or _TIME.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key}: {_inline(inner)}" for key, inner in value.items() if inner is not None)
        return f"{{ {pairs} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_inline(item) for item in value)}]"
    return json.dumps(value)


def _document(block: str) -> YamlDocument:
    try:
        document = load_yaml(block)
    except YamlFault as fault:
        line = block.count("\n", 0, fault.index) + 2
        raise WikiError(
            f"the head of the page is no valid YAML (line {line})", hint="Repair it first."
        ) from fault
    if document.root is not None and not isinstance(document.root, dict):
        raise WikiError("the head of the page is no list of keys", hint="Repair it first.")
    if any(entry.index and block[entry.index - 1] not in "\r\n" for entry in document.entries):
        raise WikiError("the keys of the head do not stand on lines of their own", hint="Write one per line.")
    return document


def _extent(block: str, document: YamlDocument, index: int) -> tuple[int, int]:
    """Return where an entry begins and ends; blank lines and comments before the next stay outside."""
    later = [entry.index for entry in document.entries if entry.index > index]
    end = min(later, default=len(block))
    lines = block[index:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        end -= len(lines.pop())
    return index, end


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a head holds
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _sources(value: Any) -> tuple[Source, ...]:  # noqa: ANN401 - whatever a head holds
    items = value if isinstance(value, list) else [value] if value else []
    found: list[Source] = []
    for item in items:
        if isinstance(item, Mapping) and (resource := _text(item.get("resource"))):
            named = (_text(item.get(key)) for key in ("id", "title", "retired"))
            found.append(Source(resource, *named))
        elif resource := _text(item):
            found.append(Source(resource))
    return tuple(found)


def _generated(value: Any) -> Generated | None:  # noqa: ANN401 - whatever a head holds
    if isinstance(value, Mapping) and (by := _text(value.get("by"))):
        return Generated(by, _text(value.get("at")))
    return None
