"""The vectors of one embedder as loaded, and the map between its rows and the chunks of a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wikimcp.index.vectors import VectorFile
from wikimcp.ports import DenseIndex, Embedder, Ids, TokenEmbedder, Vectors
from wikimcp.retrieval.late import LATE_DIMENSIONS, QueryTokens, late_scores, query_tokens, token_idf

BuildDense = Callable[[Vectors], DenseIndex]
Rows = NDArray[np.int64]
_ORDINAL_BITS = np.uint64(16)
_IDF_SAMPLE = 20_000  # texts


class DenseState:
    """An embedder with the vectors that exist for it at one moment. Never changes."""

    def __init__(self, embedder: Embedder, vectors: VectorFile, build: BuildDense) -> None:
        keys, self.matrix = vectors.read()
        self.embedder = embedder
        self.count = len(keys)
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]
        self._build = build
        self.tokens = vectors.tokens(self.count)

    @cached_property
    def index(self) -> DenseIndex:
        """The index over all rows, built at its first use."""
        return self._build(self.matrix)

    def query_tokens(self, query: str) -> QueryTokens | None:
        """Return a question's tokens for late interaction; None without token lists or tokens."""
        if self.tokens is None or not isinstance(self.embedder, TokenEmbedder):
            return None
        (ids,) = self.embedder.token_ids([query])
        return query_tokens(ids.astype(np.int64), self._table, self._idf)

    @cached_property
    def _table(self) -> Vectors:
        assert isinstance(self.embedder, TokenEmbedder)
        return self.embedder.token_vectors(LATE_DIMENSIONS)

    @cached_property
    def _idf(self) -> Vectors:
        """Token idf over (a sample of) the texts."""
        assert self.tokens is not None
        texts = min(self.count, _IDF_SAMPLE)
        _, ends = self.tokens.bounds(np.arange(texts))
        return token_idf(self.tokens.flat[: ends[-1]], texts, len(self._table))

    def rows_of(self, keys: Ids) -> Rows:
        """Return the row of each key, -1 where there is no vector yet."""
        if not self.count:
            return np.full(len(keys), -1, np.int64)
        at = np.searchsorted(self._sorted, keys)
        at[at == self.count] = 0
        return np.where(self._sorted[at] == keys, self._order[at], -1)


@dataclass(frozen=True, slots=True)
class DenseHits:
    """Chunks by cosine, best first. ``chunk_ids`` are ``rev << 16 | ordinal``."""

    chunk_ids: Ids
    cosines: Vectors


NO_HITS = DenseHits(np.zeros(0, np.uint64), np.zeros(0, np.float32))


class ChunkRows:
    """Which rows the chunks of some visible pages use: built once for a view and a DenseState."""

    def __init__(self, state: DenseState, keys_by_rev: Mapping[int, bytes], revs: Sequence[int]) -> None:
        self.state = state
        ordered = sorted(revs)
        cells = [keys_by_rev.get(rev, b"") for rev in ordered]
        counts = np.fromiter((len(cell) // 8 for cell in cells), np.int64, len(cells))
        self._revs = np.array(ordered, np.uint64)
        self._starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        self.rows = state.rows_of(np.frombuffer(b"".join(cells), np.uint64))
        self.missing = int((self.rows < 0).sum())

    @property
    def total(self) -> int:
        """Number of chunks."""
        return len(self.rows)

    def rows_for(self, chunk_ids: Ids) -> Rows:
        """Return the row of each chunk, -1 where it has no vector or is not visible."""
        if not self.total:
            return np.full(len(chunk_ids), -1, np.int64)
        at, ordinals = self._place(chunk_ids)
        place = self._starts[at] + ordinals
        known = (self._revs[at] == chunk_ids >> _ORDINAL_BITS) & (place < self._starts[at + 1])
        return np.where(known, self.rows[np.minimum(place, self.total - 1)], -1)

    def _place(self, chunk_ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        at = np.searchsorted(self._revs, chunk_ids >> _ORDINAL_BITS)
        ordinals = (chunk_ids & np.uint64(0xFFFF)).astype(np.int64)
        return np.minimum(at, len(self._revs) - 1), ordinals

    @cached_property
    def _by_row(self) -> tuple[Ids, Rows]:
        """Chunk ids in order of their rows, and those rows."""
        counts = np.diff(self._starts)
        ordinals = np.arange(self.total) - np.repeat(self._starts[:-1], counts)
        ids = (np.repeat(self._revs, counts) << _ORDINAL_BITS) | ordinals.astype(np.uint64)
        order = np.argsort(self.rows, kind="stable")
        return ids[order], self.rows[order]

    @cached_property
    def _used(self) -> Rows | None:
        """The rows in use, or None when every row is: the common case needs no mask."""
        used = np.unique(self.rows[self.rows >= 0])
        return None if len(used) == self.state.count else used

    def search(self, query: Vectors, *, limit: int, allowed: Ids | None = None) -> DenseHits:
        """Return the chunks of the best ``limit`` rows; ``allowed`` are sorted revs, or None for all."""
        rows = self._used
        if allowed is not None:
            within = np.repeat(np.isin(self._revs, allowed), np.diff(self._starts)) & (self.rows >= 0)
            rows = np.unique(self.rows[within])
        found, cosines = self.state.index.search(query, limit=limit, allowed=rows)
        ids, sorted_rows = self._by_row
        left = np.searchsorted(sorted_rows, found, side="left")
        right = np.searchsorted(sorted_rows, found, side="right")
        spans = [ids[a:b] for a, b in zip(left.tolist(), right.tolist(), strict=True)]
        chunk_ids = np.concatenate(spans) if spans else np.zeros(0, np.uint64)
        scores = np.repeat(cosines, right - left).astype(np.float32)
        if allowed is not None:
            keep = np.isin(chunk_ids >> _ORDINAL_BITS, allowed)
            chunk_ids, scores = chunk_ids[keep], scores[keep]
        return DenseHits(chunk_ids, scores)

    def cosines(self, query: Vectors, chunk_ids: Ids) -> Vectors:
        """Return the cosine of each chunk with ``query``, -1 where it has no vector."""
        rows = self.rows_for(chunk_ids)
        found = np.full(len(rows), -1.0, np.float32)
        known = rows >= 0
        # vecdot, not @: the BLAS would wake its threads for it, which stalls on a busy machine.
        found[known] = np.vecdot(self.state.matrix[rows[known]], query)
        return found

    def late(self, query: QueryTokens, chunk_ids: Ids) -> Vectors:
        """Return the late-interaction score of each chunk, 0 where its tokens are not known."""
        tokens = self.state.tokens
        rows = self.rows_for(chunk_ids)
        scores = np.zeros(len(rows), np.float32)
        known = rows >= 0
        if tokens is not None and known.any():
            starts, ends = tokens.bounds(rows[known])
            scores[known] = late_scores(query, tokens.flat, starts, ends)
        return scores
