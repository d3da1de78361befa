"""assemble_bundle: the cited sections that answer a question, within a token budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from wikimcp.index.view import Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.ports import Ids
from wikimcp.retrieval.coverage import NO_SIMILARITY, judge
from wikimcp.tools.answers import answer_tokens, compose, stamped
from wikimcp.tools.bundle_choice import Choice, choose, page_of
from wikimcp.tools.bundle_result import Bundle, BundleSection, CoverageRow, Omitted, Ranks, render_bundle
from wikimcp.tools.bundle_spans import Span
from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import CoverageSettings, Params, Tool, ToolContext
from wikimcp.tools.evidence import Found, Mode, Question, gather
from wikimcp.tools.excluding import read_exclusions
from wikimcp.tools.filters import (
    ClusterFilter,
    PageFilter,
    PathPrefixFilter,
    TagsFilter,
    TypeFilter,
    select,
)
from wikimcp.tools.page_rows import IncludeDrafts, title_of
from wikimcp.tools.rendering import clip, flatten, plain

_FRAME_TOKENS = 210  # of an answer without sections: query, coverage, omitted, index
_OMITTED_SHOWN = 5
_LONGEST_ECHO = 300
_TWINS_SHOWN = 3
_NEXT = {
    "partial": "retrieve_context, then read_pages of the pages it names",
    "weak": "retrieve_context with other words; if that finds nothing, say that the wiki does not cover it",
    "unknown": "retrieve_context, then read_pages; no similarity was available to judge by",
}


class BundleParams(Params):
    """What is asked, and what may answer."""

    query: Question
    mode: Annotated[Mode, Field(description="hybrid: by words and by meaning")] = "hybrid"
    limit: Annotated[int, Field(ge=1, le=30, description="Most sections")] = 12
    token_budget: Annotated[int, Field(ge=500, le=24_000, description="Most tokens of the answer")] = 6_000
    cluster: ClusterFilter = ""
    tags: TagsFilter = ()
    type: TypeFilter = ""
    path_prefix: PathPrefixFilter = ""
    exclude: Annotated[
        tuple[str, ...],
        Field(
            description="Citation uris or span hashes you already have", examples=[["cite://01J/Setup?h=0f"]]
        ),
    ] = ()
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: BundleParams, context: ToolContext) -> Bundle:
    """Assemble the bundle. Raises Stale when a page moved on while it was read."""
    allowed = None
    if params.cluster or params.tags or params.type or params.path_prefix:
        allowed = frozenset(page.rev for page in select(reading, PageFilter.of(params), context))
    found = gather(reading, params.query, context, mode=params.mode, allowed=allowed)
    exclusions = read_exclusions(params.exclude, context)
    frame = _FRAME_TOKENS + count_tokens(params.query[:_LONGEST_ECHO]) + sum(map(count_tokens, context.notes))
    choice = choose(reading, found, exclusions, budget=params.token_budget - frame, limit=params.limit)
    return _within_budget(_bundle(reading, params, found, choice, context), params.token_budget, context)


def _bundle(
    reading: Reading, params: BundleParams, found: Found, choice: Choice, context: ToolContext
) -> Bundle:
    ranks = _Ranks(reading, found)
    notes = list(_twin_notes(found, choice))
    left = len(choice.skipped) - _OMITTED_SHOWN
    if left > 0:
        notes.append(f"{left} more sections did not fit the budget")
    return Bundle(
        query=clip(flatten(params.query), _LONGEST_ECHO),
        mode=found.mode,
        sections=[_section(span, ranks) for span in choice.spans],
        coverage=_coverage(reading, found, choice.spans, context.coverage),
        omitted=[_omitted(reading, found, at) for at in choice.skipped[:_OMITTED_SHOWN]],
        notes=notes,
    )


def _section(span: Span, ranks: _Ranks) -> BundleSection:
    return BundleSection(
        slug=plain(span.page.slug),
        title=title_of(span.page),
        heading_path=[flatten(heading) for heading in span.heading_path],
        text=plain(span.text),
        truncated=span.truncated,
        score=round(span.run.probability, 4),
        ranks=ranks.of(span),
        citation=CitationRow.of(span.citation),
    )


def _omitted(reading: Reading, found: Found, at: int) -> Omitted:
    page = page_of(reading, int(found.scored.rev[at]))
    heading = reading.sections(page)[int(found.scored.section[at])].heading
    return Omitted(slug=plain(page.slug), heading=clip(flatten(heading or page.title), 120))


class _Ranks:
    """Ranks of sections in the lists that named their chunks."""

    def __init__(self, reading: Reading, found: Found) -> None:
        self._outlines = reading.outlines(sorted({int(rev) for rev in found.scored.rev}))
        self._bm25 = self._ranks(found.evidence.chunk_ids)
        self._dense = self._ranks(found.evidence.dense_ids)
        self._scored = found.scored

    def _ranks(self, chunk_ids: Ids) -> dict[tuple[int, int], int]:
        ranks: dict[tuple[int, int], int] = {}
        for chunk in chunk_ids.tolist():
            rev, ordinal = chunk >> 16, chunk & 0xFFFF
            shape = self._outlines.get(rev)
            # Sections of pages that were not prepared are not known: their chunks take a place each.
            section = int(shape.chunk_section[ordinal]) if shape is not None else -1 - ordinal
            ranks.setdefault((rev, section), len(ranks) + 1)
        return ranks

    def of(self, span: Span) -> Ranks:
        """Return the best ranks among the span's sections."""
        run, scored = span.run, self._scored
        keys = [(int(scored.rev[at]), int(scored.section[at])) for at in range(run.first, run.last)]
        return Ranks(
            bm25=min((self._bm25[key] for key in keys if key in self._bm25), default=None),
            dense=min((self._dense[key] for key in keys if key in self._dense), default=None),
        )


