"""Property lines of an outliner's markdown: ``key:: value`` for a whole page or below a bullet.

Those at the head of a page are its properties, as frontmatter is; those of a block are no body text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wikimcp.markdown.inline import Ranges

_PROPERTY = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>[-*+][ \t]+)?(?P<key>[^\s:`\[\](){}\"'<>#]+)::"
    r"(?:[ \t]+(?P<value>[^\r\n]*))?(?:\r?\n|\r|\Z)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?(`{3,}|~{3,})([^\r\n]*)$", re.MULTILINE)
_ITEMS = re.compile(r"(?:\[\[[^\[\]\n]*\]\]|#\[\[[^\[\]\n]*\]\]|[^,，])+")
_BLANKS = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*")
_TAG = re.compile(r"(?<!\S)#(?:\[\[([^\[\]\n]+)\]\]|([^\s#,;.!?()\[\]{}\"']+))")
_NAMES_IN = re.compile(r"\[\[([^\[\]\n]+)\]\]|(?<![^\s,(])#([^\s#,;.!?()\[\]{}\"']+)")


@dataclass(frozen=True, slots=True)
class PropertyLine:
    """One ``key:: value`` line as ``[start, end)`` of the text; ``key`` as written, ``value`` trimmed."""

    key: str
    value: str
    start: int
    end: int


def page_properties(text: str, start: int) -> tuple[list[PropertyLine], int]:
    """Return the property lines at the head of a body that begins at ``start``, and where they end.

    They end where ``start`` is when what follows hangs below them: a bullet's children need it.
    """
    found: list[PropertyLine] = []
    at = start
    while match := _PROPERTY.match(text, _after_blanks(text, at) if not found else at):
        found.append(_line(match))
        at = match.end()
    following = _after_blanks(text, at)
    return found, start if text[following : following + 1] in (" ", "\t") else at


def block_properties(text: str, start: int) -> list[PropertyLine]:
    """Return the property lines of a body, but for those in fenced code."""
    if "::" not in text:
        return []
    lines = [_line(match) for match in _PROPERTY.finditer(text, start)]
    if not lines or ("```" not in text and "~~~" not in text):
        return lines
    code = Ranges(_fences(text, start))
    return [line for line in lines if not code.hold(line.start)]


def property_names(value: str) -> list[str]:
    """Return what a value like that of ``tags::`` names: its parts, without brackets and ``#``."""
    names = []
    for part in _ITEMS.findall(value):
        written = _NAMES_IN.findall(part)
        names += [page or tag for page, tag in written] if written else [part.strip()]
    return [name for name in names if name]


def mentioned_names(values: Iterable[str]) -> list[str]:
    """Return the tags (``#tag``, ``#[[two words]]``) that stand in values."""
    return [page or tag for value in values for page, tag in _TAG.findall(value)]


def _line(match: re.Match[str]) -> PropertyLine:
    start = match.start() if not match["bullet"] else match.start("key")
    return PropertyLine(match["key"], (match["value"] or "").strip(), start, match.end())


def _after_blanks(text: str, at: int) -> int:
    """Return where the first line that is not blank begins."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _fences(text: str, start: int) -> list[tuple[int, int]]:
    """Return the ranges of fenced code; one that is never closed runs to the end."""
    ranges: list[tuple[int, int]] = []
    opened, mark = -1, ""
    for match in _FENCE.finditer(text, start):
        if opened < 0:
            opened, mark = match.start(), match[1]
        elif match[1].startswith(mark) and not match[2].strip():
            ranges.append((opened, match.end()))
            opened = -1
    return [*ranges, (opened, len(text))] if opened >= 0 else ranges
