"""Choosing the spans of a bundle: no repeats, nothing the agent already has, all within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wikimcp.index.view import PageRecord, Reading
from wikimcp.retrieval.duplicates import near_duplicates, repeated
from wikimcp.retrieval.relevance import Floats, Scored
from wikimcp.retrieval.selection import Costs, Run, Selection, probabilities
from wikimcp.retrieval.sizes import QUARTERS, name_cost
from wikimcp.tools.bundle_spans import Room, Span, cut_span, least_cost
from wikimcp.tools.evidence import Found
from wikimcp.tools.excluding import Exclusion, excluded_sections

_LONGEST = 1_500 * QUARTERS  # a longer section is cut around its best chunk
_LONGEST_SHARE = 0.6  # of the room that one section may take
_SHORTEST = 40 * QUARTERS
_SURELY = 0.9  # of the room, that a section fits into with whatever was not foreseen
_KEYS_COST = 290  # field names, marks, hash, lines, score and ranks of one section
TWINS_SHOWN = 3
_TWINS_COST = 60  # the words of a note on twins
_BLANK_LINE = 4  # between two sections of one span
_WORTH_NAMING = 0.005  # belief from which a section that did not fit is named
_CLOSE_ENOUGH = 40 * QUARTERS
_MOST_ROUNDS = 10  # a near repeat, or a span larger than supposed, is known only when it is read


@dataclass(frozen=True, slots=True)
class Choice:
    """The spans, best first; the likely sections that did not fit; and pages that repeat a section's text."""

    spans: list[Span]
    skipped: list[int]
    twins: dict[int, list[PageRecord]]


def choose(
    reading: Reading,
    found: Found,
    exclusions: list[Exclusion],
    *,
    room: int,
    limit: int,
    size_of: Callable[[Span], int],
) -> Choice:
    """Pick at most ``limit`` spans that cost at most ``room`` quarters together, counted by ``size_of``.

    Raises Stale when a page moved on.
    """
    scored = found.scored
    probability = probabilities(scored)
    probability[scored.text_cost == 0] = 0.0  # nothing but comments
    same, repeats = repeated(scored)
    probability[same] = 0.0
    if exclusions:
        probability[excluded_sections(reading, scored, exclusions)] = 0.0
    probability /= probability.sum() or 1.0
    twins = {at: [page_at(reading, scored, other) for other in others] for at, others in repeats.items()}
    costs, rooms = _costs(reading, found, room)
    cut: dict[Run, Span] = {}

    def cost_of(span: Span) -> int:
        others = [page for at in span.sections for page in twins.get(at, ())]
        return size_of(span) + _twins_cost([*others, *found.twins.get(span.page.rev, ())])

    def grown(selection: Selection, room: int) -> list[Span]:
        selection.fill(room)
        for run in selection.runs:
            if run not in cut:
                cut[run] = cut_span(reading, scored, run, room=rooms[run.first], terms=found.lexical.terms)
        return [cut[run] for run in selection.runs]

    spans: list[Span] = []
    asked = room
    for _ in range(_MOST_ROUNDS):
        selection = Selection(scored, probability, costs, limit=limit)
        spans = grown(selection, asked)
        if _set_repeats_aside(reading, scored, spans, probability, twins):
            continue
        left = room - sum(map(cost_of, spans))
        if left < 0:
            asked += left
            continue
        while left > max(_CLOSE_ENOUGH, room // 100):
            more = grown(selection, left)
            left = room - sum(map(cost_of, more))
            if more == spans or left < 0 or _set_repeats_aside(reading, scored, more, probability, twins):
                break
            spans = more
        break
    spans = _fitting(spans, room, cost_of)
    taken = {at for span in spans for at in span.sections}
    skipped = [at for at in selection.likely if at not in taken and probability[at] >= _WORTH_NAMING]
    return Choice(spans, skipped, twins)


def _costs(reading: Reading, found: Found, room: int) -> tuple[Costs, list[Room]]:
    """Estimate what each section and a citation on its page cost, and the most that one may take."""
    scored = found.scored
    names = {
        rev: _names_cost(page_of(reading, rev)) + _twins_cost(found.twins.get(rev, []))
        for rev in np.unique(scored.rev).tolist()
    }
    citation = scored.path_cost + np.array([names[rev] for rev in scored.rev.tolist()], np.int64)
    longest = np.minimum(min(_LONGEST, int(room * _LONGEST_SHARE)), room - citation)
    longest = np.maximum(longest, _SHORTEST)
    most = np.maximum((_SURELY * (room - citation)).astype(np.int64), longest)
    whole = scored.text_cost <= longest
    text = np.where(whole, scored.text_cost, longest)
    for at in np.flatnonzero(~whole).tolist():
        rev = int(scored.rev[at])
        least = least_cost(reading.outlines([rev])[rev], int(scored.best_chunk[at]))
        if least <= most[at]:  # else it is cut even inside of its best chunk
            text[at] = max(int(text[at]), least)
    rooms = [Room(*pair) for pair in zip(longest.tolist(), most.tolist(), strict=True)]
    return Costs((text + _BLANK_LINE).tolist(), citation.tolist(), whole.tolist()), rooms


def _names_cost(page: PageRecord) -> int:
    return _KEYS_COST + 3 * name_cost(page.slug) + name_cost(page.title) + 2 * len(page.canonical_id)


def _twins_cost(pages: Sequence[PageRecord]) -> int:
    """Return what a note costs that names the pages with the same text."""
    return _TWINS_COST + sum(name_cost(page.slug) for page in pages[:TWINS_SHOWN]) if pages else 0


def _set_repeats_aside(
    reading: Reading,
    scored: Scored,
    spans: list[Span],
    probability: Floats,
    twins: dict[int, list[PageRecord]],
) -> bool:
    """Rule out what nearly repeats a likelier section of another page; tells whether there was any."""
    pieces = {at: text for span in spans for at, text in zip(span.sections, span.pieces, strict=True)}
    order = sorted(pieces, key=lambda at: (-probability[at], at))
    pages = [int(scored.rev[at]) for at in order]
    near = near_duplicates([pieces[at] for at in order], pages)
    for repeat, first in near.items():
        probability[order[repeat]] = 0.0
        twins.setdefault(order[first], []).append(page_at(reading, scored, order[repeat]))
    return bool(near)


def _fitting(spans: list[Span], room: int, size_of: Callable[[Span], int]) -> list[Span]:
    """Keep the spans that fit and say something, the best first."""
    kept: list[Span] = []
    for span in spans:
        if span.text and (size := size_of(span)) <= room:
            kept.append(span)
            room -= size
    return kept


def page_of(reading: Reading, rev: int) -> PageRecord:
    """Return the page of a scored section's rev."""
    page = reading.page_by_rev(rev)
    assert page is not None, "scored sections are of visible pages"
    return page


def page_at(reading: Reading, scored: Scored, at: int) -> PageRecord:
    """Return the page that a scored section stands on."""
    return page_of(reading, int(scored.rev[at]))
