"""The passage of a page that is most like a span which is not there any more, and how alike they are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from wikimcp.citations.page_text import PageText, Range
from wikimcp.markdown.tokens import normalise_span

_WORD = re.compile(r"\S+")
_MOST_WORDS = 400  # of a span that is compared
_MOST_COMPARED = 4  # windows that are compared letter by letter
_LEAST = 0.3


@dataclass(frozen=True, slots=True)
class Nearest:
    """A passage and its ``similarity`` (0 to 1: the share of letters in common blocks, as in difflib)."""

    place: Range
    text: str
    similarity: float


def nearest_passage(page: PageText, span: str) -> Nearest | None:
    """Return the passage most like ``span``; None when none shares a third of its words and letters.

    Windows of as many words as the span has are ranked by the words they share with it, the best of
    them by their letters.
    """
    wanted = [word.casefold() for word in normalise_span(span).split()[:_MOST_WORDS]]
    words = [(match.start(), match.end()) for match in _WORD.finditer(page.text, page.body_start)]
    if not wanted or not words:
        return None
    folded = [page.text[start:end].casefold() for start, end in words]
    size = min(len(wanted), len(words))
    best = sorted(_shared(folded, wanted, size), key=lambda found: (-found[0], found[1]))
    target = " ".join(wanted)
    result: Nearest | None = None
    taken: list[int] = []
    for shared, first in best:
        if shared * 3 < len(wanted) or len(taken) >= _MOST_COMPARED:
            break
        if any(abs(first - other) < size // 2 + 1 for other in taken):
            continue
        taken.append(first)
        for at in _around(first, size, len(words)):
            ratio = SequenceMatcher(None, target, " ".join(folded[at : at + size]), autojunk=False).ratio()
            if ratio >= _LEAST and (result is None or ratio > result.similarity):
                place = (words[at][0], words[at + size - 1][1])
                result = Nearest(place, page.text[place[0] : place[1]], ratio)
    return result


def _around(first: int, size: int, count: int) -> range:
    """Return the windows that are compared in place of one: a long one by itself, a short one shifted."""
    if size > 60:
        return range(first, first + 1)
    return range(max(0, first - 2), min(first + 3, count - size + 1))


def _shared(words: list[str], wanted: list[str], size: int) -> list[tuple[int, int]]:
    """Return (words shared with ``wanted``, first word) of every window of ``size`` words."""
    need = Counter(wanted)
    held: Counter[str] = Counter()
    shared = 0
    found: list[tuple[int, int]] = []
    for at, word in enumerate(words):
        if word in need:
            held[word] += 1
            shared += held[word] <= need[word]
        if at >= size and (gone := words[at - size]) in need:
            shared -= held[gone] <= need[gone]
            held[gone] -= 1
        if at >= size - 1:
            found.append((shared, at - size + 1))
    return found
