"""From runs of scored sections to spans of files: text, citation, cut where a section is too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wikimcp.index.view import PageRecord, Reading
from wikimcp.models import Citation, Section
from wikimcp.ports import LexicalTerm
from wikimcp.retrieval.relevance import Scored
from wikimcp.retrieval.selection import Run
from wikimcp.retrieval.sizes import QUARTERS, text_cost
from wikimcp.retrieval.traits import Outline
from wikimcp.tools.passages import part_within

_LINE = re.compile(r"[^\r\n]*[\r\n]+")

Window = tuple[int, int]
"""Characters of a file, from and to."""


@dataclass(frozen=True, slots=True)
class Room:
    """Quarters that one section may take: ``usual`` where it can be cut at blocks, ``most`` by all means."""

    usual: int
    most: int


@dataclass(frozen=True, slots=True)
class Span:
    """One returned piece of a page, from ``start`` to ``end`` of its file.

    ``truncated`` when its section goes on before or behind it. ``text`` and ``pieces`` (the texts of the
    run's sections, in order) are without comments, which ``without_comments`` tells; the citation is that
    of the whole range.
    """

    run: Run
    page: PageRecord
    heading_path: tuple[str, ...]
    text: str
    pieces: tuple[str, ...]
    truncated: bool
    without_comments: bool
    start: int
    end: int
    citation: Citation

    @property
    def sections(self) -> range:
        """The positions of its sections among the scored ones."""
        return range(self.run.first, self.run.last)


def cut_span(
    reading: Reading, scored: Scored, run: Run, *, room: Room, terms: Sequence[LexicalTerm] = ()
) -> Span:
    """Read the span of a run; a single section that costs too much is cut around its hit.

    Raises Stale when the page moved on.
    """
    rev = int(scored.rev[run.first])
    page = reading.page_by_rev(rev)
    assert page is not None, "scored sections are of visible pages"
    text = reading.text(page)
    sections = reading.sections(page)
    chosen = [sections[int(at)] for at in scored.section[run.first : run.last]]
    start, end = chosen[0].own.start, chosen[-1].own.end
    truncated = False
    if len(chosen) == 1 and int(scored.text_cost[run.first]) > room.usual:
        shape, best = reading.outlines([rev])[rev], int(scored.best_chunk[run.first])
        window = _window(shape, best, text, most=room.usual)
        if text_cost(reading.shown(page, text, *window)) > room.most:
            window = part_within(text, *window, tokens=room.usual // QUARTERS, terms=terms)
        truncated = window != (start, end)
        start, end = window
    start, end = _trimmed(text, start, end)
    path = common_path(chosen)
    span = reading.shown(page, text, start, end)
    return Span(
        run=run,
        page=page,
        heading_path=path,
        text=span,
        pieces=(span,)
        if len(chosen) == 1
        else tuple(reading.shown(page, text, s.own.start, s.own.end) for s in chosen),
        truncated=truncated,
        without_comments=len(span) < end - start,
        start=start,
        end=end,
        citation=reading.cite(page, text, start, end, path),
    )


def common_path(sections: Sequence[Section]) -> tuple[str, ...]:
    """Return the heading whose subtree holds all the sections: what the citation names.

    ``sections`` follow one another and the first stands above or beside the rest.
    """
    first, last = sections[0], sections[-1]
    if first.subtree.end >= last.own.end:
        return first.heading_path
    return first.heading_path[:-1]


def least_cost(shape: Outline, best: int) -> int:
    """Estimate the quarters of a section's best chunk, the least that is returned of it."""
    section = int(shape.chunk_section[best])
    own = shape.chunk_section == section
    whole = int(shape.chunk_end[own].max()) - int(shape.chunk_start[own].min())
    part = int(shape.chunk_end[best]) - int(shape.chunk_start[best])
    return -(-int(shape.text_cost[section]) * part // max(whole, 1))


def _window(shape: Outline, best: int, text: str, *, most: int) -> Window:
    """Grow from chunk ``best`` to both sides within its section while that costs at most ``most``.

    A chunk that costs more by itself is returned whole: whether it must be cut inside is not known here.
    """
    section = shape.chunk_section[best]
    first = last = best
    grew = True
    while grew:
        grew = False
        for low, high in ((first - 1, last), (first, last + 1)):
            if low < 0 or high >= len(shape.chunk_section):
                continue
            if shape.chunk_section[low] != section or shape.chunk_section[high] != section:
                continue
            if text_cost(text[shape.chunk_start[low] : shape.chunk_end[high]]) <= most:
                first, last = low, high
                grew = True
    start, end = int(shape.chunk_start[first]), int(shape.chunk_end[last])
    return _whole_lines(text, start, end, most=most)


def _whole_lines(text: str, start: int, end: int, *, most: int) -> Window:
    """Bring a window to the ends of lines, since a chunk of a long paragraph may begin or end inside one.

    It is widened where it may cost that much, else narrowed; a window within one line stays as it is.
    """
    wide_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    ends = [at for mark in "\r\n" if (at := text.find(mark, end)) >= 0]
    wide_end = end if text[end - 1] in "\r\n" else min(ends, default=len(text))
    if text_cost(text[wide_start:wide_end]) <= most:
        return wide_start, wide_end
    after = _LINE.match(text, start, end) if wide_start < start else None
    narrow_start = after.end() if after is not None else start
    narrow_end = (
        max(text.rfind("\n", start, end), text.rfind("\r", start, end)) + 1 if wide_end > end else end
    )
    return (narrow_start, narrow_end) if 2 * (narrow_end - narrow_start) > end - start else (start, end)


def _trimmed(text: str, start: int, end: int) -> Window:
    """Leave the blank lines at both ends out of the span."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start] in "\r\n":
        start += 1
    return start, end
