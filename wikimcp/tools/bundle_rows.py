"""The parts of a bundle as they go on the wire: sections with ranks, what was left out, twins, coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.ports import Ids
from wikimcp.retrieval.coverage import NO_SIMILARITY, judge
from wikimcp.retrieval.selection import Run
from wikimcp.retrieval.sizes import json_quarters
from wikimcp.retrieval.traits import Outline
from wikimcp.tools.bundle_choice import TWINS_SHOWN, Choice, page_at
from wikimcp.tools.bundle_result import BundleSection, CoverageRow, Omitted, Ranks
from wikimcp.tools.bundle_spans import Span
from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import CoverageSettings
from wikimcp.tools.evidence import Found
from wikimcp.tools.page_rows import title_of
from wikimcp.tools.rendering import clip, flatten, plain

_LONGEST_TERM = 60
_LONGEST_HEADING = 120
_LONGEST_REASON = 40  # tokens
_NEXT = {
    "partial": "retrieve_context, then read_pages of the pages it names",
    "weak": "retrieve_context with other words; if that finds nothing, say that the wiki does not cover it",
    "unknown": "retrieve_context, then read_pages; no similarity was available to judge by",
}


class SectionRows:
    """Makes the rows of spans, each once, with the ranks of their sections in the lists of chunks."""

    def __init__(self, reading: Reading, found: Found) -> None:
        self._scored = found.scored
        outlines = reading.outlines(np.unique(found.scored.rev).tolist())
        self._bm25 = _section_ranks(found.evidence.chunk_ids, outlines)
        self._dense = _section_ranks(found.evidence.dense_ids, outlines)
        self._rows: dict[Run, tuple[BundleSection, int]] = {}

    def of(self, span: Span) -> BundleSection:
        """Return the row of a span."""
        return self._made(span)[0]

    def size_of(self, span: Span) -> int:
        """Return the quarters of a span's row as JSON, with the comma behind it."""
        return self._made(span)[1]

    def _made(self, span: Span) -> tuple[BundleSection, int]:
        made = self._rows.get(span.run)
        if made is None:
            row = BundleSection(
                slug=plain(span.page.slug),
                title=title_of(span.page),
                heading_path=[flatten(heading) for heading in span.heading_path],
                text=plain(span.text),
                truncated=span.truncated,
                score=round(span.run.probability, 4),
                ranks=self._ranks_of(span),
                citation=CitationRow.of(span.citation),
            )
            made = self._rows[span.run] = row, json_quarters(row.wire()) + 1
        return made

    def _ranks_of(self, span: Span) -> Ranks:
        """Return the best ranks among the span's sections."""
        keys = [_key(int(self._scored.rev[at]), int(self._scored.section[at])) for at in span.sections]
        return Ranks(
            bm25=min((self._bm25[key] for key in keys if key in self._bm25), default=None),
            dense=min((self._dense[key] for key in keys if key in self._dense), default=None),
        )


def _key(rev: int, section: int) -> int:
    return rev << 16 | section


def _section_ranks(chunk_ids: Ids, outlines: Mapping[int, Outline]) -> dict[int, int]:
    """Return the rank from 1 of each section by key: a section stands where its first chunk does.

    The sections of pages that were not scored are not known: their chunks take a place each.
    """
    revs = (chunk_ids >> np.uint64(16)).astype(np.int64)
    known = np.flatnonzero(np.isin(revs, list(outlines)))
    ordinals = (chunk_ids[known] & np.uint64(0xFFFF)).tolist()
    first: dict[int, int] = {}
    repeats = np.zeros(len(chunk_ids), np.int64)
    for place, rev, ordinal in zip(known.tolist(), revs[known].tolist(), ordinals, strict=True):
        key = _key(rev, int(outlines[rev].chunk_section[ordinal]))
        repeats[place] = first.setdefault(key, place) != place
    ranks = np.arange(1, len(chunk_ids) + 1) - np.cumsum(repeats)
    return {key: int(ranks[place]) for key, place in first.items()}


