"""retrieve_context: the pages that may help with a question, with the passages that say why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Section
from wikimcp.retrieval.relevance import Floats, Scored
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
from wikimcp.tools.passages import part_within
from wikimcp.tools.rendering import boundary, bounded, clip, flatten, pairs, plain, row_line

_MOST_RELATED = 5
_LONGEST_TAG = 60
_LONGEST_TERM = 60
_LONGEST_HEADING = 200
_MOST_TERMS = 12
_LONGEST_PASSAGE = 400  # tokens; a longer chunk (a huge fence, say) is shown from its first match on
_SHORTEST_PASSAGE = 20
_FRAME_TOKENS = 350  # of an answer with one page, without the texts of its passages


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
    belief = probabilities(found.scored)
    # However small the cap is, one page with its passages shall be within it.
    longest = min(_LONGEST_PASSAGE, (context.cap_tokens - _FRAME_TOKENS) // params.chunks_per_page)
    passages = _Passages(reading, found, belief, most=params.chunks_per_page, longest=longest)
    pages = [
        _page(reading, found, page, score, passages)
        for page, score in _ranked(reading, found.scored, belief)[: params.max_pages]
    ]
    if not pages:
        context.note("no page matches; try other words, or list_clusters to see what there is")
    return Context(
        query=clip(flatten(params.query), 300),
        pages=pages,
        total_matched=max(reading.count_pages(params.query, allowed=allowed), len(pages)),
    )


def best_pages(reading: Reading, question: str, context: ToolContext) -> list[PageRecord]:
    """Return the pages that may help with a question, best first."""
    found = gather(reading, question, context)
    return [page for page, _ in _ranked(reading, found.scored, probabilities(found.scored))]


def _ranked(reading: Reading, scored: Scored, belief: Floats) -> list[tuple[PageRecord, float]]:
    """Return the pages by the share of belief that their sections hold together, equals by path."""
    shares: dict[int, float] = {}
    for rev, share in zip(scored.rev.tolist(), belief.tolist(), strict=True):
        shares[rev] = shares.get(rev, 0.0) + share
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return [(page, share) for rev, share in ranked if (page := reading.page_by_rev(rev)) is not None]


def _page(reading: Reading, found: Found, page: PageRecord, score: float, passages: _Passages) -> ContextPage:
    return ContextPage(
        slug=plain(page.slug),
        title=title_of(page),
        score=round(score, 4),
        summary=one_line(page.summary, 240),
        cluster=one_line(page.cluster),
        tags=[clip(flatten(tag), _LONGEST_TAG) for tag in page.tags[:12]] or None,
        contributing_chunks=list(passages.of(page)),
        related_pages=list(_related(reading, found, page)),
        updated_at=page.updated_at,
        version=page.version,
    )


class _Passages:
    """The best passages of pages: of each of their best sections the best chunk."""

    def __init__(self, reading: Reading, found: Found, belief: Floats, *, most: int, longest: int) -> None:
        self._reading = reading
        self._scored = found.scored
        self._terms = found.lexical.terms
        self._belief = belief
        self._most = most
        self._longest = max(longest, _SHORTEST_PASSAGE)

    def of(self, page: PageRecord) -> Iterator[Passage]:
        """Yield the passages of one page, the best first. Raises Stale when the page moved on."""
        scored = self._scored
        at_page = np.flatnonzero((scored.rev == page.rev) & (scored.text_cost > 0))
        text, sections = self._reading.text(page), self._reading.sections(page)
        shape = self._reading.outlines([page.rev])[page.rev]
        for at in at_page[np.argsort(-scored.score[at_page], kind="stable")][: self._most].tolist():
            section = sections[int(scored.section[at])]
            chunk = int(scored.best_chunk[at])
            start, end = self._range(page, text, int(shape.chunk_start[chunk]), int(shape.chunk_end[chunk]))
            shown = self._reading.shown(page, text, start, end)
            if not shown:
                continue  # the chunk is nothing but a comment
            citation = self._reading.cite(page, text, start, end, section.heading_path)
            yield Passage(
                heading_path=[clip(flatten(part), _LONGEST_HEADING) for part in section.heading_path],
                text=plain(shown),
                lines=list(citation.lines),
                score=round(float(self._belief[at]), 4),
                matched_terms=self._matched(shown, section),
            )

    def _range(self, page: PageRecord, text: str, start: int, end: int) -> tuple[int, int]:
        """Return what to show of a chunk: all, or of a huge one whole lines from the first match on."""
        while end > start and text[end - 1] in "\r\n":
            end -= 1
        if count_tokens(self._reading.shown(page, text, start, end)) <= self._longest:
            return start, end
        return part_within(text, start, end, tokens=self._longest, terms=self._terms)

    def _matched(self, passage: str, section: Section) -> list[str]:
        stems = self._reading.stems("\n".join((*section.heading_path, passage)))
        found = [term.surface for term in self._terms if term.stem in stems]
        return [clip(surface, _LONGEST_TERM) for surface in found[:_MOST_TERMS]]


def _related(reading: Reading, found: Found, page: PageRecord) -> Iterator[Related]:
    """Yield equal files, the hub of the page's cluster, pages it links to, pages that link to it."""
    seen = {page.slug}
    hub = reading.clusters[page.cluster].hub if page.cluster in reading.clusters else None
    groups = (
        ("same text as this page", found.twins.get(page.rev, [])),
        (f"hub of cluster {clip(flatten(page.cluster), _LONGEST_TERM)}", [hub] if hub else []),
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
        facts = {k: v for k, v in page.wire().items() if k not in ("contributingChunks", "relatedPages")}
        lines.append(f"[{number}] {row_line(facts)}")
        for chunk in page.contributing_chunks:
            about = {
                "heading": " > ".join(chunk.heading_path),
                "lines": f"{chunk.lines[0]}-{chunk.lines[1]}",
                "score": chunk.score,
                "matchedTerms": chunk.matched_terms,
            }
            lines += [pairs(about), bounded(chunk.text, mark)]
        if page.related_pages:
            lines += ["related:", *(f"- {row_line(related.wire())}" for related in page.related_pages)]
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
