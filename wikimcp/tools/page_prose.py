"""The prose of a page: its paragraphs and list items outside of code and tables, with where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wikimcp.models import Section

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(?P<mark>`{3,}|~{3,})")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_LEADING = re.compile(r"(?m)^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_NO_PROSE = re.compile(r"[ \t>]*(?:\||<|\[\^?[^\]]+\]:|%%|#{1,6}(?:\s|$)|[-=*_]{3,}[ \t]*$|\[![^\]]*\])")


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters ``[start, end)`` of a text: a paragraph, or a list item with all that belongs to it."""

    start: int
    end: int


def paragraphs(text: str, section: Section) -> Iterator[Passage]:
    """Yield the paragraphs and list items of a section's own text, without code, tables and headings."""
    start = end = -1
    for line_start, line_end, prose in _lines(text, section):
        line = text[line_start:line_end]
        if not prose or not line.strip() or _NO_PROSE.match(line):
            if start >= 0:
                yield Passage(start, end)
            start = -1
            continue
        if start >= 0 and _ITEM.match(line):
            yield Passage(start, end)
            start = -1
        start, end = (line_start if start < 0 else start), line_end
    if start >= 0:
        yield Passage(start, end)


def list_items(text: str, section: Section, *, ordered: bool) -> list[Passage]:
    """Return the outermost items of the lists in a section, each with what belongs to it: code above all."""
    items: list[Passage] = []
    start, end, indent, after_blank = -1, -1, 0, False
    for line_start, line_end, prose in _lines(text, section):
        line = text[line_start:line_end]
        if not line.strip():
            after_blank = True
            continue
        item = _ITEM.match(line) if prose else None
        depth = len(line) - len(line.lstrip(" \t"))
        goes_on = not prose or depth > indent or not (item or after_blank)
        if start >= 0 and not goes_on:
            items.append(Passage(start, end))
            start = -1
        if start < 0 and item and item["mark"][0].isdigit() == ordered:
            start, indent = line_start, depth
        end, after_blank = line_end, False
    if start >= 0:
        items.append(Passage(start, end))
    return items


def said(text: str, passage: Passage) -> str:
    """Return a passage as plain text: list marks and quote marks at the beginning of lines left out."""
    return _LEADING.sub("", text[passage.start : passage.end]).strip()


def _lines(text: str, section: Section) -> Iterator[tuple[int, int, bool]]:
    """Yield the lines of a section below its heading as (start, end, whether outside of a fence)."""
    start = section.own.start
    if section.level:
        found = _LINE.match(text, start, section.own.end)
        start = found.end() if found else start
    mark = ""
    while start < section.own.end:
        found = _LINE.match(text, start, section.own.end)
        end = found.end() if found and found.end() > start else section.own.end
        fence = _FENCE.match(text, start, end)
        inside = bool(mark)
        if fence and not mark:
            mark, inside = fence["mark"], True
        elif fence and fence["mark"][0] == mark[0] and len(fence["mark"]) >= len(mark):
            mark = ""
        yield start, end, not inside
        start = end
