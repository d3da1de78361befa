"""Telling texts that say the same: exact by their key, near by the words they share."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wikimcp.markdown.tokens import CJK
from wikimcp.retrieval.relevance import Scored
from wikimcp.retrieval.sizes import QUARTERS

T = TypeVar("T")

_NEAR = 0.9  # Jaccard of word pairs from which two texts are the same to a reader
_NEAR_WORDS = 0.8  # Jaccard of words below which their pairs need not be compared
_FEW_WORDS = 12  # short texts are alike by chance
_SHORT = 15 * QUARTERS  # a text shorter than this may stand twice
_WORD = re.compile(r"\w+")
_ASCII_WORDS = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))


def repeated(scored: Scored) -> tuple[NDArray[np.bool_], dict[int, list[int]]]:
    """Return which sections repeat the text of a better one, and for each better one its repeats."""
    mask = np.zeros(len(scored), bool)
    repeats: dict[int, list[int]] = {}
    best: dict[int, int] = {}
    for at in np.argsort(-scored.score, kind="stable").tolist():
        if scored.text_cost[at] < _SHORT:
            continue
        first = best.setdefault(int(scored.text_key[at]), at)
        if first != at:
            mask[at] = True
            repeats.setdefault(first, []).append(at)
    return mask, repeats


def same_text(scored: Scored, positions: Collection[int]) -> set[int]:
    """Return the sections with the text of one of ``positions``, short texts left out."""
    keys = {int(scored.text_key[at]) for at in positions if scored.text_cost[at] >= _SHORT}
    if not keys:
        return set()
    return set(np.flatnonzero(np.isin(scored.text_key, list(keys))).tolist())


def near_duplicates(texts: Sequence[str], pages: Sequence[int]) -> dict[int, int]:
    """Return, for each text that nearly repeats an earlier one of another page, where that one is."""
    by_length = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    lengths = [_NEAR * len(texts[at]) for at in by_length]
    first_of: dict[int, int] = {}
    for place, at in enumerate(by_length):
        # What is longer than about ten in nine of a text has too much that is not in it.
        for other in by_length[place + 1 : bisect_right(lengths, len(texts[at]), place + 1)]:
            if pages[at] != pages[other] and _alike(_words(texts[at]), _words(texts[other])):
                first, later = sorted((at, other))
                first_of[later] = min(first, first_of.get(later, first))
    # What repeats a repeat is left for another round: the text it is compared with may yet go.
    return {later: first for later, first in first_of.items() if first not in first_of}


def _alike(one: _Words, other: _Words) -> bool:
    """Tell whether two texts of about one length are nearly the same; the cheap tests come first."""
    few, many = sorted((len(one.distinct), len(other.distinct)))
    if few < _NEAR_WORDS * many or min(len(one.order), len(other.order)) < _FEW_WORDS:
        return False
    return (
        _jaccard(one.distinct, other.distinct) >= _NEAR_WORDS
        and _jaccard(_pairs(one), _pairs(other)) >= _NEAR
    )


class _Words(NamedTuple):
    order: Sequence[str]
    distinct: frozenset[str]


@lru_cache(maxsize=96)
def _words(text: str) -> _Words:
    if text.isascii():
        words = text.translate(_ASCII_WORDS).split()  # the same words, three times as quickly
    else:
        words = _WORD.findall(CJK.sub(r" \g<0> ", text.casefold()))  # a CJK character is a word
    return _Words(words, frozenset(words))


def _pairs(words: _Words) -> set[tuple[str, str]]:
    return set(zip(words.order, words.order[1:], strict=False))


def _jaccard(first: AbstractSet[T], second: AbstractSet[T]) -> float:
    shared = len(first & second)
    return shared / max(len(first) + len(second) - shared, 1)
