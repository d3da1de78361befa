"""The parts of a page that are generated: what stands between two markers, and nothing else.

A region opens with ``<!-- wikimcp:begin NAME -->`` and ends with ``<!-- wikimcp:end NAME -->``. Only real
comments are markers: a page may show them in code. Where a region is not closed before the next begins,
none of its name is touched.

The region ``symbols`` lists what the page's sources declare, each with its lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wikimcp.authoring.anchors import anchor_text, fragment_of
from wikimcp.authoring.okf import relative_link
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
    symbols_of: Callable[[str], Sequence[Symbol]],
) -> str:
    """Return the inner text of the region ``symbols`` for sources (path, first and last line or 0)."""
    wiki = os.path.relpath(workspace.wiki_root, workspace.workspace_root).replace(os.sep, "/")
    lines: list[str] = []
    left, over = MOST_SYMBOLS, 0
    for path, symbols in _by_file(sources, symbols_of):
        shown, over = symbols[:left], over + len(symbols[left:])
        left -= len(shown)
        if shown:
            link = relative_link(f"{wiki}/{page}", path)
            lines += ["", f"[`{_plain(path)}`]({link})", "", *_entries(path, link, shown)]
    if over:
        lines += ["", f"{over} more are not listed."]
    return "\n".join([*lines, "", ""]) if lines else "\nNo symbols.\n\n"


def _by_file(
    sources: Sequence[tuple[str, int, int]], symbols_of: Callable[[str], Sequence[Symbol]]
) -> Iterator[tuple[str, list[Symbol]]]:
    """Yield each file once with those of its symbols that lie in the lines its page speaks of."""
    wanted: dict[str, list[tuple[int, int]]] = {}
    for path, first, last in sources:
        wanted.setdefault(path, []).append((first, last))
    for path, spans in wanted.items():
        yield (
            path,
            [
                symbol
                for symbol in symbols_of(path)
                if any(not first or (first <= symbol.last and symbol.first <= last) for first, last in spans)
            ],
        )


def _entries(path: str, link: str, symbols: Sequence[Symbol]) -> Iterator[str]:
    """Yield a list item for each symbol, those inside of another under it."""
    around: list[Symbol] = []
    for symbol in symbols:
        while around and around[-1].last < symbol.last:
            around.pop()
        anchor = anchor_text(path, symbol.first, symbol.last)
        target = f"{link}#{fragment_of(symbol.first, symbol.last)}"
        yield f"{'  ' * len(around)}* {symbol.kind} `{symbol.name}` [`{_plain(anchor)}`]({target})"
        around.append(symbol)


def _plain(text: str) -> str:
    """Return a path as it can stand in a code span."""
    return text.replace("`", "'")


def _fault(text: str, at: int, what: str) -> Diagnostic:
    return Diagnostic(
        "region_unclosed", f"a marker of a generated region {what}", text.count("\n", 0, at) + 1
    )
