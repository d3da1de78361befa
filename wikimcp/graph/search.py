"""Ranking nodes for a question by BM25 over their names, aliases, properties and summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_K1, _B = 1.2, 0.75  # Robertson and Zaragoza 2009, The Probabilistic Relevance Framework, usual values
WEIGHTS: Mapping[str, int] = {"name": 4, "aliases": 3, "properties": 1, "summary": 1}
"""How often a word counts in each field (BM25F with one length for all fields)."""


class NodeSearch:
    """A small inverted index over nodes, held in memory."""

    def __init__(self, documents: Iterable[tuple[str, Mapping[str, Sequence[str]]]]) -> None:
        self._postings: dict[str, list[tuple[str, int]]] = {}
        self._lengths: dict[str, int] = {}
        for node, fields in documents:
            counts: Counter[str] = Counter()
            for name, terms in fields.items():
                for term in terms:
                    counts[term] += WEIGHTS[name]
            self._lengths[node] = counts.total()
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((node, count))
        self._mean = sum(self._lengths.values()) / len(self._lengths) if self._lengths else 1.0

    def rank(self, terms: Iterable[str]) -> dict[str, float]:
        """Return the score of every node that holds a term; each distinct term counts once."""
        scores: dict[str, float] = {}
        total = len(self._lengths)
        for term in dict.fromkeys(terms):
            found = self._postings.get(term, ())
            if not found:
                continue
            idf = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
            for node, count in found:
                norm = _K1 * (1 - _B + _B * self._lengths[node] / (self._mean or 1.0))
                scores[node] = scores.get(node, 0.0) + idf * count * (_K1 + 1) / (count + norm)
        return scores
