"""Member ``exact``: scans all rows, so its answers are the truth. 5 ms for 180,000 rows of 256."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wikimcp.dense.scoring import check_matrix, exact_search
from wikimcp.ports import Vectors


class ExactIndex:
    """A DenseIndex over a float32 matrix, which may be a mapped read-only file; nothing is copied."""

    name = "exact"

    def __init__(self, matrix: Vectors) -> None:
        """Take a matrix of shape ``(rows, dimension)``. Raises ValueError for another shape or type."""
        self._matrix = check_matrix(matrix)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self._matrix)

    def search(
        self, query: Vectors, *, limit: int, allowed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return (rows, cosines), best first, equals by row; see ``scoring.exact_search``."""
        return exact_search(self._matrix, query, limit=limit, allowed=allowed)
