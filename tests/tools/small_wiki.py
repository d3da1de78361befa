"""A wiki of real files for the tests of single tools: the real View's tables over a hand-made catalog.

Names, clusters and tags are the index's own; only parsing (headings, paragraphs, links given by the
test) is simplified, so that a test says exactly what a page holds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from wikimcp.index.clusters import Cluster, build_clusters, build_tags
from wikimcp.index.names import PageNames
from wikimcp.index.page_record import PageRecord
from wikimcp.index.records import PageBody
from wikimcp.index.stale import Stale
from wikimcp.index.view import Reading
from wikimcp.index.visible import VisiblePages
from wikimcp.markdown.tokens import LineIndex, span_sha256
from wikimcp.models import ANONYMOUS, Audience, Chunk, Citation, Diagnostic, Section, Span
from wikimcp.tools.answers import answer_tokens, finish
from wikimcp.tools.arguments import bind_arguments
from wikimcp.tools.contract import Answer, IndexStamp, ToolContext
from wikimcp.tools.registry import load

_HEADING = re.compile(r"^(#{1,6}) +([^\r\n]+?) *(?:\r\n|\r|\n|\Z)", re.MULTILINE)


@dataclass
class SmallWiki:
    """Pages on disk under ``root``; ``records`` is what has been indexed of them."""

    root: Path
    generation: int = 7
    records: dict[str, PageRecord] = field(default_factory=dict)
    frontmatter: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    diagnostics: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    links: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    tags: dict[object, Mapping[str, tuple[PageRecord, ...]]] = field(default_factory=dict)

    def add(
        self, path: str, text: str = "", *, frontmatter: Mapping[str, Any] | None = None, **fields: object
    ) -> None:
        """Write and index a page; ``fields`` are those of its record."""
        self.index(path, text, frontmatter=frontmatter, **fields)
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    def index(
        self, path: str, text: str, *, frontmatter: Mapping[str, Any] | None = None, **fields: object
    ) -> None:
        """Index a page without writing it."""
        given: dict[str, Any] = dict(fields)
        slug = given.pop("slug", path.rsplit(".", 1)[0])
        self.links[slug] = tuple(given.pop("links", ()))
        self.diagnostics[slug] = tuple(given.pop("diagnostics", ()))
        self.bodies[slug] = given.pop("body", {})
        self.frontmatter[slug] = frontmatter or {}
        self.records[path] = page_record(len(self.records) + 1, path, slug, text, **given)

    def reading(self, audience: Audience = ANONYMOUS) -> SmallReading:
        """Return what a call of that audience reads."""
        return SmallReading(self, audience)

    def ask(
        self, name: str, *, cap: int = 8_000, audience: Audience = ANONYMOUS, **arguments: object
    ) -> Answer:
        """Call a tool as the service does."""
        return self.call(name, arguments, cap=cap, audience=audience)

    def call(
        self,
        name: str,
        arguments: object,
        *,
        cap: int = 8_000,
        audience: Audience = ANONYMOUS,
        **context: object,
    ) -> Answer:
        """Call a tool with raw arguments."""
        tool = load(name)
        assert tool is not None
        params, notes = bind_arguments(tool, arguments)
        reading = self.reading(audience)
        stamp = IndexStamp(generation=self.generation, pages=len(reading.pages))
        settings: dict[str, Any] = dict(context)
        asked = ToolContext(index=stamp, cap_tokens=cap, notes=notes, vault_root=self.root, **settings)
        result = tool.run(reading, params, asked)
        answer = finish(tool, result, asked)
        assert answer_tokens(answer) <= cap
        return answer

    def data(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        given: dict[str, Any] = dict(arguments)
        answer = self.ask(name, **given)
        assert answer.structured is not None
        return dict(answer.structured)


def page_record(rev: int, path: str, slug: str, text: str, **fields: object) -> PageRecord:
    """Make a record with plain defaults."""
    sections = split_sections(text)
    values: dict[str, Any] = {
        "rev": rev,
        "path": path,
        "slug": slug,
        "canonical_id": f"01TESTTESTTESTTEST{rev:08d}",
        "id_derived": False,
        "title": slug.rsplit("/", 1)[-1].replace("-", " ").title(),
        "title_explicit": True,
        "summary": "",
        "role": "topic",
        "type": "",
        "status": "",
        "review_state": "",
        "tags": (),
        "aliases": (),
        "clusters": (),
        "updated_at": "2026-03-01T00:00:00+00:00",
        "created": "",
        "author": "",
        "verified_at": "",
        "verified_by": "",
        "version": 1,
        "version_fixed": False,
        "content_hash": content_hash(text),
        "mtime_ns": 0,
        "size": len(text.encode()),
        "inode": rev,
        "encoding": "utf-8",
        "section_count": len(sections),
        "chunk_count": 0,
        "withheld": "",
        "labels": frozenset(),
        "conflict_copy": False,
        "partial": False,
    }
    return PageRecord(**(values | fields))


def content_hash(text: str) -> str:
    """Return the hash a page of that text has."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class SmallReading(Reading):
    """A Reading over a SmallWiki: visible-only, noting what it touches."""

    def __init__(self, wiki: SmallWiki, audience: Audience) -> None:
        self.wiki = wiki
        self.audience = audience
        self.dense = None
        self.touched = {}
        visible = [page for page in wiki.records.values() if not page.withheld or audience.drafts]
        self._pages = sorted(visible, key=lambda page: page.path)
        self._names = PageNames(VisiblePages.of(self._pages))

    @cached_property
    def _incoming(self) -> Mapping[str, Sequence[PageRecord]]:
        incoming: dict[str, list[PageRecord]] = {}
        for page in self._pages:
            for target in self.outlinks(page):
                incoming.setdefault(target.slug, []).append(page)
        return incoming

    @property
    def pages(self) -> Sequence[PageRecord]:
        """Visible pages by path."""
        return self._pages

    @property
    def generation(self) -> int:
        """The wiki's generation."""
        return self.wiki.generation

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        """Clusters as the index builds them."""
        return build_clusters(self._pages)

    @property
    def tags(self) -> Mapping[str, tuple[PageRecord, ...]]:
        """Tags as the index builds them, built once."""
        key = (len(self.wiki.records), self.audience)
        if key not in self.wiki.tags:
            self.wiki.tags[key] = build_tags(self._pages)
        return self.wiki.tags[key]

    def resolve_part(self, name: str) -> tuple[PageRecord, str]:
        """Resolve as the index does."""
        found, part = self._names.resolve_part(name)
        self.touch([found])
        return found, part

    def by_id(self, canonical_id: str) -> PageRecord | None:
        """Look an id up."""
        return self._names.ids.get(canonical_id)

    def moved_id(self, canonical_id: str) -> PageRecord | None:
        """Look up an id that the test says has moved."""
        return self._names.slugs.get(self.wiki.moved.get(canonical_id, ""))

    def body(self, page: PageRecord) -> PageBody:
        """Return the parsed file with what the test gave for it."""
        self.touch([page])
        text = self.text(page)
        values: dict[str, Any] = {
            "sections": split_sections(text),
            "chunks": paragraphs(text),
            "links": (),
            "block_ids": (),
            "frontmatter": self.wiki.frontmatter[page.slug],
            "diagnostics": self.wiki.diagnostics[page.slug],
            "fields": {},
            "related": (),
            "relations": (),
            "source_refs": (),
            "confidence": "",
            "audience": (),
            "wiki_title": "",
            "description": "",
        }
        return PageBody(**(values | self.wiki.bodies[page.slug]))

    def frontmatters(self) -> Mapping[int, Mapping[str, Any]]:
        """Return the frontmatter of visible pages."""
        return {page.rev: mapping for page in self._pages if (mapping := self.wiki.frontmatter[page.slug])}

    def text(self, page: PageRecord) -> str:
        """Return the file's text, checked against its hash."""
        self.touch([page])
        try:
            text = (self.wiki.root / page.path).read_bytes().decode()
        except OSError as error:
            raise Stale(page.path) from error
        if content_hash(text) != page.content_hash:
            raise Stale(page.path)
        return text

    def cite(
        self, page: PageRecord, text: str, start: int, end: int, heading_path: tuple[str, ...]
    ) -> Citation:
        """Cite as the index does."""
        lines = LineIndex(text)
        span = (lines.line(start), lines.line(max(start, end - 1)))
        sha = span_sha256(text[start:end])
        return Citation(page.slug, page.version, page.canonical_id, heading_path, span, sha)

    def outlinks(self, page: PageRecord) -> Sequence[PageRecord]:
        """Return the visible targets of the links that the test gave."""
        slugs = self._names.slugs
        return [slugs[target] for target in self.wiki.links[page.slug] if target in slugs]

    def backlinks(self, page: PageRecord) -> Sequence[PageRecord]:
        """Return the visible pages that link here."""
        return self._incoming.get(page.slug, ())

    def odd_links(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        return ()  # its links are given as pages, not as written

    def in_degree(self, page: PageRecord) -> int:
        """Count the pages that link here."""
        return len(self.backlinks(page))


def split_sections(text: str) -> tuple[Section, ...]:
    """Split at ATX headings outside fences."""
    lines = LineIndex(text)
    fenced = [found.span() for found in re.finditer(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)]
    heads = [
        (found.start(), len(found[1]), found[2])
        for found in _HEADING.finditer(text)
        if not any(start < found.start() < end for start, end in fenced)
    ]

    def span(start: int, end: int) -> Span:
        return Span(start, end, lines.line(start), lines.line(max(start, end - 1)))

    sections = [Section(0, 0, (), 1, *(span(0, heads[0][0] if heads else len(text)),) * 2)]
    path: list[tuple[int, str]] = []
    seen: dict[tuple[str, ...], int] = {}
    for at, (start, level, heading) in enumerate(heads):
        path = [*(part for part in path if part[0] < level), (level, heading)]
        names = tuple(name for _, name in path)
        seen[names] = seen.get(names, 0) + 1
        end = heads[at + 1][0] if at + 1 < len(heads) else len(text)
        deeper = (later for later, other, _ in heads[at + 1 :] if other <= level)
        sections.append(
            Section(at + 1, level, names, seen[names], span(start, end), span(start, next(deeper, len(text))))
        )
    return tuple(sections)


def paragraphs(text: str) -> tuple[Chunk, ...]:
    """Take each run of lines between blank lines for a chunk."""
    found = re.finditer(r"[^\n]+(?:\n(?!\n)[^\n]+)*", text)
    return tuple(Chunk(at, 0, part.start(), part.end()) for at, part in enumerate(found))
