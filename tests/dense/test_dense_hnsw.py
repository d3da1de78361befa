"""The HNSW member's own duties: saving, loading, refusing what does not fit, and when it is chosen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from wikimcp.dense import hnsw
from wikimcp.dense.exact import ExactIndex
from wikimcp.dense.selection import build_dense
from wikimcp.errors import StateError, Unavailable
from wikimcp.ports import Vectors


def unit_rows(size: int, dimension: int = 16, seed: int = 7) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(size, dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


needs_hnswlib = pytest.mark.skipif(not hnsw.available(), reason="hnswlib is not installed")


@needs_hnswlib
def test_a_saved_index_answers_like_the_one_that_was_built(tmp_path: Path) -> None:
    matrix = unit_rows(2000)
    built = hnsw.build_hnsw(matrix)
    built.save(tmp_path / "graph")
    loaded = hnsw.load_hnsw(tmp_path / "graph", matrix)
    for query in unit_rows(10, seed=1):
        assert loaded.search(query, limit=20)[0].tolist() == built.search(query, limit=20)[0].tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph", "graph.json"]


@needs_hnswlib
def test_building_twice_gives_the_same_answers() -> None:
    matrix = unit_rows(2500)
    first, second = hnsw.build_hnsw(matrix), hnsw.build_hnsw(matrix)
    for query in unit_rows(20, seed=4):
        assert first.search(query, limit=30)[0].tolist() == second.search(query, limit=30)[0].tolist()


@needs_hnswlib
@pytest.mark.parametrize("dimension", [8, 15, 17, 32])
def test_a_saved_index_of_another_dimension_is_refused(tmp_path: Path, dimension: int) -> None:
    hnsw.build_hnsw(unit_rows(900)).save(tmp_path / "graph")
    with pytest.raises(StateError, match="other vectors"):
        hnsw.load_hnsw(tmp_path / "graph", unit_rows(900, dimension))


@needs_hnswlib
def test_a_saved_index_of_other_rows_is_refused(tmp_path: Path) -> None:
    matrix = unit_rows(900)
    hnsw.build_hnsw(matrix).save(tmp_path / "graph")
    changed = matrix.copy()
    changed[450, 3] += 0.01
    for other in (matrix[:-1], unit_rows(901), changed):
        with pytest.raises(StateError, match="other vectors"):
            hnsw.load_hnsw(tmp_path / "graph", other)


@needs_hnswlib
def test_a_damaged_missing_or_half_saved_index_is_refused(tmp_path: Path) -> None:
    matrix = unit_rows(900)
    path = tmp_path / "graph"
    with pytest.raises(StateError):
        hnsw.load_hnsw(path, matrix)
    hnsw.build_hnsw(matrix).save(path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(flipped) // 2] ^= 0xFF
    for damaged in (whole[: len(whole) // 2], b"", bytes(flipped)):
        path.write_bytes(damaged)
        with pytest.raises(StateError):
            hnsw.load_hnsw(path, matrix)
    path.write_bytes(whole)
    header = tmp_path / "graph.json"
    for damaged in (b"", b"{", b"[]", b'{"format": 2}'):
        header.write_bytes(damaged)
        with pytest.raises(StateError):
            hnsw.load_hnsw(path, matrix)


@needs_hnswlib
def test_a_place_that_cannot_be_written_is_a_state_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be saved"):
        hnsw.build_hnsw(unit_rows(50)).save(tmp_path / "missing" / "graph")


@needs_hnswlib
def test_the_index_is_exact_up_to_the_limit_and_hnsw_above() -> None:
    matrix = unit_rows(1000)
    assert build_dense(matrix, hnsw_threshold=1000).search(matrix[1], limit=1)[0].tolist() == [1]
    assert isinstance(build_dense(matrix, hnsw_threshold=1000), ExactIndex)
    assert isinstance(build_dense(matrix, hnsw_threshold=999), hnsw.HnswIndex)


@needs_hnswlib
def test_the_saved_graph_is_used_and_replaced_when_the_vectors_changed(tmp_path: Path) -> None:
    matrix = unit_rows(1000)
    saved = tmp_path / "graph"
    build_dense(matrix, hnsw_threshold=10, saved=saved)
    written = saved.stat().st_mtime_ns
    build_dense(matrix, hnsw_threshold=10, saved=saved)
    assert saved.stat().st_mtime_ns == written
    changed = unit_rows(1000, seed=8)
    index = build_dense(changed, hnsw_threshold=10, saved=saved)
    assert index.search(changed[5], limit=1)[0].tolist() == [5]
    assert hnsw.load_hnsw(saved, changed).size == 1000


@needs_hnswlib
def test_an_unwritable_place_for_the_graph_still_gives_an_index(tmp_path: Path) -> None:
    matrix = unit_rows(1000)
    index = build_dense(matrix, hnsw_threshold=10, saved=tmp_path / "missing" / "graph")
    assert index.search(matrix[5], limit=1)[0].tolist() == [5]


def test_without_hnswlib_large_indexes_stay_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    matrix = unit_rows(1000)
    assert isinstance(build_dense(matrix, hnsw_threshold=10), ExactIndex)
    with pytest.raises(Unavailable, match=r"pip install hnswlib"):
        hnsw.build_hnsw(matrix)
