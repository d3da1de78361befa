"""What a ParsedPage becomes in the catalog: a PageRecord, kept in memory, and a PageBody, read on demand.

This module makes both, and turns bodies into SQLite rows and back; ``page_record`` does so for records.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wikimcp.index.page_record import PageRecord, Row, as_cell
from wikimcp.markdown.identity import derived_id
from wikimcp.models import Anchor, Chunk, Diagnostic, FileStamp, Link, LinkKind, ParsedPage, Section, Span


@dataclass(frozen=True, slots=True)
class PageBody:
    """The parts of a page that are read on demand."""

    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    links: tuple[Link, ...]
    block_ids: tuple[str, ...]
    frontmatter: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...]
    fields: Mapping[str, tuple[str, ...]]
    related: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    source_refs: tuple[str, ...]
    confidence: str
    audience: tuple[str, ...]
    wiki_title: str
    description: str
    hidden: tuple[tuple[int, int], ...] = ()
    comments: tuple[tuple[int, int], ...] = ()
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not served, and why; ``stamp`` is None when the walk already left it out."""

    path: str
    why: Diagnostic
    stamp: FileStamp | None = None


def record_of(page: ParsedPage, *, rev: int, version: int, stamp: FileStamp, updated_at: str) -> PageRecord:
    """Make the record of a freshly parsed page."""
    return PageRecord(
        rev=rev,
        path=page.path,
        slug=page.slug,
        canonical_id=page.canonical_id,
        id_derived=page_id_is_derived(page),
        title=page.title,
        title_explicit=page.title_explicit,
        summary=page.summary,
        role=page.role,
        type=page.type,
        status=page.status,
        review_state=page.review_state,
        tags=page.tags,
        aliases=page.aliases,
        clusters=page.clusters,
        updated_at=updated_at,
        created=page.created,
        author=page.author,
        verified_at=page.verified_at,
        verified_by=page.verified_by,
        version=version,
        version_fixed=bool(page.fixed_version),
        content_hash=page.content_hash,
        mtime_ns=stamp.mtime_ns,
        size=stamp.size,
        inode=stamp.inode,
        encoding=page.encoding,
        section_count=len(page.body.sections),
        chunk_count=len(page.body.chunks),
        withheld=page.withheld,
        labels=page.labels,
        conflict_copy=page.conflict_copy,
        partial=page.partial,
        copy_of=page.copy_of,
    )


def page_id_is_derived(page: ParsedPage) -> bool:
    """Whether the page's id was made from its slug for want of one in the frontmatter."""
    return page.canonical_id == derived_id(page.slug)


Comments = tuple[tuple[int, int], ...]
"""Ranges of a page's text, start and end."""

# A body is stored in several cells, so that a reader decodes only what it needs.
BODY_COLUMNS = ("rev", "sections", "traits", "chunks", "chunk_keys", "links", "frontmatter", "rest")


def body_row(rev: int, page: ParsedPage, *, traits: bytes, chunk_keys: bytes) -> Row:
    """Return the catalog row of a page's body.

    ``traits`` are the numbers of each section (retrieval/traits.py), ``chunk_keys`` 8 bytes a chunk.
    """
    body = page.body
    rest = {
        "blocks": body.block_ids,
        "diagnostics": [(d.code, d.message, d.line) for d in (*page.diagnostics, *body.diagnostics)],
        "fields": dict(body.fields),
        "related": page.related,
        "relations": page.relations,
        "sources": page.source_refs,
        "confidence": page.confidence,
        "audience": page.audience,
        "wiki_title": page.wiki_title,
        "description": page.description,
        "hidden": body.hidden,
        "comments": body.comments,
        "anchors": [(anchor.name, anchor.start) for anchor in body.anchors],
    }
    return (
        rev,
        as_cell([_section_cell(s) for s in body.sections]),
        traits,
        array("i", [n for c in body.chunks for n in (c.section, c.start, c.end)]).tobytes(),
        chunk_keys,
        as_cell([_link_cell(link) for link in body.links]) if body.links else "",
        as_cell(dict(page.frontmatter)) if page.frontmatter else "",
        as_cell({key: value for key, value in rest.items() if value}),
    )


def body_from_row(row: Row) -> PageBody:
    """Rebuild a body from its catalog row."""
    _, sections, _, chunks, _, links, frontmatter, rest_text = row
    rest = json.loads(rest_text)
    return PageBody(
        sections=sections_from_cell(sections),
        chunks=chunks_from_cell(chunks),
        links=links_from_cell(links),
        block_ids=tuple(rest.get("blocks", ())),
        frontmatter=json.loads(frontmatter) if frontmatter else {},
        diagnostics=tuple(Diagnostic(*item) for item in rest.get("diagnostics", ())),
        fields={key: tuple(value) for key, value in rest.get("fields", {}).items()},
        related=tuple(rest.get("related", ())),
        relations=tuple((kind, target) for kind, target in rest.get("relations", ())),
        source_refs=tuple(rest.get("sources", ())),
        confidence=rest.get("confidence", ""),
        audience=tuple(rest.get("audience", ())),
        wiki_title=rest.get("wiki_title", ""),
        description=rest.get("description", ""),
        hidden=_spans(rest, "hidden"),
        comments=_spans(rest, "comments"),
        anchors=tuple(Anchor(name, start) for name, start in rest.get("anchors", ())),
    )


def comments_from_cell(rest: str) -> Comments:
    """Decode the comments of a body from its last cell, without the rest of it."""
    return _spans(json.loads(rest), "comments") if '"comments"' in rest else ()


def _spans(rest: Mapping[str, Any], name: str) -> Comments:
    return tuple((start, end) for start, end in rest.get(name, ()))


def _section_cell(section: Section) -> list[Any]:
    own, tree = section.own, section.subtree
    return [
        section.level,
        section.heading_path,
        section.duplicate,
        [own.start, own.end, own.first_line, own.last_line],
        [tree.end, tree.last_line],
    ]


def sections_from_cell(cell: str) -> tuple[Section, ...]:
    """Decode the sections of a body."""
    sections = []
    for ordinal, (level, path, duplicate, own, tree) in enumerate(json.loads(cell)):
        sections.append(
            Section(
                ordinal,
                level,
                tuple(path),
                duplicate,
                Span(*own),
                Span(own[0], tree[0], own[2], tree[1]),
            )
        )
    return tuple(sections)


def chunks_from_cell(cell: bytes) -> tuple[Chunk, ...]:
    """Decode the chunks of a body."""
    numbers = array("i")
    numbers.frombytes(cell)
    return tuple(
        Chunk(at // 3, numbers[at], numbers[at + 1], numbers[at + 2]) for at in range(0, len(numbers), 3)
    )


def _link_cell(link: Link) -> list[Any]:
    *before, in_comment, span_text = link
    return [*before, int(in_comment), span_text]


def links_from_cell(cell: str) -> tuple[Link, ...]:
    """Decode the links of a body."""
    if not cell:
        return ()
    return tuple(
        Link(LinkKind(kind), target, fragment, label, start, line, prop, bool(comment), span)
        for kind, target, fragment, label, start, line, prop, comment, span in json.loads(cell)
    )
