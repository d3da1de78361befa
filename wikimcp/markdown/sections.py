"""Sections of a page: every heading with its own text and with all below it, as whole lines of the file."""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.markdown.events import HeadingMark
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Section, Span


def build_sections(
    body: str, headings: Sequence[HeadingMark], *, offset: int, lines: LineIndex
) -> tuple[Section, ...]:
    """Build the sections of a body that begins at ``offset`` of the file.

    Blank lines at the end of a section belong to none. The text before the first heading is a section
    of level 0, where there is any.
    """
    starts: list[int] = []
    kept: list[HeadingMark] = []
    for heading in headings:
        start = body.rfind("\n", 0, heading.start) + 1
        if not starts or start > starts[-1]:
            starts.append(start)
            kept.append(heading)
    spans = [
        _whole_lines(body, start, end, offset, lines)
        for start, end in zip(starts, [*starts[1:], len(body)], strict=False)
    ]
    sections = _lead(body, starts[0] if starts else len(body), offset, lines)
    seen: dict[tuple[str, ...], int] = {}
    subtrees = _subtrees([heading.level for heading in kept], spans)
    parents: list[tuple[int, tuple[str, ...]]] = []
    for heading, own, subtree in zip(kept, spans, subtrees, strict=True):
        while parents and parents[-1][0] >= heading.level:
            parents.pop()
        path = (*parents[-1][1], heading.text) if parents else (heading.text,)
        parents.append((heading.level, path))
        seen[path] = duplicate = seen.get(path, 0) + 1
        sections.append(Section(len(sections), heading.level, path, duplicate, own, subtree))
    return tuple(sections)


def _lead(body: str, end: int, offset: int, lines: LineIndex) -> list[Section]:
    text = body[:end]
    blank = len(text) - len(text.lstrip())
    if blank == len(text):
        return []
    span = _whole_lines(body, body.rfind("\n", 0, blank) + 1, end, offset, lines)
    return [Section(0, 0, (), 1, span, span)]


def _whole_lines(body: str, start: int, end: int, offset: int, lines: LineIndex) -> Span:
    """Return the span from ``start`` to the end of the last line before ``end`` that is not blank."""
    last = start + len(body[start:end].rstrip())
    stop = body.find("\n", last, end) + 1 or end
    first_line = lines.line(start + offset)
    return Span(start + offset, stop + offset, first_line, lines.line(max(last - 1, start) + offset))


def _subtrees(levels: Sequence[int], spans: Sequence[Span]) -> list[Span]:
    """Return for each section its span grown to the last section below it."""
    result = list(spans)
    open_above: list[int] = []
    for index, level in enumerate((*levels, 0)):  # the level at the end closes all that is open
        while open_above and levels[open_above[-1]] >= level:
            position = open_above.pop()
            if position != index - 1:
                own, end = spans[position], spans[index - 1]
                result[position] = Span(own.start, end.end, own.first_line, end.last_line)
        open_above.append(index)
    return result
