"""Scored sections made by hand, for the pure functions of retrieval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wikimcp.retrieval.relevance import Scored


def scored_of(
    pages: Sequence[int],
    *,
    level: Sequence[int] | None = None,
    score: Sequence[float] | None = None,
    text_key: Sequence[int] | None = None,
    text_cost: Sequence[int] | None = None,
) -> Scored:
    """Make sections: ``pages`` names the page of each, sections of a page side by side."""
    count = len(pages)
    ordinals = [at - pages.index(page) for at, page in enumerate(pages)]
    whole = np.zeros(count, np.int64)
    return Scored(
        rev=np.array(pages, np.uint64),
        section=np.array(ordinals, np.int64),
        level=np.array(level if level is not None else [1] * count, np.int64),
        text_cost=np.array(text_cost if text_cost is not None else [400] * count, np.int64),
        path_cost=whole + 40,
        text_key=np.array(text_key if text_key is not None else range(count), np.int64),
        score=np.array(score if score is not None else [0.0] * count, np.float64),
        cosine=np.full(count, 0.5),
        best_chunk=whole,
    )
