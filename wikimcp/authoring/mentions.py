"""What a page says of its sources: which it derives from, and which lines of them it points at.

The head names sources (``sources[].resource``) and lines (``anchors``); these are kept in line with the
sources. Prose may point at lines too, in a link or as plain ``path#L10-L20``: that is read and watched, but
prose belongs to who wrote it and is never edited.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import yaml

from wikimcp.authoring.anchors import fragment_of, read_fragment
from wikimcp.authoring.okf import link_target
from wikimcp.authoring.pages import Page, source_resource
from wikimcp.authoring.regions import region_spans
from wikimcp.authoring.workspace import Workspace
from wikimcp.markdown.body import read_blocks
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import LineIndex
from wikimcp.markdown.yaml_values import YamlFault, load_yaml

Known = Callable[[str], bool]
"""Says whether a path relative to the workspace is a source, or a folder of sources."""

_HEAD = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?=\r|\n|\Z)", re.MULTILINE)
_IN_PROSE = re.compile(
    r"(?<![\w/.%#@:+-])(?P<path>(?:file:)?[\w.][\w./%+@-]*)#(?P<lines>L\d{1,8}(?:-L?\d{1,8})?)(?![\w-])"
)
_LIKE_A_PATH = re.compile(r"[^\s/]+(?:/[^\s/]+)+|[^\s/]+\.\w{1,8}")
_PLAIN = re.compile(r"[\w./][\w./%#+-]*")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Form:
    """How a mention writes its path: counted from the page, or behind ``prefix`` from a folder."""

    prefix: str = ""
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """One place of a page that names a source, by its path relative to the workspace.

    ``first`` and ``last`` are the lines it points at (0: the whole of it), ``line`` is where the page says
    so. ``span`` are the characters of the value where it can be edited: in a ``head`` of plain form;
    ``column`` is where its key stands (-1: in braces, None: it has no key). A ``retired`` source is kept for
    the claims that rest on it, and is not watched any more.
    """

    path: str
    first: int
    last: int
    line: int
    written: str
    form: Form
    head: bool = False
    span: tuple[int, int] | None = None
    quoting: str = ""
    column: int | None = None
    retired: bool = False


def read_mentions(workspace: Workspace, page: Page, known: Known) -> list[Mention]:
    """Return what a page says of raw sources, in the order of the page. Never raises."""
    lines = LineIndex(page.text)
    found = [*_head_mentions(workspace, page, known, lines), *_prose_mentions(workspace, page, known, lines)]
    return sorted(found, key=lambda mention: (mention.line, mention.span or (0, 0)))


def with_mentions(
    workspace: Workspace, page: str, text: str, changed: Iterable[tuple[Mention, str, int, int]]
) -> str:
    """Return a page's text with some mentions of its head leading to another path and other lines."""
    edits = [
        (mention.span, _scalar(rewritten(workspace, page, mention, path, first, last), mention.quoting))
        for mention, path, first, last in changed
        if mention.span is not None
    ]
    for (start, end), value in sorted(edits, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def with_retired(text: str, mentions: Iterable[Mention], day: str) -> str:
    """Return a page's text with some mentions of its head marked as retired, all else byte for byte."""
    newline = "\r\n" if "\r\n" in text else "\n"
    spans = [(mention.span, mention) for mention in mentions if mention.span is not None]
    for (start, end), mention in sorted(spans, key=lambda item: item[0], reverse=True):
        if mention.column is None:
            value = f"{{ resource: {json.dumps(mention.written, ensure_ascii=False)}, retired: {day} }}"
            text = text[:start] + value + text[end:]
        elif mention.column < 0:
            text = f"{text[:end]}, retired: {day}{text[end:]}"
        else:
            at = end + len(text[end:].splitlines()[0])
            text = f"{text[:at]}{newline}{' ' * mention.column}retired: {day}{text[at:]}"
    return text


def rewritten(workspace: Workspace, page: str, mention: Mention, path: str, first: int, last: int) -> str:
    """Return a mention as it would be written for another path and other lines, in its own form."""
    form = mention.form
    if form.folder is None:
        shown = source_resource(workspace, page, path)
    else:
        inner = posixpath.relpath(path, form.folder) if form.folder else path
        if inner.startswith("../"):
            inner = path
        shown = form.prefix + (quote(inner, safe="/-_.~+@") if "%" in mention.written else inner)
    return f"{shown}#{fragment_of(first, last)}" if first else shown


def resolve(workspace: Workspace, page: str, written: str, known: Known) -> tuple[str, Form] | None:
    """Return the source that a written path (without fragment) names, and in which form; None for no source.

    A path counts from the page, as links do; where that stays inside the wiki it counts from the workspace,
    else from the raw roots in their order.
    """
    if written.startswith("file:"):
        return _resolve_file(workspace, written, known)
    from_page = link_target(page, written)
    if from_page is None:
        return None
    place = Path(os.path.normpath(workspace.wiki_root / from_page))
    if place == workspace.workspace_root or (
        place.is_relative_to(workspace.wiki_root) and os.path.lexists(place)
    ):
        return None  # the whole of it is no source, and neither is another page
    if place.is_relative_to(workspace.workspace_root) and not place.is_relative_to(workspace.wiki_root):
        return place.relative_to(workspace.workspace_root).as_posix(), Form()
    return _from_roots(workspace, unquote(written), "", known)


def _resolve_file(workspace: Workspace, written: str, known: Known) -> tuple[str, Form] | None:
    if not written.startswith("file://"):
        return _from_roots(workspace, unquote(written[5:]), "file:", known)
    place = Path(os.path.normpath(unquote(urlsplit(written).path)))
    if not place.is_absolute() or not place.is_relative_to(workspace.workspace_root):
        return None
    return place.relative_to(workspace.workspace_root).as_posix(), Form(
        workspace.workspace_root.as_uri() + "/", ""
    )


def _from_roots(workspace: Workspace, path: str, prefix: str, known: Known) -> tuple[str, Form] | None:
    inner = posixpath.normpath(path)
    if inner.startswith(("/", "..")) or inner == ".":
        return None
    folders = ["", *(root.folder for root in workspace.raw_roots if root.folder != ".")]
    for folder in folders:
        if known(place := f"{folder}/{inner}" if folder else inner):
            return place, Form(prefix, folder)
    return (inner, Form(prefix, "")) if _LIKE_A_PATH.fullmatch(inner) else None  # else it is a scope in words


def _head_mentions(workspace: Workspace, page: Page, known: Known, lines: LineIndex) -> Iterator[Mention]:
    scalars = _head_scalars(page.text) or [_Scalar(item.resource, 0, 0, "|") for item in page.head.sources]
    for scalar in scalars:
        path, _, fragment = scalar.value.partition("#")
        resolved = resolve(workspace, page.path, path.strip(), known) if path.strip() else None
        if resolved is not None:
            first, last = read_fragment(fragment) or (0, 0)
            yield Mention(
                resolved[0].rstrip("/"),
                first,
                last,
                lines.line(scalar.start),
                scalar.value,
                resolved[1],
                head=True,
                span=(scalar.start, scalar.end) if scalar.style in ("", "'", '"') else None,
                quoting=scalar.style,
                column=scalar.column,
                retired=scalar.retired,
            )


@dataclass(frozen=True, slots=True)
class _Scalar:
    value: str
    start: int
    end: int
    style: str
    column: int | None = None
    retired: bool = False


def _head_scalars(text: str) -> list[_Scalar]:
    """Return the values of ``sources`` and ``anchors`` with their places; none of a broken head."""
    found: list[_Scalar] = []
    start, items = _composed_head(text)
    for key, value in items:
        if key.value in ("sources", "anchors"):
            for item in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                found.extend(_resource(item, start))
    return found


def line_of_key(text: str, *keys: str) -> int:
    """Return the line on which a key of a page's head stands, ``keys`` from the outermost in; else 1."""
    items, line = _composed_head(text)[1], 0
    for name in keys:
        node = next(((key, value) for key, value in items if key.value == name), None)
        if node is None:
            return 1
        line = node[0].start_mark.line + 2  # the head opens on line 1
        items = node[1].value if isinstance(node[1], yaml.MappingNode) else []
    return line


def _composed_head(text: str) -> tuple[int, list[tuple[yaml.Node, yaml.Node]]]:
    """Return where a head's text begins, and its keys and values as nodes; none of a broken head."""
    opening = _HEAD.match(text)
    closing = _CLOSE.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return 0, []
    block = text[opening.end() : closing.start()]
    try:
        load_yaml(block)  # bounded, which composing is not
        root = yaml.compose(block, Loader=_LOADER)
    except (YamlFault, yaml.YAMLError):
        return 0, []
    return opening.end(), root.value if isinstance(root, yaml.MappingNode) else []


def _resource(node: yaml.Node, start: int) -> Iterator[_Scalar]:
    if isinstance(node, yaml.ScalarNode):
        yield _scalar_at(node, start)
    elif isinstance(node, yaml.MappingNode):
        keys = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        resource = keys.get("resource")
        if isinstance(resource, yaml.ScalarNode):
            column = next(key.start_mark.column for key, value in node.value if value is resource)
            found = _scalar_at(resource, start)
            yield replace(found, column=-1 if node.flow_style else column, retired="retired" in keys)


def _scalar_at(node: yaml.ScalarNode, start: int) -> _Scalar:
    first, last = start + node.start_mark.index, start + node.end_mark.index
    return _Scalar(str(node.value), first, last, node.style or "")


def _prose_mentions(workspace: Workspace, page: Page, known: Known, lines: LineIndex) -> Iterator[Mention]:
    if "#L" not in page.text:
        return
    start = parse_frontmatter(page.text).body_start
    fences = [(block.start, block.end) for block in read_blocks(page.text, start) if block.kind == "fence"]
    skipped = [*fences, *region_spans(page.text)]
    for found in _IN_PROSE.finditer(page.text, start):
        if any(first <= found.start() < last for first, last in skipped):
            continue
        span, resolved = read_fragment(found["lines"]), resolve(workspace, page.path, found["path"], known)
        if span is not None and resolved is not None:
            yield Mention(resolved[0], *span, lines.line(found.start()), found[0], resolved[1])


def _scalar(value: str, quoting: str) -> str:
    """Return a value of a head in the quotes that it had, where these are enough."""
    if quoting == "'" and "'" not in value:
        return f"'{value}'"
    if not quoting and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def sources_of(mentions: Sequence[Mention]) -> list[str]:
    """Return the paths that a page derives from: those its head names and has not retired, each once."""
    return list(dict.fromkeys(item.path for item in mentions if item.head and not item.retired))
