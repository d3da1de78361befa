"""From runs of scored sections to spans of files: text, citation, cut where a section is too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikimcp.index.view import PageRecord, Reading
from wikimcp.models import Citation, Section
from wikimcp.retrieval.relevance import Scored
from wikimcp.retrieval.selection import Run
from wikimcp.retrieval.traits import Outline


@dataclass(frozen=True, slots=True)
class Span:
    """One returned piece of a page. ``truncated`` when its section goes on before or behind it."""

    run: Run
    page: PageRecord
    heading_path: tuple[str, ...]
    text: str
    start: int
    end: int
    truncated: bool
    citation: Citation


def cut_span(reading: Reading, scored: Scored, run: Run, *, longest: int) -> Span:
    """Read the span of a run; a single section over ``longest`` tokens is cut around its best chunk.

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
    if len(chosen) == 1 and int(scored.tokens[run.first]) > longest:
        shape = reading.outlines([rev])[rev]
        start, end = _window(shape, int(scored.best_chunk[run.first]), text, longest=longest)
        truncated = True
    start, end = _trimmed(text, start, end)
    path = common_path(chosen)
    return Span(
        run=run,
        page=page,
        heading_path=path,
        text=text[start:end],
        start=start,
        end=end,
        truncated=truncated,
        citation=reading.cite(page, text, start, end, path),
    )


def common_path(sections: Sequence[Section]) -> tuple[str, ...]:
    """Return the heading whose subtree holds all the sections: what the citation names."""
    path = sections[0].heading_path
    for section in sections[1:]:
        shared = 0
        for mine, other in zip(path, section.heading_path, strict=False):
            if mine != other:
                break
            shared += 1
        path = path[:shared]
    return path


def _window(shape: Outline, best: int, text: str, *, longest: int) -> tuple[int, int]:
    """Grow from the best chunk to both sides within its section while it stays under the limit."""
    section = shape.chunk_section[best]
    first = last = best
    characters = longest * 4
    grew = True
    while grew:
        grew = False
        for step in (-1, 1):
            beside = first - 1 if step < 0 else last + 1
            if not 0 <= beside < len(shape.chunk_section) or shape.chunk_section[beside] != section:
                continue
            start = int(shape.chunk_start[min(first, beside)])
            end = int(shape.chunk_end[max(last, beside)])
            if end - start <= characters:
                first, last = min(first, beside), max(last, beside)
                grew = True
    return int(shape.chunk_start[first]), int(shape.chunk_end[last])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave the blank lines at both ends out of the span."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start] in "\r\n":
        start += 1
    return start, end
