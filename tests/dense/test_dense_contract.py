"""What every dense index must do. Members are found by themselves: a new file is tested at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wikimcp.dense
from wikimcp.dense.exact import ExactIndex
from wikimcp.ports import DenseIndex, Vectors

Build = Callable[[Vectors], DenseIndex]

NOT_MEMBERS = {"scoring", "selection"}
BUILDERS = {"exact": "ExactIndex", "hnsw": "build_hnsw"}
PACKAGES = {"hnsw": "hnswlib"}


def members() -> list[str]:
    return sorted({module.name for module in iter_modules(wikimcp.dense.__path__)} - NOT_MEMBERS)


@pytest.fixture(params=members())
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    member: str = request.param
    if member in PACKAGES:
        pytest.importorskip(PACKAGES[member], reason=f"{PACKAGES[member]} is not installed")
    builder: Build = getattr(import_module(f"wikimcp.dense.{member}"), BUILDERS[member])
    yield builder


def unit_rows(size: int, dimension: int = 24, seed: int = 7) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(size, dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def truth(matrix: Vectors, query: Vectors, limit: int) -> list[int]:
    cosines = (matrix.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return sorted(range(len(matrix)), key=lambda row: (-cosines[row], row))[:limit]


def test_every_member_file_has_a_builder_here() -> None:
    assert set(members()) == set(BUILDERS)


def test_a_row_is_its_own_nearest_neighbour_with_cosine_one(build: Build) -> None:
    matrix = unit_rows(3000)
    index = build(matrix)
    for row in (0, 1, 1500, 2999):
        rows, cosines = index.search(matrix[row], limit=5)
        assert rows[0] == row
        assert cosines[0] == pytest.approx(1.0, abs=1e-5)
    assert index.size == 3000


def test_results_are_int64_rows_and_float32_cosines_that_fall(build: Build) -> None:
    matrix = unit_rows(900)
    rows, cosines = build(matrix).search(unit_rows(1, seed=1)[0], limit=40)
    assert (rows.dtype.name, cosines.dtype.name) == ("int64", "float32")
    assert rows.shape == cosines.shape == (40,)
    assert np.all(np.diff(cosines) <= 0)
    assert np.allclose(cosines, matrix[rows] @ unit_rows(1, seed=1)[0], atol=1e-5)


def test_nearly_all_true_neighbours_are_found(build: Build) -> None:
    matrix = unit_rows(5000)
    index = build(matrix)
    hits = 0
    for query in unit_rows(20, seed=3):
        rows, _ = index.search(query, limit=50)
        hits += len(set(rows.tolist()) & set(truth(matrix, query, 50)))
    assert hits >= 0.9 * 20 * 50


def test_a_filter_never_starves_and_is_exact(build: Build) -> None:
    matrix = unit_rows(4000)
    index = build(matrix)
    query = unit_rows(1, seed=5)[0]
    farthest = np.sort(np.array(truth(matrix, query, 4000)[-300:], dtype=np.int64))
    rows, _ = index.search(query, limit=25, allowed=farthest)
    wanted = [row for row in truth(matrix, query, 4000) if row in set(farthest.tolist())][:25]
    assert rows.tolist() == wanted


def test_wide_and_narrow_filters_give_the_same_cosines_to_the_last_bit(build: Build) -> None:
    matrix = unit_rows(2000)
    index = build(matrix)
    query = unit_rows(1, seed=9)[0]
    narrow = np.arange(0, 2000, 40, dtype=np.int64)
    wide = np.arange(0, 2000, 2, dtype=np.int64)
    of_wide = dict(zip(*index.search(query, limit=1000, allowed=wide), strict=True))
    of_narrow = dict(zip(*index.search(query, limit=50, allowed=narrow), strict=True))
    assert len(of_narrow) == 50
    assert all(of_wide[row] == cosine for row, cosine in of_narrow.items())


def test_equal_rows_come_in_row_order(build: Build) -> None:
    matrix = unit_rows(700)
    copies = [5, 77, 300, 301, 650]
    matrix[copies] = matrix[5]
    rows, cosines = build(matrix).search(matrix[5], limit=5)
    assert rows.tolist() == copies
    assert len(set(cosines.tolist())) == 1
    assert build(matrix).search(matrix[5], limit=3)[0].tolist() == copies[:3]


def test_a_limit_beyond_the_index_returns_every_row(build: Build) -> None:
    matrix = unit_rows(30)
    rows, _ = build(matrix).search(matrix[0], limit=10**9)
    assert sorted(rows.tolist()) == list(range(30))


@pytest.mark.parametrize("limit", [0, -1, -(10**9)])
def test_a_limit_below_one_returns_nothing(build: Build, limit: int) -> None:
    matrix = unit_rows(1000)
    rows, cosines = build(matrix).search(matrix[0], limit=limit)
    assert rows.size == cosines.size == 0


def test_an_empty_index_and_an_empty_filter_answer_with_nothing(build: Build) -> None:
    matrix = unit_rows(1000)
    nothing = np.empty(0, dtype=np.int64)
    assert build(matrix).search(matrix[0], limit=5, allowed=nothing)[0].size == 0
    empty = build(np.empty((0, 24), dtype=np.float32))
    assert empty.size == 0
    assert empty.search(matrix[0], limit=5)[0].size == 0
    assert empty.search(matrix[0], limit=5, allowed=nothing)[0].size == 0


def test_an_index_of_no_dimension_answers_with_nothing(build: Build) -> None:
    index = build(np.empty((40, 0), dtype=np.float32))
    assert index.size == 40
    assert index.search(np.empty(0, dtype=np.float32), limit=5)[0].size == 0


@pytest.mark.parametrize("shape", [(23,), (25,), (0,), (1, 24), (24, 1), ()])
def test_a_query_of_another_shape_is_refused(build: Build, shape: tuple[int, ...]) -> None:
    index = build(unit_rows(1000))
    with pytest.raises(ValueError, match="24"):
        index.search(np.zeros(shape, dtype=np.float32), limit=5)
    with pytest.raises(ValueError, match="24"):
        index.search(np.zeros(shape, dtype=np.float32), limit=5, allowed=np.array([1]))


@pytest.mark.parametrize(
    "allowed", [[-1, 3], [3, 1000], [5, 4], [4, 4], [[1, 2]], [0.5, 2.0]], ids=lambda value: str(value)
)
def test_a_filter_that_is_not_ascending_rows_is_refused(build: Build, allowed: list[float]) -> None:
    matrix = unit_rows(1000)
    with pytest.raises(ValueError, match="allowed rows"):
        build(matrix).search(matrix[0], limit=5, allowed=np.array(allowed))


@pytest.mark.parametrize("matrix", [np.zeros(24, np.float32), np.zeros((4, 24), np.float64)])
def test_a_matrix_of_another_shape_or_type_is_refused(build: Build, matrix: Vectors) -> None:
    with pytest.raises(ValueError, match="float32"):
        build(matrix)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_numbers_are_never_returned_and_hide_no_other(build: Build, bad: float) -> None:
    matrix = unit_rows(600)
    matrix[[3, 4, 599], 0] = bad
    rows, cosines = build(matrix).search(matrix[10], limit=600)
    assert set(rows.tolist()) == set(range(600)) - {3, 4, 599}
    assert np.isfinite(cosines).all()


def test_a_query_that_is_not_numbers_finds_nothing(build: Build) -> None:
    matrix = unit_rows(2000)
    rows, _ = build(matrix).search(np.full(24, np.nan, dtype=np.float32), limit=10)
    assert rows.size == 0


def test_zero_rows_have_cosine_zero(build: Build) -> None:
    matrix = unit_rows(50)
    matrix[7] = 0
    found = dict(zip(*build(matrix).search(matrix[0], limit=50), strict=True))
    assert found[7] == 0.0


def test_a_mapped_read_only_file_is_searched_without_being_changed(build: Build, tmp_path: Path) -> None:
    matrix = unit_rows(1200)
    matrix.tofile(tmp_path / "vectors")
    mapped = np.memmap(tmp_path / "vectors", dtype=np.float32, mode="r", shape=matrix.shape)
    rows, _ = build(mapped).search(matrix[8], limit=3)
    assert rows[0] == 8
    assert np.array_equal(mapped, matrix)


def test_searches_from_many_threads_agree(build: Build) -> None:
    matrix = unit_rows(3000)
    index = build(matrix)
    queries = [(query, limit) for query in unit_rows(30, seed=2) for limit in (3, 150, 600)]
    alone = [index.search(query, limit=limit)[0].tolist() for query, limit in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: index.search(one[0], limit=one[1])[0].tolist(), queries))
    assert [len(rows) for rows in together] == [limit for _, limit in queries]
    assert [rows[0] for rows in together] == [rows[0] for rows in alone]


@given(
    size=st.integers(1, 60),
    dimension=st.integers(1, 6),
    limit=st.integers(-2, 70),
    seed=st.integers(0, 10_000),
    share=st.floats(0, 1),
)
def test_exact_search_equals_sorting_everything(
    size: int, dimension: int, limit: int, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=(size, dimension)).astype(np.float32) * np.float32(0.125)
    query = rng.integers(-2, 3, size=dimension).astype(np.float32) * np.float32(0.125)
    allowed = np.flatnonzero(rng.random(size) < share)
    everything = truth(matrix, query, size)
    index = ExactIndex(matrix)
    wanted = max(0, limit)
    assert index.search(query, limit=limit)[0].tolist() == everything[:wanted]
    kept = [row for row in everything if row in set(allowed.tolist())]
    assert index.search(query, limit=limit, allowed=allowed)[0].tolist() == kept[:wanted]
