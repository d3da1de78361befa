"""The part of a text too long to be shown whole: around a word that was asked for, at whole lines.

What is cut here is larger by itself than what may be returned: a fence, a table row, a line without end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wikimcp.ports import LexicalTerm
from wikimcp.tools.page_parts import cut_at

_BEFORE = 200  # characters of a line without end that are shown before the word


def part_within(
    text: str, start: int, end: int, *, tokens: int, terms: Sequence[LexicalTerm]
) -> tuple[int, int]:
    """Return the range of at most ``tokens`` JSON tokens that shows the weightiest of ``terms`` it can.

    It begins with a line, or inside of one that is longer than what fits; without a match with the range.
    """
    ranked = sorted(terms, key=lambda term: -term.weight)
    matches = (re.compile(re.escape(t.surface), re.IGNORECASE).search(text, start, end) for t in ranked)
    match = next((match for match in matches if match is not None), None)
    if match is not None:
        line = max(text.rfind("\n", start, match.start()), text.rfind("\r", start, match.start())) + 1
        first = max(line, start)
        if match.end() - first > 2 * tokens:  # half of what fits, at four characters a token
            near = max(match.start() - _BEFORE, start)
            blank = max(text.rfind(" ", near, match.start()), text.rfind("\t", near, match.start()))
            first = blank + 1 if blank >= 0 else match.start()
        start = first
    return start, cut_at(text, start, end, tokens=tokens, borders=())
