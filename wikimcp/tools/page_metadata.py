"""All metadata of one page: the result that get_page and get_page_by_id share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from wikimcp.errors import Unavailable
from wikimcp.index.view import PageBody, PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Diagnostic
from wikimcp.tools.contract import Result, ToolContext, Wire
from wikimcp.tools.page_rows import one_line, title_of
from wikimcp.tools.rendering import clip, compact_json, flatten, json_safe, plain

_LONGEST_TEXT = 1_000
_MOST_VALUE_TOKENS = 1_000  # a larger frontmatter value would crowd out all others


class PageDiagnostic(Wire):
    """Something odd about the page's file; ``line`` is absent when it is about the whole file."""

    code: str
    message: str
    line: int | None = None


class Relation(Wire):
    """A typed edge from the page's frontmatter."""

    type: str
    target: str


class PageMetadata(Result):
    """Every field of a page but its text."""

    slug: str
    title: str
    path: str
    url: str
    canonical_id: str
    id_derived: bool
    version: int
    content_hash: str
    summary: str | None = None
    role: str
    type: str | None = None
    status: str | None = None
    review_state: str | None = None
    cluster: str | None = None
    clusters: list[str] | None = None
    updated_at: str | None = None
    created: str | None = None
    author: str | None = None
    verified_at: str | None = None
    verified_by: str | None = None
    confidence: str | None = None
    audience: list[str] | None = None
    wiki_title: str | None = None
    description: str | None = None
    draft: bool | None = None
    conflict_copy: bool | None = None
    partial: bool | None = None
    encoding: str
    size: int
    section_count: int
    backlink_count: int
    outlink_count: int
    tags: list[str]
    aliases: list[str] | None = None
    related: list[str] | None = None
    relations: list[Relation] | None = None
    source_refs: list[str] | None = None
    diagnostics: list[PageDiagnostic]
    frontmatter: dict[str, Any]

    cuttable: ClassVar[tuple[str, ...]] = (
        "frontmatter",
        "diagnostics",
        "related",
        "relations",
        "source_refs",
        "aliases",
        "audience",
        "clusters",
        "tags",
    )


def metadata_of(reading: Reading, page: PageRecord, context: ToolContext) -> PageMetadata:
    """Collect the metadata of a page. Raises Stale when the index has moved on."""
    reading.touch([page])
    body = reading.body(page)
    frontmatter, dropped = _frontmatter(body)
    if dropped:
        context.note(f"frontmatter values too long to show: {', '.join(dropped)}; read_pages shows them")
    return PageMetadata(
        slug=plain(page.slug),
        title=title_of(page),
        path=plain(page.path),
        url=page_url(page, context),
        canonical_id=plain(page.canonical_id),
        id_derived=page.id_derived,
        version=page.version,
        content_hash=page.content_hash,
        role=page.role,
        encoding=page.encoding,
        size=page.size,
        section_count=page.section_count,
        backlink_count=len(reading.backlinks(page)),
        outlink_count=len(reading.outlinks(page)),
        tags=_lines(page.tags) or [],
        diagnostics=_diagnostics(page, (*body.diagnostics, *reading.odd_links(page))),
        frontmatter=frontmatter,
        **_optional(page, body),
    )


def page_url(page: PageRecord, context: ToolContext) -> str:
    """Return the vault-relative path, or a ``file://`` URL where the operator's setting allows it."""
    if not context.allow_file_urls:
        return plain(page.path)
    if context.vault_root is None:
        raise Unavailable("file URLs are on but the vault's folder is not known")
    return (context.vault_root / page.path).absolute().as_uri()


def _optional(page: PageRecord, body: PageBody) -> dict[str, Any]:
    """Return the facts that are left out where a page has none."""
    relations = [Relation(type=_line(kind), target=_line(target)) for kind, target in body.relations]
    return {
        "summary": one_line(page.summary, _LONGEST_TEXT),
        "type": one_line(page.type),
        "status": one_line(page.status),
        "review_state": one_line(page.review_state),
        "cluster": one_line(page.clusters[0]) if page.clusters else None,
        "clusters": _lines(page.clusters) if len(page.clusters) > 1 else None,
        "updated_at": page.updated_at or None,
        "created": one_line(page.created),
        "author": one_line(page.author),
        "verified_at": one_line(page.verified_at),
        "verified_by": one_line(page.verified_by),
        "confidence": one_line(body.confidence),
        "audience": _lines(body.audience),
        "wiki_title": one_line(body.wiki_title, _LONGEST_TEXT),
        "description": one_line(body.description, _LONGEST_TEXT) if page.role != "topic" else None,
        "draft": True if page.withheld else None,
        "conflict_copy": page.conflict_copy or None,
        "partial": page.partial or None,
        "aliases": _lines(page.aliases),
        "related": _lines(body.related),
        "relations": relations or None,
        "source_refs": _lines(body.source_refs),
    }


def _diagnostics(page: PageRecord, found: Iterable[Diagnostic]) -> list[PageDiagnostic]:
    notes = [
        PageDiagnostic(code=note.code, message=_line(note.message), line=note.line or None) for note in found
    ]
    if page.conflict_copy:
        message = "a copy that synchronising left behind; it is ranked last and is no link's target"
        notes.append(PageDiagnostic(code="conflict_copy", message=message))
    return notes


def _frontmatter(body: PageBody) -> tuple[dict[str, Any], list[str]]:
    """Return the mapping without its over-long values, and the keys of those."""
    kept: dict[str, Any] = json_safe(body.frontmatter)
    dropped = [key for key, value in kept.items() if not _is_short(key, value)]
    for key in dropped:
        del kept[key]
    names = [clip(flatten(key), 60) for key in dropped[:10]]
    return kept, [*names, f"{len(dropped) - 10} more"] if len(dropped) > 10 else names


def _is_short(key: str, value: object) -> bool:
    if isinstance(value, Mapping | list | str) or len(key) > _MOST_VALUE_TOKENS:
        return count_tokens(compact_json([key, value])) <= _MOST_VALUE_TOKENS
    return True


def _lines(texts: Iterable[str]) -> list[str] | None:
    return [_line(text) for text in texts] or None


def _line(text: str) -> str:
    return clip(flatten(text), _LONGEST_TEXT)