def omitted_rows(reading: Reading, found: Found, choice: Choice) -> Iterator[Omitted]:
    """Name the likely sections that did not fit, the likeliest first; touches their pages."""
    for at in choice.skipped:
        page = page_at(reading, found.scored, at)
        reading.touch([page])
        heading = reading.sections(page)[int(found.scored.section[at])].heading
        yield Omitted(slug=plain(page.slug), heading=clip(flatten(heading or page.title), _LONGEST_HEADING))


def twin_notes(reading: Reading, found: Found, choice: Choice) -> Iterator[str]:
    """Name the pages that say the same as returned sections; touches them."""
    sections: dict[tuple[str, ...], list[int]] = {}
    for number, span in enumerate(choice.spans, start=1):
        pages = [page for at in span.sections for page in choice.twins.get(at, ())]
        pages += found.twins.get(span.page.rev, ())
        others = {page.slug: page for page in pages if page.slug != span.page.slug}
        if others:
            sections.setdefault(tuple(others), []).append(number)
            reading.touch(list(others.values())[:TWINS_SHOWN])
    for slugs, numbers in sections.items():
        which = ", ".join(map(str, numbers))
        says = f"section {which} says" if len(numbers) == 1 else f"sections {which} say"
        more = f" and {len(slugs) - TWINS_SHOWN} more" if len(slugs) > TWINS_SHOWN else ""
        yield f"{says} the same as {', '.join(map(plain, slugs[:TWINS_SHOWN]))}{more}"


def comment_notes(choice: Choice) -> Iterator[str]:
    """Name the sections whose text is shorter than what their citation spans."""
    numbers = [str(number) for number, span in enumerate(choice.spans, start=1) if span.without_comments]
    if numbers:
        what = "section" if len(numbers) == 1 else "sections"
        yield f"{what} {', '.join(numbers)}: comments are left out; the citation spans them"


def coverage_row(
    reading: Reading, found: Found, spans: Sequence[Span], settings: CoverageSettings, *, tokens: int
) -> CoverageRow:
    """Judge the spans; each of the lists of words takes at most ``tokens`` tokens."""
    similarity = NO_SIMILARITY
    if found.has_similarity and spans:
        similarity = max(float(found.scored.cosine[span.run.first : span.run.last].max()) for span in spans)
    calibrated = reading.dense.embedder.thresholds if reading.dense is not None else (1.0, 1.0)
    judged = judge(
        top_similarity=similarity,
        section_count=len(spans),
        distinct_page_count=len({span.page.rev for span in spans}),
        terms=found.lexical.terms,
        section_stems=lambda: (reading.stems(_with_names(span.page, span)) for span in spans),
        thresholds=settings.thresholds(calibrated),
        lexical_lift=settings.lexical_lift,
    )
    return CoverageRow(
        section_count=judged.section_count,
        distinct_page_count=judged.distinct_page_count,
        top_similarity=round(judged.top_similarity, 4),
        confidence=judged.confidence,
        missing_terms=_within(judged.missing_terms, tokens),
        lifted_by=clip_tokens(judged.lifted_by, min(tokens, _LONGEST_REASON)) or None,
        next=_NEXT.get(judged.confidence),
    )


def _with_names(page: PageRecord, span: Span) -> str:
    return "\n".join((page.title, page.summary, *page.tags, *page.aliases, *span.heading_path, span.text))


def _within(terms: Sequence[str], tokens: int) -> list[str]:
    """Return the first terms that take at most ``tokens`` tokens."""
    kept: list[str] = []
    for term in terms:
        shown = clip(flatten(term), _LONGEST_TERM)
        tokens -= count_tokens(f'"{shown}",')
        if tokens < 0:
            break
        kept.append(shown)
    return kept


def clip_tokens(text: str, most: int) -> str:
    """Return at most ``most`` tokens of a text, marked with an ellipsis when it was cut."""
    longest = 4 * most
    while count_tokens(text) > most:
        text = clip(text, longest)
        longest = longest * 7 // 8
    return text
