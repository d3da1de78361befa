"""The HNSW member beside exact search over the vectors of a vault that is indexed: recall and time.

Run as ``python -m benchmarks.nearest STATE`` with the state directory of a vault (``--state-dir``).
Questions are rows of the vault itself, each moved a little, so that the nearest is not known beforehand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import percentile
from wikimcp.dense.exact import ExactIndex
from wikimcp.dense.hnsw import available, build_hnsw
from wikimcp.ports import DenseIndex, Vectors

DIMENSION = 256  # of wordllama's vectors
_MOVED = 0.5  # of a row's length, at random


def compare(matrix: Vectors, *, queries: int, limit: int, seed: int) -> dict[str, Any]:
    """Return times and recall of both members over one matrix of unit rows."""
    asked = questions(matrix, queries, seed)
    exact, exact_seconds = _built(ExactIndex, matrix)
    right, exact_times = _searched(exact, asked, limit)
    told: dict[str, Any] = {"rows": len(matrix), "limit": limit}
    told["exact"] = {"build_s": round(exact_seconds, 2), **_times(exact_times)}
    if available():
        graph, seconds = _built(build_hnsw, matrix)
        found, times = _searched(graph, asked, limit)
        recall = np.mean([len(one & other) / limit for one, other in zip(right, found, strict=True)])
        told["hnsw"] = {"build_s": round(seconds, 2), **_times(times), "recall": round(float(recall), 4)}
    return told


def questions(matrix: Vectors, count: int, seed: int) -> Vectors:
    """Return unit vectors near rows of the matrix."""
    chance = np.random.default_rng(seed)
    rows = matrix[np.sort(chance.choice(len(matrix), count, replace=len(matrix) < count))]
    noise = chance.standard_normal(rows.shape)
    noise *= _MOVED / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = rows + noise
    asked: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return asked


def _built(build: Callable[[Vectors], DenseIndex], matrix: Vectors) -> tuple[DenseIndex, float]:
    begin = time.perf_counter()
    return build(matrix), time.perf_counter() - begin


def _searched(index: DenseIndex, asked: Vectors, limit: int) -> tuple[list[set[int]], list[float]]:
    found, times = [], []
    for query in asked:
        begin = time.perf_counter()
        rows, _ = index.search(query, limit=limit)
        times.append((time.perf_counter() - begin) * 1000)
        found.append(set(rows.tolist()))
    return found, times


def _times(values: list[float]) -> dict[str, float]:
    return {f"p{share}_ms": round(percentile(values, share / 100), 2) for share in (50, 95)}


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("state", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    files = sorted(given.state.glob("*/vectors/wordllama-*/rows.f32"))
    if len(files) != 1:
        parser.error(f"{len(files)} vaults with static vectors lie there, not one")
    matrix = np.memmap(files[0], np.float32, mode="r").reshape(-1, DIMENSION)
    print(json.dumps(compare(matrix, queries=given.queries, limit=given.limit, seed=given.seed), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
