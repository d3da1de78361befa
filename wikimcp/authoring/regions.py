"""The parts of a page that are generated: what stands between two markers, and nothing else.

A region opens with ``<!-- wikimcp:begin NAME -->`` and ends with ``<!-- wikimcp:end NAME -->``. Only real
comments are markers: a page may show them in code. Where a region is not closed before the next begins,
none of its name is touched.

The region ``symbols`` lists what the page's sources declare, each with its lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wikimcp.authoring.anchors import anchor_text, fragment_of
from wikimcp.authoring.pages import source_resource
from wikimcp.authoring.symbols import Symbol
from wikimcp.authoring.workspace import Workspace
from wikimcp.markdown.events import read_outline
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.lenient import line_feeds
from wikimcp.models import Diagnostic

SYMBOLS = "symbols"
MOST_SYMBOLS = 400
"""Symbols that one region lists; how many more there are is said."""

_SIGN = "<!-- wikimcp:"
_MARKER = re.compile(r"<!-- wikimcp:(begin|end) ([a-z][a-z0-9-]*) -->")


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its name, and the characters between the line of its first marker and its last marker."""

    name: str
    start: int
    end: int


def find_regions(text: str) -> tuple[list[Region], list[Diagnostic]]:
    """Return the regions of a page in order, and what is wrong with its markers."""
    if _SIGN not in text:
        return [], []
    start = parse_frontmatter(text).body_start
    body = line_feeds(text[start:])
    regions: list[Region] = []
    faults: list[Diagnostic] = []
    opened: re.Match[str] | None = None
    comments = [place for place, _ in read_outline(body).html_comments()]
    for marker in (found for place in comments if (found := _MARKER.match(body, place))):
        if marker[1] == "begin" and opened is None:
            opened = marker
        elif marker[1] == "end" and opened is not None and opened[2] == marker[2]:
            inner = body.find("\n", opened.end()) + 1
            if 0 < inner <= marker.start():
                regions.append(Region(marker[2], start + inner, start + marker.start()))
            else:
                faults.append(_fault(text, start + opened.start(), "holds both its markers on one line"))
            opened = None
        else:
            faults.append(_fault(text, start + marker.start(), "has no partner, or stands in another region"))
    if opened is not None:
        faults.append(_fault(text, start + opened.start(), "is not closed"))
    return ([] if faults else regions), faults


def region_spans(text: str) -> list[tuple[int, int]]:
    """Return where the generated parts of a page stand."""
    return [(region.start, region.end) for region in find_regions(text)[0]]


def with_region(text: str, name: str, inner: str) -> str:
    """Return the text with all regions of a name holding ``inner``; line ends are those of the file."""
    newline = "\r\n" if "\r\n" in text else "\n"
    for region in reversed(find_regions(text)[0]):
        if region.name == name:
            text = text[: region.start] + inner.replace("\n", newline) + text[region.end :]
    return text


def symbol_list(
    workspace: Workspace,
    page: str,
    sources: Sequence[tuple[str, int, int]],
    symbols_of: Callable[[str], Sequence[Symbol] | None],
) -> str | None:
    """Return the inner text of the region ``symbols`` for sources (path, first and last line or 0).

    No more files are read than are needed to fill it. None when symbols of one cannot be read.
    """
    wanted: dict[str, list[tuple[int, int]]] = {}
    for path, first, last in sources:
        wanted.setdefault(path, []).append((first, last))
    lines: list[str] = []
    left, files = MOST_SYMBOLS, len(wanted)
    for path, spans in wanted.items():
        if not left:
            break
        files -= 1
        if (symbols := symbols_of(path)) is None:
            return None
        inside = [symbol for symbol in symbols if _within(symbol, spans)]
        if inside:
            link = source_resource(workspace, page, path)
            lines += ["", f"[`{_plain(path)}`]({link})", "", *_entries(path, link, inside[:left])]
        if len(inside) > left:
            lines += ["", f"{len(inside) - left} more of this file are not listed."]
        left = max(left - len(inside), 0)
    if files:
        lines += ["", f"{files} more file{'' if files == 1 else 's'} are not listed."]
    return "\n".join([*lines, "", ""]) if lines else "\nNo symbols.\n\n"


def _within(symbol: Symbol, spans: Sequence[tuple[int, int]]) -> bool:
    """Say whether a symbol has a line in one of the ranges that its page speaks of."""
    return any(not first or (first <= symbol.last and symbol.first <= last) for first, last in spans)


def _entries(path: str, link: str, symbols: Sequence[Symbol]) -> Iterator[str]:
    """Yield a list item for each symbol, members under the symbol whose they are."""
    around: list[str] = []
    for symbol in symbols:
        while around and not symbol.name.startswith((f"{around[-1]}.", f"{around[-1]}::")):
            around.pop()
        anchor = anchor_text(path, symbol.first, symbol.last)
        target = f"{link}#{fragment_of(symbol.first, symbol.last)}"
        yield f"{'  ' * len(around)}* {symbol.kind} `{symbol.name}` [`{_plain(anchor)}`]({target})"
        around.append(symbol.name)


def _plain(text: str) -> str:
    """Return a path as it can stand in a code span."""
    return text.replace("`", "'")


def _fault(text: str, at: int, what: str) -> Diagnostic:
    return Diagnostic(
        "region_unclosed", f"a marker of a generated region {what}", text.count("\n", 0, at) + 1
    )
