"""Late interaction over static token vectors: whether a text holds words close to each one asked.

For each distinct token of the question the best cosine among the text's tokens, averaged with the
tokens' idf as weights (MaxSim of ColBERT, over a static table: Khattab and Zaharia 2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikimcp.ports import Vectors

MOST_QUERY_TOKENS = 24
LATE_DIMENSIONS = 128  # leading dimensions of the static vectors: as good as all 256, half the work


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """A question's tokens: their unit vectors (tokens x dimensions) and weights that sum to 1."""

    vectors: Vectors
    weights: Vectors
    table: Vectors


def query_tokens(token_ids: NDArray[np.int64], table: Vectors, idf: Vectors) -> QueryTokens | None:
    """Prepare a question's tokens; ``table`` has unit rows. None when it has no token."""
    ids = np.unique(token_ids)
    if not len(ids):
        return None
    if len(ids) > MOST_QUERY_TOKENS:
        ids = ids[np.argsort(-idf[ids], kind="stable")[:MOST_QUERY_TOKENS]]
    weights = idf[ids]
    return QueryTokens(table[ids], weights / weights.sum(), table)


def late_scores(
    query: QueryTokens, flat: NDArray[np.uint16], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Vectors:
    """Return the score of each text whose distinct tokens are ``flat[start:end]``; 0 for an empty one."""
    lengths = ends - starts
    scores = np.zeros(len(starts), np.float32)
    filled = np.flatnonzero(lengths > 0)
    if not len(filled):
        return scores
    sizes = lengths[filled]
    offsets = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    tokens = flat[np.repeat(starts[filled] - offsets, sizes) + np.arange(sizes.sum())]
    # An id that is beyond the table was never written: a bit of the file is not what it was.
    tokens = np.where(tokens < len(query.table), tokens, 0)
    # The texts share most of their tokens: each is compared with the question once.
    occurs = np.zeros(len(query.table), bool)
    occurs[tokens] = True
    present = np.flatnonzero(occurs)
    place = np.zeros(len(query.table), np.int32)
    place[present] = np.arange(len(present))
    similarity = np.maximum(query.table[present] @ query.vectors.T, 0.0)
    best = np.maximum.reduceat(similarity.take(place[tokens], axis=0), offsets, axis=0)
    scores[filled] = best @ query.weights
    return scores
