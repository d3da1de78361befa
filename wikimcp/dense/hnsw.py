"""Member ``hnsw``: approximate search by hnswlib, behind the checks that hnswlib itself lacks.

hnswlib writes past its memory on a query of the wrong length, loads a file into the wrong dimension
and fails while it is changed and asked at once. So: every shape is checked before a call, an index
never changes once built, and a saved one is loaded only when its header and checksum fit.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikimcp.dense.scoring import best, check_matrix, check_query, cosines_of, exact_search, nothing
from wikimcp.errors import StateError, Unavailable
from wikimcp.ports import Vectors

FORMAT = 1
# On 124,284 and 180,000 real chunk vectors of 256: recall@50 0.96, 0.5 ms a query, 17 and 54 s to
# build; M 16, ef_construction 100, ef 200 gave 0.85.
LINKS = 24  # M: edges per node
BUILD_EFFORT = 200  # ef_construction
LEAST_EFFORT = 400  # ef
ADD_BLOCK = 4096
READ_BLOCK = 1 << 20


def available() -> bool:
    """Tell whether hnswlib is installed, without importing it."""
    return find_spec("hnswlib") is not None


def build_hnsw(matrix: Vectors) -> HnswIndex:
    """Build the graph over all rows; one thread, so that the same matrix gives the same graph.

    Raises ValueError for a matrix that is not two-dimensional float32, Unavailable without hnswlib.
    """
    matrix = check_matrix(matrix)
    graph = _new_graph(matrix.shape[1])
    graph.init_index(max_elements=max(1, len(matrix)), M=LINKS, ef_construction=BUILD_EFFORT, random_seed=42)
    for start in range(0, len(matrix) if matrix.shape[1] else 0, ADD_BLOCK):
        block = np.nan_to_num(matrix[start : start + ADD_BLOCK], posinf=0.0, neginf=0.0)
        graph.add_items(block, np.arange(start, start + len(block)), num_threads=1)
    return HnswIndex(matrix, graph)


def load_hnsw(path: Path, matrix: Vectors) -> HnswIndex:
    """Load what ``save`` wrote, if it was built over exactly this matrix.

    Raises StateError when a file is missing, damaged, of another format or over other vectors,
    Unavailable without hnswlib.
    """
    matrix = check_matrix(matrix)
    try:
        header = json.loads(_header_path(path).read_text(encoding="utf-8"))
        fits = header == _header(matrix, graph_crc=_file_crc(path))
    except (OSError, ValueError) as error:
        raise StateError("the saved HNSW index cannot be read", hint="It is built again.") from error
    if not fits:
        raise StateError("the saved HNSW index is of other vectors or damaged", hint="It is built again.")
    graph = _new_graph(matrix.shape[1])
    try:
        graph.load_index(os.fspath(path), max_elements=max(1, len(matrix)))
    except RuntimeError as error:
        raise StateError("the saved HNSW index cannot be read", hint="It is built again.") from error
    if graph.get_current_count() != len(matrix):
        raise StateError("the saved HNSW index lacks rows", hint="It is built again.")
    return HnswIndex(matrix, graph)


class HnswIndex:
    """A DenseIndex whose unfiltered search is approximate; its cosines are exact.

    Filtered searches and those that ask for much of the index are exact, so a filter can never
    starve an answer. Made by ``build_hnsw`` or ``load_hnsw``.
    """

    name = "hnsw"

    def __init__(self, matrix: Vectors, graph: Any) -> None:  # noqa: ANN401 - hnswlib has no types
        self._matrix = matrix
        self._graph = graph
        self._effort = 0
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self._matrix)

    def search(
        self, query: Vectors, *, limit: int, allowed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return (rows, cosines), best first, equals by row. Raises ValueError as the exact index does."""
        size, dimension = self._matrix.shape
        query = check_query(query, dimension)
        effort = max(LEAST_EFFORT, 2 * limit)
        if allowed is not None or effort >= size or dimension == 0:
            return exact_search(self._matrix, query, limit=limit, allowed=allowed)
        if limit <= 0 or not np.isfinite(query).all():
            return nothing()
        self._raise_effort(effort)
        try:
            # All that the graph walk has seen anyway, so that equal rows are ordered among themselves.
            labels, _ = self._graph.knn_query(query[None, :], k=effort, num_threads=1)
        except RuntimeError:  # the walk did not reach that many rows
            return exact_search(self._matrix, query, limit=limit)
        rows = np.sort(labels[0].astype(np.int64))
        return best(cosines_of(self._matrix, query, rows), limit=limit, rows=rows)

    def save(self, path: Path) -> None:
        """Write the graph to ``path`` and its header beside it, each whole or not at all.

        Raises StateError when the disk refuses.
        """
        part = path.with_name(path.name + ".part")
        try:
            self._graph.save_index(os.fspath(part))
            header = json.dumps(_header(self._matrix, graph_crc=_file_crc(part)))
            os.replace(part, path)
            part.write_text(header, encoding="utf-8")
            os.replace(part, _header_path(path))
        except (OSError, RuntimeError) as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise StateError("the HNSW index cannot be saved", hint="Check the disk's free space.") from error

    def _raise_effort(self, effort: int) -> None:
        """Let ``ef`` only grow: a concurrent search for more rows must not be cut short."""
        with self._lock:
            if effort > self._effort:
                self._graph.set_ef(effort)
                self._effort = effort


def _new_graph(dimension: int) -> Any:  # noqa: ANN401 - hnswlib has no types
    if not available():
        raise Unavailable("hnswlib is not installed", hint="pip install hnswlib, or search exactly.")
    import hnswlib

    # Rows are unit vectors, so the inner product is the cosine and zero rows need no special case.
    return hnswlib.Index(space="ip", dim=max(1, dimension))


def _header_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _header(matrix: Vectors, *, graph_crc: int) -> dict[str, int]:
    rows, dimension = matrix.shape
    return {
        "format": FORMAT,
        "rows": rows,
        "dimension": dimension,
        "links": LINKS,
        "build_effort": BUILD_EFFORT,
        "matrix_crc": _matrix_crc(matrix),
        "graph_crc": graph_crc,
    }


def _matrix_crc(matrix: Vectors) -> int:
    crc = 0
    for start in range(0, len(matrix), ADD_BLOCK):
        crc = zlib.crc32(matrix[start : start + ADD_BLOCK].tobytes(), crc)
    return crc


def _file_crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(READ_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc
