"""Choosing the spans of a bundle: no repeats, nothing the agent already has, all within the budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.retrieval.duplicates import near_duplicates, repeated
from wikimcp.retrieval.relevance import Scored
from wikimcp.retrieval.selection import capped_tokens, longest_section, probabilities, select_runs
from wikimcp.tools.bundle_spans import Span, cut_span
from wikimcp.tools.evidence import Found
from wikimcp.tools.excluding import Exclusion, excluded_sections

_ROUNDS = 3  # a near repeat found after reading makes room for another section
_KEYS_TOKENS = 115  # field names, hash, lines, score, ranks and marks of one section


@dataclass(frozen=True, slots=True)
class Choice:
    """The spans, best first; sections that did not fit; and pages that repeat a span's text."""

    spans: list[Span]
    skipped: list[int]
    twins: dict[int, list[str]]


def choose(reading: Reading, found: Found, exclusions: list[Exclusion], *, budget: int, limit: int) -> Choice:
    """Pick spans for at most ``budget`` tokens. Raises Stale when a page moved on."""
    scored = found.scored
    probability = probabilities(scored)
    same, repeats = repeated(scored)
    probability[same] = 0.0
    if exclusions:
        probability[excluded_sections(reading, scored, exclusions)] = 0.0
    tokens = capped_tokens(scored, budget)
    overhead = overhead_tokens(reading, scored)
    longest = longest_section(budget)
    twins = {at: [slug_of(reading, scored, other) for other in others] for at, others in repeats.items()}
    for _ in range(_ROUNDS):
        runs, skipped = select_runs(
            scored, probability, tokens, overhead, budget=budget, limit=limit, alone=scored.tokens > longest
        )
        spans = [cut_span(reading, scored, run, longest=longest) for run in runs]
        again = near_duplicates([span.text for span in spans])
        for at, before in again.items():
            probability[spans[at].run.first : spans[at].run.last] = 0.0
            twins.setdefault(spans[before].run.first, []).append(spans[at].page.slug)
        if not again:
            break
    kept = [span for at, span in enumerate(spans) if at not in again]
    return Choice(kept, skipped, twins)


def overhead_tokens(reading: Reading, scored: Scored) -> NDArray[np.int64]:
    """Return the tokens that a span's names, citation and keys take, for each section."""
    by_rev = {rev: _names_tokens(page_of(reading, rev)) for rev in np.unique(scored.rev).tolist()}
    return np.array([by_rev[rev] for rev in scored.rev.tolist()], np.int64)


def _names_tokens(page: PageRecord) -> int:
    names = 3 * count_tokens(page.slug) + count_tokens(page.title) + 2 * count_tokens(page.canonical_id)
    return _KEYS_TOKENS + names


def page_of(reading: Reading, rev: int) -> PageRecord:
    """Return the page of a scored section's rev."""
    page = reading.page_by_rev(rev)
    assert page is not None, "scored sections are of visible pages"
    return page


def slug_of(reading: Reading, scored: Scored, at: int) -> str:
    """Return the slug of the page that a scored section stands on."""
    return page_of(reading, int(scored.rev[at])).slug
