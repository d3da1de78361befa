"""The comparison of nearest-neighbour members: what it asks, and that exact search is its measure."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.nearest import compare, questions
from wikimcp.dense.hnsw import available


def test_questions_are_near_rows_and_the_same_for_one_seed() -> None:
    rows = np.eye(32, dtype=np.float32)
    asked = questions(rows, 8, seed=3)
    assert asked.shape == (8, 32) and np.allclose(np.linalg.norm(asked, axis=1), 1)
    assert ((asked @ rows.T).max(axis=1) > 0.8).all()
    assert (asked == questions(rows, 8, seed=3)).all() and (asked != questions(rows, 8, seed=4)).any()


@pytest.mark.skipif(not available(), reason="hnswlib is not installed")
def test_recall_is_told_of_the_graph_beside_exact_search() -> None:
    chance = np.random.default_rng(1)
    rows = chance.standard_normal((400, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    told = compare(rows, queries=20, limit=10, seed=2)
    assert told["rows"] == 400 and told["hnsw"]["recall"] > 0.9
    assert told["exact"]["p50_ms"] <= told["exact"]["p95_ms"]
