"""Anchors that a page writes out, as documentation does: what a link may mean by ``#x`` beside headings.

``## Title {#x}`` and ``{: #x}`` of markdown's extensions, and elements of HTML with an id (``<a name>`` too).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from wikimcp.markdown.events import HeadingMark, Outline
from wikimcp.markdown.inline import InlineMarks
from wikimcp.models import Anchor

MOST_ANCHORS = 5_000

_TAGS = re.compile(r"<[^<>]*>|\s+")
_NEAR = 2_000
"""Characters between an anchor and the heading it stands before."""


def read_anchors(
    body: str,
    outline: Outline,
    marks: InlineMarks,
    headings: Sequence[HeadingMark],
    *,
    offset: int,
    comments: Sequence[tuple[int, int]],
) -> tuple[Anchor, ...]:
    """Return the anchors of a body in order, the first of each name; those in comments are none.

    One that stands right before a heading is that heading's. ``comments`` are ranges of the file.
    """
    found = [*outline.html_anchors(), *marks.anchors]
    if not found:
        return ()
    starts = [heading.start for heading in headings]
    hidden = [start for start, _ in comments]
    anchors: dict[str, Anchor] = {}
    for at, name in sorted(found)[:MOST_ANCHORS]:
        within = bisect_right(hidden, at + offset) - 1
        if within < 0 or at + offset >= comments[within][1]:
            anchors.setdefault(name, Anchor(name, _meant(body, at, starts) + offset))
    return tuple(sorted(anchors.values(), key=lambda anchor: anchor.start))


def _meant(body: str, at: int, starts: Sequence[int]) -> int:
    """Return where the heading begins that an anchor stands right before, else the anchor's own place."""
    following = bisect_right(starts, at)
    if following == len(starts) or starts[following] - at > _NEAR:
        return at
    if following and 0 <= at < body.find("\n", starts[following - 1]):
        return at  # it stands on the line of the heading before
    return at if _TAGS.sub("", body[at : starts[following]]) else starts[following]
