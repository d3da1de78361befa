"""Merging the hits of two lexical indexes into one ranking."""

from __future__ import annotations

import numpy as np

from wikimcp.ports import LexicalHits


def merge_hits(first: LexicalHits, second: LexicalHits, *, limit: int) -> LexicalHits:
    """Join two rankings by score, at most ``limit`` chunks and pages; terms are those of the first.

    A term that the first index does not know counts as found when the second knows it.
    """
    chunk_order = np.argsort(-np.concatenate((first.chunk_scores, second.chunk_scores)), kind="stable")[
        :limit
    ]
    page_order = np.argsort(-np.concatenate((first.page_scores, second.page_scores)), kind="stable")[:limit]
    known = {term.stem: term for term in second.terms if term.pages}
    return LexicalHits(
        chunk_ids=np.concatenate((first.chunk_ids, second.chunk_ids))[chunk_order],
        chunk_scores=np.concatenate((first.chunk_scores, second.chunk_scores))[chunk_order],
        page_revs=np.concatenate((first.page_revs, second.page_revs))[page_order],
        page_scores=np.concatenate((first.page_scores, second.page_scores))[page_order],
        terms=tuple(term if term.pages else known.get(term.stem, term) for term in first.terms),
        interpreted_as=first.interpreted_as,
    )
