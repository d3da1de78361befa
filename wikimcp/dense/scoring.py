"""Exact cosines and the choice of the best rows: what every dense index is built on or falls back to.

All scores come from one dot product per row (``np.vecdot``), never from a matrix product: a row's
cosine is then the same bits wherever the row lies and however the search is filtered, and no BLAS
thread pool is woken (on a busy machine its hand-over costs more than the whole product).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wikimcp.ports import Vectors

Rows = NDArray[np.int64]

GATHER_BLOCK = 512  # rows copied at once under a filter: 0.5 MB at 256 dimensions, stays in the cache
GATHER_SHARE = 4  # gathering one row costs about as much as scanning four in order


def check_matrix(matrix: Vectors) -> Vectors:
    """Return the matrix as a plain array (a mapped file stays mapped).

    Raises ValueError unless it is two-dimensional float32.
    """
    if matrix.ndim != 2 or matrix.dtype != np.float32:
        raise ValueError(f"a dense index needs a float32 matrix of rows, not {matrix.dtype} {matrix.shape}")
    return np.asarray(matrix)


def check_query(query: Vectors, dimension: int) -> Vectors:
    """Return the query as contiguous float32. Raises ValueError unless its shape is ``(dimension,)``."""
    vector = np.ascontiguousarray(query, dtype=np.float32)
    if np.shape(query) != (dimension,):
        raise ValueError(f"the query has shape {np.shape(query)}, the index holds vectors of {dimension}")
    return vector


def check_allowed(allowed: Rows, size: int) -> Rows:
    """Return the allowed rows as int64.

    Raises ValueError unless they are integers, ascending, without repeats and inside the index.
    """
    rows = np.asarray(allowed)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise ValueError("allowed rows must be a one-dimensional array of integers")
    rows = rows.astype(np.int64, copy=False)
    if rows.size and (rows[0] < 0 or rows[-1] >= size or not bool(np.all(rows[1:] > rows[:-1]))):
        raise ValueError(f"allowed rows must ascend without repeats inside 0..{size - 1}")
    return rows


def cosines_of(matrix: Vectors, query: Vectors, rows: Rows) -> Vectors:
    """Return the cosine of each of ``rows``, copying only a block of them at a time."""
    scores = np.empty(rows.size, dtype=np.float32)
    for start in range(0, rows.size, GATHER_BLOCK):
        block = rows[start : start + GATHER_BLOCK]
        scores[start : start + GATHER_BLOCK] = _dot(matrix[block], query)
    return scores


def exact_search(
    matrix: Vectors, query: Vectors, *, limit: int, allowed: Rows | None = None
) -> tuple[Rows, Vectors]:
    """Return the best ``limit`` rows by cosine and the cosines, best first, equals by row.

    ``query`` is ``(dimension,)``. Rows whose cosine is not a number are never returned, and vectors
    of no dimension have none, so fewer rows than ``limit`` may come back. Raises ValueError when a
    shape does not fit or ``allowed`` is not ascending rows of the matrix.
    """
    size, dimension = matrix.shape
    query = check_query(query, dimension)
    if allowed is not None:
        allowed = check_allowed(allowed, size)
    if dimension == 0 or size == 0 or limit <= 0:
        return nothing()
    if allowed is None:
        return best(_dot(matrix, query), limit=limit)
    if allowed.size * GATHER_SHARE < size:
        return best(cosines_of(matrix, query, allowed), limit=limit, rows=allowed)
    return best(_dot(matrix, query)[allowed], limit=limit, rows=allowed)


def best(scores: Vectors, *, limit: int, rows: Rows | None = None) -> tuple[Rows, Vectors]:
    """Choose the ``limit`` highest of ``scores``; ``rows`` (ascending) names what each score is of."""
    scores = np.where(np.isfinite(scores), scores, np.float32(-np.inf))
    count = min(limit, scores.size)
    if count <= 0:
        return nothing()
    lowest = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > lowest)
    level = np.flatnonzero(scores == lowest)[: count - above.size]
    chosen = np.concatenate((above, level))
    chosen = chosen[np.lexsort((chosen, -scores[chosen]))]
    chosen = chosen[scores[chosen] > -np.inf]
    found = chosen if rows is None else rows[chosen]
    return found.astype(np.int64, copy=False), np.clip(scores[chosen], -1.0, 1.0)


def nothing() -> tuple[Rows, Vectors]:
    """Return the empty result."""
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)


def _dot(rows: Vectors, query: Vectors) -> Vectors:
    with np.errstate(invalid="ignore", over="ignore"):  # a damaged row must not warn, only drop out
        scores: Vectors = np.vecdot(rows, query)
    return scores
