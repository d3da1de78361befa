"""Headings of a page set deeper, so that it can stand inside another text whose headings are above.

Where the headings are is what the parser found: a line in a code fence that looks like one stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wikimcp.models import Section

_DEEPEST = 6
_MARKS = re.compile(r"(?P<before>[ \t>*+\-0-9.)]*)(?P<marks>#{1,6})(?=[ \t\r\n]|\Z)")
_UNDERLINED = re.compile(
    r"[ \t]*(?P<text>\S[^\r\n]*(?:\r?\n[ \t]*\S[^\r\n]*)*?)\r?\n[ \t]{0,3}(?:=+|-+)[ \t]*(?=[\r\n]|\Z)"
)
_LINE_ENDS = re.compile(r"[ \t]*\r?\n[ \t]*")


def demoted(text: str, start: int, end: int, *, sections: Iterable[Section], below: int) -> str:
    """Return ``text[start:end]`` with every heading ``below`` levels deeper, at most the sixth.

    An underlined heading becomes one with marks. ``sections`` are those of the whole text, in order.
    """
    parts: list[str] = []
    at = start
    for section in sections:
        place = section.own.start
        if place >= end:
            break
        if not section.level or place < at:
            continue
        if found := _MARKS.match(text, place, end):
            level = min(len(found["marks"]) + below, _DEEPEST)
            parts += [text[at:place], found["before"], "#" * level]
            at = found.end()
        elif found := _UNDERLINED.match(text, place, min(end, section.own.end)):
            level = min(section.level + below, _DEEPEST)
            parts += [text[at:place], f"{'#' * level} {_LINE_ENDS.sub(' ', found['text'])}"]
            at = found.end()
    return "".join((*parts, text[at:end]))
