"""Logseq graphs: pages and journals in markdown or org, named by namespace, date or ``title::``.

Property lines, tags that are pages and Logseq's labelled links are read here; what both syntaxes hold
beyond that is read by the markdown and the org reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from wikimcp.markdown.body import BodyReading, read_body
from wikimcp.markdown.comments import joined
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.inline import UUID
from wikimcp.markdown.journal_dates import format_day, read_day
from wikimcp.markdown.org import read_org
from wikimcp.markdown.outliner import (
    PropertyLine,
    block_properties,
    mentioned_names,
    page_properties,
    property_names,
)
from wikimcp.markdown.publication import PUBLICATION_KEYS, Flag, find_directives, fold_key
from wikimcp.markdown.tokens import LineIndex
from wikimcp.markdown.yaml_values import plain_value
from wikimcp.models import Diagnostic, Link, LinkKind, ParsedBody, ParsedPage
from wikimcp.ports import FileContent
from wikimcp.vaults.dialect_files import UnreadableRules, inner_folder, read_settings
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, compile_globs
from wikimcp.vaults.options import VaultOptions
from wikimcp.vaults.page_fields import unique
from wikimcp.vaults.pages import assemble_page

_CONFIG = "logseq/config.edn"
_EDN_TOKEN = re.compile(r'("(?:\\.|[^"\\])*")|;[^\n]*|#_\s*(?:"(?:\\.|[^"\\])*"|[^\s"\[\](){}]+)')
_EDN_VALUE = re.compile(r'(?<![\w:])(:[\w/.-]+)\s+(?:"((?:\\.|[^"\\])*)"|(:[\w-]+)|\[([^\]]{0,8000})\])')
_EDN_STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
_HIDDEN_KEY = re.compile(r"(?<![\w:/.-]):hidden(?![\w/.?*!-])(?!\s+nil\b)")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_USUAL_FILES = ("yyyy_MM_dd", "yyyy-MM-dd", "yyyyMMdd")
_LISTS = {"alias": "aliases", "aliases": "aliases", "tags": "tags", "tag": "tags"}
_PAGE_IN_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")
_BLOCK_IN_LINK = re.compile(rf"\(\(({UUID})\)\)")
_WHOLE_UUID = re.compile(UUID)


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """What ``logseq/config.edn`` says about files: where they lie, how journals are named and titled."""

    pages: str = "pages"
    journals: str = "journals"
    title_format: str = "MMM do, yyyy"
    file_format: str = "yyyy_MM_dd"
    dots_are_namespaces: bool = False
    hidden: tuple[str, ...] = ()


class LogseqAdapter(FolderAdapter):
    """The markdown and org files of the folders for pages and journals."""

    name: ClassVar[str] = "logseq"
    suffixes: ClassVar[tuple[str, ...]] = (".md", ".markdown", ".org")

    def __init__(self, root: Path, options: VaultOptions | None = None) -> None:
        super().__init__(root, options)
        self.graph, _ = _read_config(self.root)

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> LogseqAdapter | None:
        """Return an adapter when the folder is configured as a graph, or has both of its folders."""
        both = inner_folder(root, "pages") and inner_folder(root, "journals")
        return cls(root, options) if both or (root / _CONFIG).is_file() else None

    @property
    def page_folders(self) -> tuple[str, ...]:
        """The folders for pages and for journals."""
        return (f"{self.graph.pages}/", f"{self.graph.journals}/")

    @property
    def dialect_settings(self) -> str:
        """The settings of the graph: they name pages."""
        return super().dialect_settings + repr(self.graph)

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Return what the graph hides (``:hidden``), and Logseq's own folder with its backups."""
        graph, why = _read_config(self.root)
        if why:
            raise UnreadableRules(why)
        self.graph = graph
        pattern = compile_globs(("/logseq", *(f"/{path.strip('/')}" for path in self.graph.hidden)))
        return ([pattern] if pattern else []), []

    def slug(self, path: str) -> str:
        """Return the name of a page by its file: ``___`` and ``%2F`` part namespaces."""
        name = unquote(self.without_suffix(path.rpartition("/")[2]).replace("___", "/"))
        if self.graph.dots_are_namespaces and self._day(path) is None:
            name = name.replace(".", "/")
        return name.strip("/") or self.without_suffix(path)

    def parse(self, content: FileContent) -> ParsedPage:
        """Parse one page or journal. Never raises for what a file holds."""
        path = content.stamp.path
        lines = LineIndex(content.text)
        if path.lower().endswith(".org"):
            front, reading = read_org(content.text, lines=lines)
        else:
            front, reading = _read_markdown(content, lines)
        day = self._day(path)
        written = front.data.get("title")
        title = _one_line(written) if isinstance(written, str | int | float) else ""
        name = replace(self.page_name(path), slug=title.strip("/") or self.slug(path))
        page = assemble_page(content, name, front, reading, lines=lines)
        names = (format_day(day, self.graph.title_format), day.isoformat()) if day else ()
        return replace(
            page,
            title=title or (names[0] if names else name.slug),
            title_explicit=True,
            aliases=unique(alias for alias in (*names, *page.aliases) if alias != name.slug),
            created=page.created or (day.isoformat() if day else ""),
            body=_with_tag_links(page.body, page.tags, content.text, lines),
        )

    def _day(self, path: str) -> date | None:
        """Return the day of a journal; None for a page, or a journal named otherwise."""
        if not path.startswith(f"{self.graph.journals}/"):
            return None
        stem = self.without_suffix(path.rpartition("/")[2])
        days = (read_day(stem, pattern) for pattern in (self.graph.file_format, *_USUAL_FILES))
        return next((day for day in days if day is not None), None)


