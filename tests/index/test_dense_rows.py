"""Chunks and the rows of their vectors: what is carried over an edit equals what is read anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wikimcp.dense.exact import ExactIndex
from wikimcp.index.dense_state import ChunkRows, DenseState, GrownIndex
from wikimcp.index.vectors import VectorFile
from wikimcp.ports import Ids, Vectors

DIMENSION = 8


class FewTokens:
    """An embedder of the tests' own texts: a text is a number, its tokens are its last digits."""

    name = "few-tokens"
    dimension = DIMENSION
    thresholds = (0.5, 0.3)

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([_vector(int(text)) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return _vector(int(text))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[NDArray[np.uint16]]]:
        return self.embed(texts), self.token_ids(texts)

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint16]]:
        return [np.unique(np.array([int(text) % 10, int(text) % 7 + 10], np.uint16)) for text in texts]

    def token_vectors(self, dimensions: int) -> Vectors:
        return np.stack([_vector(number) for number in range(20)])


def _vector(number: int) -> Vectors:
    row = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    unit: Vectors = row / np.linalg.norm(row)
    return unit


EMBEDDER = FewTokens()


def added(file: VectorFile, numbers: Sequence[int]) -> None:
    if numbers:
        vectors, tokens = EMBEDDER.embed_with_tokens([str(number) for number in numbers])
        file.append(np.array(numbers, np.uint64), vectors, tokens)


class Chunks:
    """The chunk keys of pages by rev, as a catalog hands them out."""

    def __init__(self) -> None:
        self.by_rev: dict[int, list[int]] = {}

    def keys_of(self, revs: Sequence[int] | None) -> Mapping[int, bytes]:
        chosen = self.by_rev if revs is None else {rev: self.by_rev[rev] for rev in revs}
        return {rev: np.array(keys, np.uint64).tobytes() for rev, keys in chosen.items()}

    def rows(self, state: DenseState, before: ChunkRows | None = None) -> ChunkRows:
        return ChunkRows.of(state, np.array(sorted(self.by_rev), np.uint64), self.keys_of, before=before)

    def ids(self) -> Ids:
        return np.array(
            [rev << 16 | at for rev, keys in self.by_rev.items() for at in range(len(keys))], np.uint64
        )


def same(now: ChunkRows, fresh: ChunkRows, ids: Ids) -> None:
    assert (now.total, now.missing) == (fresh.total, fresh.missing)
    assert now.missing_revs() == fresh.missing_revs()
    assert now.missing_keys() == fresh.missing_keys()
    assert now.rows_for(ids).tolist() == fresh.rows_for(ids).tolist()
    query = _vector(3)
    for allowed in (None, np.unique(ids >> np.uint64(16))[::2]):
        mine, theirs = (rows.search(query, limit=6, allowed=allowed) for rows in (now, fresh))
        assert mine.chunk_ids.tolist() == theirs.chunk_ids.tolist()
        assert mine.cosines.tolist() == theirs.cosines.tolist()
    mine_tokens, their_tokens = now.query_tokens("17"), fresh.query_tokens("17")
    assert (mine_tokens is None) == (their_tokens is None)
    if mine_tokens is not None and their_tokens is not None:
        assert now.late(mine_tokens, ids).tolist() == fresh.late(their_tokens, ids).tolist()


numbers = st.lists(st.integers(0, 60), max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("page"), numbers),
        st.tuples(st.just("gone"), st.integers(0, 9)),
        st.tuples(st.just("vectors"), numbers),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_rows_carried_over_any_edits_are_those_read_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    file = VectorFile(folder, dimension=DIMENSION, with_tokens=True)
    known: set[int] = set()
    chunks = Chunks()
    state = DenseState(EMBEDDER, file, ExactIndex)
    carried = chunks.rows(state)
    for rev, (kind, what) in enumerate(steps, start=1):
        if kind == "page":
            assert isinstance(what, list)
            chunks.by_rev[rev] = what
        elif kind == "gone":
            assert isinstance(what, int)
            if chunks.by_rev:
                del chunks.by_rev[sorted(chunks.by_rev)[what % len(chunks.by_rev)]]
        else:
            assert isinstance(what, list)
            new = [number for number in dict.fromkeys(what) if number not in known]
            added(file, new)
            known.update(new)
            state = DenseState(EMBEDDER, file, ExactIndex, before=state)
        carried = chunks.rows(state, carried)
        same(carried, chunks.rows(DenseState(EMBEDDER, file, ExactIndex)), chunks.ids())