def _twin_notes(found: Found, choice: Choice) -> Iterator[str]:
    """Name the pages that say the same as a returned section."""
    for number, span in enumerate(choice.spans, start=1):
        slugs = [slug for at in range(span.run.first, span.run.last) for slug in choice.twins.get(at, ())]
        slugs += [page.slug for page in found.twins.get(span.page.rev, ())]
        others = list(dict.fromkeys(slug for slug in slugs if slug != span.page.slug))
        if others:
            more = f" and {len(others) - _TWINS_SHOWN} more" if len(others) > _TWINS_SHOWN else ""
            yield f"section {number} says the same as {', '.join(map(plain, others[:_TWINS_SHOWN]))}{more}"


def _coverage(
    reading: Reading, found: Found, spans: Sequence[Span], settings: CoverageSettings
) -> CoverageRow:
    similarity = NO_SIMILARITY
    if found.has_similarity and spans:
        similarity = max(float(found.scored.cosine[span.run.first : span.run.last].max()) for span in spans)
    calibrated = reading.dense.embedder.thresholds if reading.dense is not None else (1.0, 1.0)
    judged = judge(
        top_similarity=similarity,
        section_count=len(spans),
        distinct_page_count=len({span.page.rev for span in spans}),
        terms=found.lexical.terms,
        section_stems=lambda: [set(reading.analyze(_with_names(span))) for span in spans],
        thresholds=settings.thresholds(calibrated),
        lexical_lift=settings.lexical_lift,
    )
    return CoverageRow(
        section_count=judged.section_count,
        distinct_page_count=judged.distinct_page_count,
        top_similarity=round(judged.top_similarity, 4),
        confidence=judged.confidence,
        missing_terms=[clip(term, 60) for term in judged.missing_terms[:12]],
        lifted_by=judged.lifted_by or None,
        next=_NEXT.get(judged.confidence),
    )


def _with_names(span: Span) -> str:
    page = span.page
    return "\n".join((page.title, page.summary, *page.tags, *page.aliases, *span.heading_path, span.text))


def _within_budget(bundle: Bundle, budget: int, context: ToolContext) -> Bundle:
    """Cut what the estimate of names and keys left too much: the omitted first, then the last sections."""
    spare = budget - answer_tokens(compose(TOOL, stamped(bundle, context)))
    if spare >= 0:
        return bundle
    for field in ("omitted", "notes", "sections"):
        items = getattr(bundle, field)
        while items and spare < 0:
            spare += _item_tokens(items[-1])
            items = items[:-1]
        bundle = bundle.model_copy(update={field: items})
    return bundle


def _item_tokens(item: object) -> int:
    """Return at least what an item saves in either channel, less a token for rounding."""
    if isinstance(item, BundleSection):
        return count_tokens(item.text) + count_tokens(item.citation.uri)
    return count_tokens(item.slug + item.heading) if isinstance(item, Omitted) else count_tokens(str(item))


TOOL = Tool(
    name="assemble_bundle",
    title="Assemble a cited bundle",
    description=(
        "Cited sections of the wiki that answer a question, within a token budget: call it first for any "
        "question about this project, team or domain. Read coverage.confidence: strong: cite the handles and "
        "go on; partial, weak or unknown: do what coverage.next says, do not guess."
    ),
    params=BundleParams,
    result=Bundle,
    run=run,
    render=render_bundle,
    own_budget=True,
)
