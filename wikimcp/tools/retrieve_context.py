"""retrieve_context: the pages that may help with a question, with the passages that say why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from wikimcp.index.view import PageRecord, Reading
from wikimcp.models import Section
from wikimcp.ports import LexicalTerm
from wikimcp.retrieval.selection import probabilities
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.evidence import Found, Question, gather
from wikimcp.tools.filters import (
    AuthorFilter,
    ClusterFilter,
    PageFilter,
    PathPrefixFilter,
    TagsFilter,
    TypeFilter,
    UpdatedAfter,
    UpdatedBefore,
    select,
)
from wikimcp.tools.page_rows import IncludeDrafts, one_line, title_of
from wikimcp.tools.rendering import boundary, bounded, clip, flatten, pairs, plain

_MOST_RELATED = 5
_LONGEST_TAG = 60


class ContextParams(Params):
    """What is asked, and which pages may help."""

    query: Question
    max_pages: Annotated[int, Field(ge=1, le=20, description="Most pages")] = 5
    chunks_per_page: Annotated[int, Field(ge=1, le=5, description="Most passages of a page")] = 3
    cluster: ClusterFilter = ""
    tags: TagsFilter = ()
    type: TypeFilter = ""
    path_prefix: PathPrefixFilter = ""
    author: AuthorFilter = ""
    modified_after: UpdatedAfter = ""
    modified_before: UpdatedBefore = ""
    include_drafts: IncludeDrafts = False


class Passage(Wire):
    """A passage of a page; ``lines`` are first and last."""

    heading_path: list[str]
    text: str
    lines: list[int]
    score: float
    matched_terms: list[str]


class Related(Wire):
    """A page next to the one found, and why."""

    slug: str
    reason: str


class ContextPage(Wire):
    """A page that may help."""

    slug: str
    title: str
    score: float
    summary: str | None = None
    cluster: str | None = None
    tags: list[str] | None = None
    contributing_chunks: list[Passage]
    related_pages: list[Related]
    updated_at: str
    version: int


class Context(Result):
    """Pages for a question, best first. ``total_matched`` counts all pages that hold a word of it."""

    query: str
    pages: list[ContextPage]
    total_matched: int

    cuttable: ClassVar[tuple[str, ...]] = ("pages",)


def run(reading: Reading, params: ContextParams, context: ToolContext) -> Context:
    """Find the pages. Raises Stale when a page moved on while it was read."""
    wanted = PageFilter.of(params)
    allowed = None
    if wanted != PageFilter():
        allowed = frozenset(page.rev for page in select(reading, wanted, context))
    found = gather(reading, params.query, context, allowed=allowed)
    pages = [
        _page(reading, found, page, score, params.chunks_per_page)
        for page, score in _ranked(reading, found)[: params.max_pages]
    ]
    if not pages:
        context.note("no page matches; try other words, or list_clusters to see what there is")
    return Context(
        query=clip(flatten(params.query), 300),
        pages=pages,
        total_matched=max(reading.count_pages(params.query, allowed=allowed), len(pages)),
    )


def _ranked(reading: Reading, found: Found) -> list[tuple[PageRecord, float]]:
    """Return the pages by the share of belief that their sections hold together."""
    scored = found.scored
    belief = probabilities(scored)
    shares: dict[int, float] = {}
    for rev, share in zip(scored.rev.tolist(), belief.tolist(), strict=True):
        shares[rev] = shares.get(rev, 0.0) + share
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return [(page, share) for rev, share in ranked if (page := reading.page_by_rev(rev)) is not None]


def _page(reading: Reading, found: Found, page: PageRecord, score: float, most: int) -> ContextPage:
    return ContextPage(
        slug=plain(page.slug),
        title=title_of(page),
        score=round(score, 4),
        summary=one_line(page.summary, 240),
        cluster=one_line(page.cluster),
        tags=[clip(flatten(tag), _LONGEST_TAG) for tag in page.tags[:12]] or None,
        contributing_chunks=list(_passages(reading, found, page, most)),
        related_pages=list(_related(reading, page)),
        updated_at=page.updated_at,
        version=page.version,
    )


def _passages(reading: Reading, found: Found, page: PageRecord, most: int) -> Iterator[Passage]:
    scored = found.scored
    at_page = np.flatnonzero(scored.rev == page.rev)
    belief = probabilities(scored)
    text, body = reading.text(page), reading.body(page)
    best = at_page[np.argsort(-scored.score[at_page], kind="stable")][:most]
    for at in best.tolist():
        section = body.sections[int(scored.section[at])]
        chunk = body.chunks[int(scored.best_chunk[at])]
        passage = text[chunk.start : chunk.end].strip("\r\n")
        citation = reading.cite(page, text, chunk.start, chunk.end, section.heading_path)
        yield Passage(
            heading_path=[flatten(heading) for heading in section.heading_path],
            text=plain(passage),
            lines=list(citation.lines),
            score=round(float(belief[at]), 4),
            matched_terms=_matched(reading, found.lexical.terms, passage, section),
        )


def _matched(reading: Reading, terms: Iterable[LexicalTerm], passage: str, section: Section) -> list[str]:
    stems = set(reading.analyze("\n".join((*section.heading_path, passage))))
    return [clip(term.surface, 60) for term in terms if term.stem in stems]


def _related(reading: Reading, page: PageRecord) -> Iterator[Related]:
    """Yield the hub of the page's cluster, then pages it links to, then pages that link to it."""
    seen = {page.slug}
    hub = reading.clusters[page.cluster].hub if page.cluster in reading.clusters else None
    groups = (
        (f"hub of cluster {flatten(page.cluster)}", [hub] if hub else []),
        ("linked from this page", reading.outlinks(page)),
        ("links to this page", reading.backlinks(page)),
    )
    for reason, pages in groups:
        for other in pages:
            if other.slug not in seen and len(seen) <= _MOST_RELATED:
                seen.add(other.slug)
                reading.touch([other])
                yield Related(slug=plain(other.slug), reason=reason)


def render_context(result: Context) -> str:
    """Render each page with its passages, vault text within bounds."""
    mark = boundary([chunk.text for page in result.pages for chunk in page.contributing_chunks])
    lines = [pairs({"query": result.query, "totalMatched": result.total_matched})]
    for number, page in enumerate(result.pages, start=1):
        facts = {
            k: v for k, v in page.wire().items() if k not in ("slug", "contributingChunks", "relatedPages")
        }
        lines.append(f"[{number}] {page.slug}; {pairs(facts)}")
        for chunk in page.contributing_chunks:
            about = {
                "heading": " > ".join(chunk.heading_path),
                "lines": f"{chunk.lines[0]}-{chunk.lines[1]}",
                "score": chunk.score,
                "matchedTerms": chunk.matched_terms,
            }
            lines += [pairs(about), bounded(chunk.text, mark)]
        if page.related_pages:
            lines.append("related: " + "; ".join(f"{r.slug} ({r.reason})" for r in page.related_pages))
    return "\n".join(lines)


TOOL = Tool(
    name="retrieve_context",
    title="Find pages for a question",
    description=(
        "Pages that may help with a question, each with its best passages and neighbours: call it when "
        "assemble_bundle was not strong, then read_pages of those that fit."
    ),
    params=ContextParams,
    result=Context,
    run=run,
    render=render_context,
)
