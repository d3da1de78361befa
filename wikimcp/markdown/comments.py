"""Where a body holds what no reader sees: comments in ``%%`` marks or of HTML, and the bytes of pictures.

Their text is neither searched nor embedded nor part of a returned passage; spans, lines and hashes stay
those of the file. Links in them are read, and flagged, elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wikimcp.markdown.events import Outline
from wikimcp.markdown.inline import Ranges

Spans = tuple[tuple[int, int], ...]

# ``[//]: # (text)``: a reference definition that nothing refers to, as writers of plain markdown comment.
_DEFINITION = re.compile(
    r"^ {0,3}\[(?://|comment|_|\^_\^)\]:[ \t]*(?:#|<>|<#>)[ \t]+(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_DATA = re.compile(r"data:[\w/+.-]{0,80};base64,([A-Za-z0-9+/=]{200,})")
_MARGIN = 80  # characters that are looked at around a comment
_CLOSED = re.compile(r"<!--.*?-->", re.DOTALL)


def comment_spans(body: str, outline: Outline, marked: Ranges) -> Spans:
    """Return the comments and embedded data of a body, sorted and apart.

    ``marked`` are the comments between ``%%`` marks.
    A comment that has its lines for itself takes the last line's end with it.
    """
    spans = marked.spans() if marked else []
    if "<!--" in body:
        spans += (m.span() for m in _CLOSED.finditer(body)) if outline.failed else _html(body, outline)
    if "]:" in body:
        spans += (m.span() for m in _DEFINITION.finditer(body) if not outline.is_opaque(m.start()))
    if ";base64," in body:  # a picture's bytes are no text; what is around them stays
        spans += (m.span(1) for m in _DATA.finditer(body))
    return joined(_own_lines(body, *span) for span in spans) if spans else ()


def joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """Return spans sorted, those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def _html(body: str, outline: Outline) -> Iterator[tuple[int, int]]:
    """Yield the HTML comments; one that is never closed reaches as far as its block."""
    reached, closed = 0, 0
    for start, block_end in outline.html_comments():
        if start >= reached:
            closed = body.find("-->", start + 2) if closed >= 0 else closed
            reached = closed + 3 if closed >= 0 else max(block_end, start)
            yield start, reached


def _own_lines(body: str, start: int, end: int) -> tuple[int, int]:
    """Return a span with the end of its last line, if nothing but a little indentation shares its lines."""
    line_start = body.rfind("\n", max(start - _MARGIN, 0), start) + 1
    line_end = body.find("\n", end, end + _MARGIN)
    line_end = min(len(body), end + _MARGIN) if line_end < 0 else line_end
    begins = line_start > 0 or start <= _MARGIN
    ends = body[line_end : line_end + 1] in ("\n", "")
    if not begins or not ends or body[line_start:start].strip(" \t>") or body[end:line_end].strip():
        return start, end
    return start, min(line_end + 1, len(body))
