"""Telling texts that say the same: exact by their key, near by the words they share."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikimcp.retrieval.relevance import Scored

_NEAR = 0.9  # Jaccard of word pairs from which two texts are the same to a reader
_TOO_SHORT = 12  # words; short texts are alike by chance
_SHORT_TOKENS = 15
_WORD = re.compile(r"\w+")


def repeated(scored: Scored) -> tuple[NDArray[np.bool_], dict[int, list[int]]]:
    """Return which sections repeat the text of a better one, and for each better one its repeats."""
    mask = np.zeros(len(scored), bool)
    repeats: dict[int, list[int]] = {}
    best: dict[int, int] = {}
    for at in np.argsort(-scored.score, kind="stable").tolist():
        if scored.tokens[at] < _SHORT_TOKENS:
            continue
        first = best.setdefault(int(scored.text_key[at]), at)
        if first != at:
            mask[at] = True
            repeats.setdefault(first, []).append(at)
    return mask, repeats


def near_duplicates(texts: Sequence[str]) -> dict[int, int]:
    """Return, for each text that nearly repeats an earlier one, the position of that earlier one."""
    found: dict[int, int] = {}
    pairs_of: dict[int, set[tuple[str, str]]] = {}
    for at, text in enumerate(texts):
        for before in range(at):
            if before in found or not _alike_in_length(text, texts[before]):
                continue
            for one in (at, before):
                if one not in pairs_of:
                    pairs_of[one] = _word_pairs(texts[one])
            if _jaccard(pairs_of[at], pairs_of[before]) >= _NEAR:
                found[at] = before
                break
    return found


def _alike_in_length(first: str, second: str) -> bool:
    return min(len(first), len(second)) >= 0.8 * max(len(first), len(second))


def _word_pairs(text: str) -> set[tuple[str, str]]:
    words = _WORD.findall(text.casefold())
    return set(zip(words, words[1:], strict=False)) if len(words) >= _TOO_SHORT else set()


def _jaccard(first: set[tuple[str, str]], second: set[tuple[str, str]]) -> float:
    shared = len(first & second)
    return shared / max(len(first) + len(second) - shared, 1)