def _one_line(title: str | float) -> str:
    """Return a title as the name of a page: on one line, without what nobody could ask for."""
    return " ".join(_CONTROLS.sub(" ", str(title)).split())


def _read_markdown(content: FileContent, lines: LineIndex) -> tuple[Frontmatter, BodyReading]:
    """Read a page's frontmatter, its page properties and its body."""
    text = content.text
    front = parse_frontmatter(text, partial=content.partial)
    properties, start = page_properties(text, front.body_start)
    reading = read_body(text, start, lines=lines)
    hidden = [(line.start, line.end) for line in block_properties(text, start)]
    body = replace(
        reading.body,
        hidden=joined((*hidden, *reading.body.comments)) if reading.body.comments else tuple(hidden),
        links=tuple(map(_plain_link, reading.body.links)),
    )
    if hidden and (not body.first_paragraph or "::" in body.first_paragraph):
        body = replace(body, first_paragraph=_first_paragraph(text, start, hidden))
    if not properties:
        return front, replace(reading, body=body)
    values = [line.value for line in properties]
    ids = [line.value for line in properties if line.key == "id" and _WHOLE_UUID.fullmatch(line.value)]
    body = replace(
        body,
        block_ids=tuple(dict.fromkeys((*ids, *body.block_ids))),
        tags=tuple(dict.fromkeys((*mentioned_names(values), *body.tags))),
    )
    directives = find_directives("\n".join(values))
    reading = replace(reading, body=body, directives=(*reading.directives, *directives))
    return _with_properties(front, properties, start, lines), reading


def _with_properties(
    front: Frontmatter, properties: list[PropertyLine], start: int, lines: LineIndex
) -> Frontmatter:
    """Return the frontmatter with page properties added; they win over it, but not over what withholds."""
    data: dict[str, Any] = dict(front.data)
    positions = dict(front.positions)
    flags = list(front.flags)
    for line in properties:
        key = _LISTS.get(line.key.lower(), line.key)
        data[key] = property_names(line.value) if key in _LISTS.values() else plain_value(line.value)
        positions[key] = line.start
        folded = fold_key(line.key)
        if folded in PUBLICATION_KEYS:
            flags.append(Flag(folded, plain_value(line.value), lines.line(line.start)))
    return replace(front, data=data, positions=positions, flags=tuple(flags), body_start=start)


def _first_paragraph(text: str, start: int, hidden: list[tuple[int, int]]) -> str:
    """Return the first paragraph of a body as it reads without its property lines."""
    parts, at = [], start
    for opened, closed in hidden:
        parts.append(f"{text[at:opened]}\n")
        at = closed
    return read_body("".join((*parts, text[at:]))).body.first_paragraph


def _plain_link(link: Link) -> Link:
    """Return ``[label]([[page]])`` and ``[label](((block)))`` as the links they are."""
    if link.kind is LinkKind.MARKDOWN:
        if page := _PAGE_IN_LINK.fullmatch(link.target):
            return link._replace(kind=LinkKind.WIKILINK, target=page[1].strip())
        if block := _BLOCK_IN_LINK.fullmatch(link.target):
            return link._replace(kind=LinkKind.BLOCK, target=block[1])
    return link


def _with_tag_links(body: ParsedBody, tags: tuple[str, ...], text: str, lines: LineIndex) -> ParsedBody:
    """Add a link for every tag, since a tag is a page; those written in brackets are links already."""
    linked = {link.target.casefold() for link in body.links}
    added = []
    for tag in tags:
        if tag.casefold() not in linked:
            start = text.find(f"#{tag}")
            line = lines.line(start) if start >= 0 else 0
            added.append(Link(LinkKind.WIKILINK, tag, start=start, line=line, prop="tags"))
    if not added:
        return body
    return replace(body, links=tuple(sorted((*body.links, *added), key=lambda link: link.start)))


def _read_config(root: Path) -> tuple[GraphSettings, str]:
    """Read the settings of a graph; what is not there is as Logseq has it by default.

    Returns beside them why it is not known which pages they hide; empty when it is.
    """
    try:
        text = read_settings(root, _CONFIG) or ""
    except OSError:
        return GraphSettings(), f"{_CONFIG} cannot be read"
    values: Mapping[str, str] = dict(_edn_values(text))
    usual = GraphSettings()
    hidden = values.get(":hidden", "")
    unread = ":hidden" not in values and _HIDDEN_KEY.search(_plain_edn(text)) is not None
    return GraphSettings(
        pages=_folder(values.get(":pages-directory", ""), usual.pages),
        journals=_folder(values.get(":journals-directory", ""), usual.journals),
        title_format=values.get(":journal/page-title-format") or usual.title_format,
        file_format=values.get(":journal/file-name-format") or usual.file_format,
        dots_are_namespaces=values.get(":file/name-format") == ":legacy",
        hidden=tuple(path for path in _EDN_STRING.findall(hidden) or [hidden] if path.strip("/ ")),
    ), (f":hidden in {_CONFIG} is no list of texts" if unread else "")


def _plain_edn(text: str) -> str:
    """Return EDN without comments and discarded forms."""
    return _EDN_TOKEN.sub(lambda match: match[1] or " ", text)


def _edn_values(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys with a text, keyword or vector as their value; comments and discarded forms are left out."""
    for key, quoted, keyword, vector in _EDN_VALUE.findall(_plain_edn(text)):
        yield key, keyword or vector or re.sub(r"\\(.)", r"\1", quoted)


def _folder(written: str, usual: str) -> str:
    """Return a folder of the configuration; one that leaves the vault is not followed."""
    parts = [part for part in written.replace("\\", "/").split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else usual