@settings(max_examples=60, deadline=None)
@given(
    head=st.integers(0, 30),
    tail=st.integers(0, 10),
    limit=st.integers(1, 50),
    kept=st.none() | st.sets(st.integers(0, 39)),
)
def test_an_index_with_rows_beside_it_finds_what_one_over_all_of_them_finds(
    head: int, tail: int, limit: int, kept: set[int] | None
) -> None:
    matrix = np.stack([_vector(number % 17) for number in range(head + tail)] or [_vector(0)])[: head + tail]
    grown = GrownIndex(ExactIndex(matrix[:head]), ExactIndex(matrix[head:]))
    whole = ExactIndex(matrix)
    allowed = None if kept is None else np.array(sorted(row for row in kept if row < head + tail), np.int64)
    mine, theirs = (index.search(_vector(3), limit=limit, allowed=allowed) for index in (grown, whole))
    assert grown.size == whole.size
    assert mine[0].tolist() == theirs[0].tolist()
    assert mine[1].tolist() == pytest.approx(theirs[1].tolist(), abs=1e-6)


def test_vectors_that_were_begun_anew_are_not_taken_for_the_old_ones(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, dimension=DIMENSION, with_tokens=True)
    added(file, [1, 2, 3])
    chunks = Chunks()
    chunks.by_rev = {1: [1, 2], 2: [3]}
    old = DenseState(EMBEDDER, file, ExactIndex)
    before = chunks.rows(old)
    for path in tmp_path.iterdir():
        path.unlink()
    added(file, [3, 9, 1, 2])
    state = DenseState(EMBEDDER, file, ExactIndex, before=old)
    assert not state.extends(old)
    same(chunks.rows(state, before), chunks.rows(DenseState(EMBEDDER, file, ExactIndex)), chunks.ids())


def test_vectors_that_nothing_visible_uses_leave_no_trace_in_the_weights_of_words(tmp_path: Path) -> None:
    alone = VectorFile(tmp_path / "alone", dimension=DIMENSION, with_tokens=True)
    added(alone, [1, 2, 3])
    shared = VectorFile(tmp_path / "shared", dimension=DIMENSION, with_tokens=True)
    added(shared, [11, 1, 21, 2, 31, 3, 41])
    chunks = Chunks()
    chunks.by_rev = {1: [1, 2], 2: [3]}
    mine, theirs = (chunks.rows(DenseState(EMBEDDER, file, ExactIndex)) for file in (alone, shared))
    for query in ("1", "17", "52"):
        left, right = mine.query_tokens(query), theirs.query_tokens(query)
        assert left is not None and right is not None
        assert left.weights.tolist() == right.weights.tolist()
        assert mine.late(left, chunks.ids()).tolist() == theirs.late(right, chunks.ids()).tolist()
    assert (
        mine.search(_vector(5), limit=9).cosines.tolist()
        == theirs.search(_vector(5), limit=9).cosines.tolist()
    )


def test_no_vectors_and_no_pages_are_no_trouble(tmp_path: Path) -> None:
    file = VectorFile(tmp_path, dimension=DIMENSION, with_tokens=True)
    chunks = Chunks()
    empty = chunks.rows(DenseState(EMBEDDER, file, ExactIndex))
    assert (empty.total, empty.missing, empty.missing_revs()) == (0, 0, [])
    assert empty.query_tokens("1") is None
    assert empty.search(_vector(1), limit=5).chunk_ids.tolist() == []
    chunks.by_rev = {1: [], 2: [5]}
    lacking = chunks.rows(DenseState(EMBEDDER, file, ExactIndex), empty)
    assert lacking.missing_revs() == [2]
    assert lacking.rows_for(np.array([2 << 16, 1 << 16, 9 << 16], np.uint64)).tolist() == [-1, -1, -1]
