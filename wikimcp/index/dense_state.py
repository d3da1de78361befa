"""The vectors of one embedder as loaded, and the map between its rows and the chunks of a view."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wikimcp.index.page_record import PageRecord
from wikimcp.index.vectors import VectorFile
from wikimcp.ports import DenseIndex, Embedder, Ids, TokenEmbedder, Vectors
from wikimcp.retrieval.late import LATE_DIMENSIONS, QueryTokens, late_scores, query_tokens

BuildDense = Callable[[Vectors], DenseIndex]
KeysOf = Callable[[Sequence[int] | None], Mapping[int, bytes]]
Rows = NDArray[np.int64]
_ORDINAL_BITS = np.uint64(16)
_FEW_ROWS = 500
_MOST_INSERTED = 5_000  # chunks; with more, what is sorted and counted is made anew
_COUNTED_AT_ONCE = 2_048  # rows
_COSTLY_ROWS = 100_000  # an index over fewer is built in no time, whatever its kind
_MOST_BESIDE = 0.1  # share of new rows beside an index that is kept


class DenseState:
    """An embedder with the vectors that exist for it at one moment. Never changes.

    ``before`` is the state that the files were in when they were last loaded: what was sorted then
    is not sorted again. ``mark`` is that of the files.
    """

    def __init__(
        self, embedder: Embedder, vectors: VectorFile, build: BuildDense, *, before: DenseState | None = None
    ) -> None:
        self.mark = vectors.mark()
        stored = vectors.read()
        self.keys, self.matrix, self.tokens = stored.keys, stored.rows, stored.tokens
        self.embedder = embedder
        self.count = len(self.keys)
        self._build = build
        self._order: Rows
        self._sorted: Ids
        known = before if before is not None and self.extends(before) else None
        first = known.count if known is not None else 0
        self._order = np.argsort(self.keys[first:], kind="stable") + first
        self._head = known.settled_index if known is not None else None
        if known is not None:
            at = np.searchsorted(known._sorted, self.keys[self._order], side="right")
            self._order = np.insert(known._order, at, self._order)
            if "table" in known.__dict__:
                self.__dict__["table"] = known.table
        self._sorted = self.keys[self._order]

    def extends(self, before: DenseState) -> bool:
        """Whether this is ``before`` with rows added: a row found there is the same one here."""
        if self is before:
            return True
        return before.count <= self.count and bool((self.keys[: before.count] == before.keys).all())

    @cached_property
    def index(self) -> DenseIndex:
        """The index over all rows, built at its first use; beside a costly one new rows are put."""
        head = self._head
        if head is None or self.count - head.size > head.size * _MOST_BESIDE:
            return self._build(self.matrix)
        return GrownIndex(head, self._build(self.matrix[head.size :]))

    @property
    def settled_index(self) -> DenseIndex | None:
        """The index that a later state may keep; None when it is not built or is made anew as quickly."""
        index: DenseIndex | None = self.__dict__.get("index")
        if isinstance(index, GrownIndex):
            return index.head
        return index if index is not None and index.size >= _COSTLY_ROWS else None

    @cached_property
    def table(self) -> Vectors:
        """The token vectors of an embedder that has them."""
        assert isinstance(self.embedder, TokenEmbedder)
        return self.embedder.token_vectors(LATE_DIMENSIONS)

    def rows_of(self, keys: Ids) -> Rows:
        """Return the row of each key, -1 where there is no vector yet."""
        if not self.count:
            return np.full(len(keys), -1, np.int64)
        at = np.searchsorted(self._sorted, keys)
        at[at == self.count] = 0
        return np.where(self._sorted[at] == keys, self._order[at], -1)


class GrownIndex:
    """An index over the rows that were there before, and one over those added since. A DenseIndex."""

    def __init__(self, head: DenseIndex, tail: DenseIndex) -> None:
        self.head = head
        self._tail = tail

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.head.size + self._tail.size

    def search(self, query: Vectors, *, limit: int, allowed: Rows | None = None) -> tuple[Rows, Vectors]:
        """Return (rows, cosines), best first, equals by row."""
        first = self.head.size
        if allowed is None:
            old = new = None
        else:
            old, new = allowed[allowed < first], allowed[allowed >= first] - first
        rows, cosines = self.head.search(query, limit=limit, allowed=old)
        more_rows, more_cosines = self._tail.search(query, limit=limit, allowed=new)
        rows = np.concatenate((rows, more_rows + first))
        cosines = np.concatenate((cosines, more_cosines))
        order = np.lexsort((rows, -cosines))[:limit]
        return rows[order], cosines[order]


@dataclass(frozen=True, slots=True)
class DenseHits:
    """Chunks by cosine, best first. ``chunk_ids`` are ``rev << 16 | ordinal``."""

    chunk_ids: Ids
    cosines: Vectors


NO_HITS = DenseHits(np.zeros(0, np.uint64), np.zeros(0, np.float32))


class ChunkRows:
    """Which rows the chunks of some pages use: for one set of revs and one DenseState.

    Made by ``of``, which goes on from the rows of an earlier set, so that an edit costs little.
    """

    def __init__(
        self,
        state: DenseState,
        revs: Ids,
        counts: Rows,
        keys: Ids,
        rows: Rows,
        *,
        tokens_before: tuple[NDArray[np.bool_], Rows] | None = None,
    ) -> None:
        self.state = state
        self._tokens_before = tokens_before
        self.keys = keys
        self.rows = rows
        self.missing = int((rows < 0).sum())
        self._revs = revs
        self._counts = counts
        self._starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))

    @classmethod
    def of(
        cls, state: DenseState, revs: Ids, keys_of: KeysOf, *, before: ChunkRows | None = None
    ) -> ChunkRows:
        """Return the rows of the chunks of ``revs``, sorted; ``keys_of`` reads the chunk keys by rev."""
        if before is not None:
            found = before._changed(state, revs, keys_of)
            if found is not None:
                return found
        return cls._read(state, revs, keys_of(None))

    @classmethod
    def _read(cls, state: DenseState, revs: Ids, keys_by_rev: Mapping[int, bytes]) -> ChunkRows:
        cells = [keys_by_rev.get(rev, b"") for rev in revs.tolist()]
        counts = np.fromiter((len(cell) // 8 for cell in cells), np.int64, len(cells))
        keys = np.frombuffer(b"".join(cells), np.uint64)
        return cls(state, revs, counts, keys, state.rows_of(keys))

    def _changed(self, state: DenseState, wanted: Ids, keys_of: KeysOf) -> ChunkRows | None:
        """Return these rows with some revs out and newer ones in; None when that is not what changed."""
        stays = np.isin(self._revs, wanted, assume_unique=True)
        come = wanted[~np.isin(wanted, self._revs, assume_unique=True)]
        if not state.extends(self.state) or (len(come) and stays.any() and come[0] < self._revs[stays][-1]):
            return None
        if len(come) > len(wanted) // 2:
            return None
        added = self._read(state, come, keys_of(come.tolist()) if len(come) else {})
        kept = np.repeat(stays, self._counts)
        keys, rows = self.keys[kept], self.rows[kept]
        found = np.zeros(0, np.int64)  # places of chunks whose vectors came
        if state is not self.state and self.missing:
            unknown = np.flatnonzero(rows < 0)
            rows[unknown] = state.rows_of(keys[unknown])
            found = unknown[rows[unknown] >= 0]
        after = ChunkRows(
            state,
            np.concatenate((self._revs[stays], come)),
            np.concatenate((self._counts[stays], added._counts)),
            np.concatenate((keys, added.keys)),
            np.concatenate((rows, added.rows)),
            tokens_before=(self._uses > 0, self._token_counts) if "_token_counts" in self.__dict__ else None,
        )
        fresh = np.concatenate((found, np.arange(len(rows), after.total)))
        if len(fresh) <= _MOST_INSERTED:
            after._go_on(self, ~stays, kept, fresh)
        return after

    def _go_on(
        self, before: ChunkRows, gone: NDArray[np.bool_], kept: NDArray[np.bool_], fresh: Rows
    ) -> None:
        """Take over what was sorted and counted; ``fresh`` are the places of chunks that it lacks."""
        if "_uses" in before.__dict__:
            uses = np.concatenate((before._uses, np.zeros(self.state.count - len(before._uses), np.int64)))
            went, came = before.rows[~kept], self.rows[fresh]
            np.subtract.at(uses, went[went >= 0], 1)
            np.add.at(uses, came[came >= 0], 1)
            self.__dict__["_uses"] = uses
        if "_by_row" in before.__dict__:
            ids, rows = before._by_row
            added = self._ids(fresh)
            stays = ~np.isin(ids >> _ORDINAL_BITS, before._revs[gone])
            first = int(np.searchsorted(rows, 0))  # before it are chunks without a vector
            stays[:first] &= ~np.isin(ids[:first], added)
            self.__dict__["_by_row"] = _inserted(ids[stays], rows[stays], added, self.rows[fresh])

    @property
    def revs(self) -> Ids:
        """The revs of the pages, sorted."""
        return self._revs

    @property
    def total(self) -> int:
        """Number of chunks."""
        return len(self.rows)

    def missing_revs(self) -> list[int]:
        """Return the revs of the pages with a chunk that has no vector."""
        found: list[int] = np.unique(np.repeat(self._revs, self._counts)[self.rows < 0]).tolist()
        return found

    def missing_keys(self) -> set[bytes]:
        """Return the keys of the chunks that have no vector."""
        return {key.tobytes() for key in self.keys[self.rows < 0]}

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
        order = np.argsort(self.rows, kind="stable")
        return self._ids(np.arange(self.total))[order], self.rows[order]

    def _ids(self, places: Rows) -> Ids:
        """Return the ids of the chunks at some places."""
        at = np.searchsorted(self._starts, places, side="right") - 1
        ordinals = (places - self._starts[at]).astype(np.uint64)
        return (self._revs[at] << _ORDINAL_BITS) | ordinals

    @cached_property
    def _uses(self) -> NDArray[np.int64]:
        """How many of the chunks use each row."""
        return np.bincount(self.rows[self.rows >= 0], minlength=self.state.count)

    @cached_property
    def _used(self) -> Rows | None:
        """The rows in use, or None when every row is: the common case needs no mask."""
        used = self._uses > 0
        return None if used.all() else np.flatnonzero(used)

    def search(self, query: Vectors, *, limit: int, allowed: Ids | None = None) -> DenseHits:
        """Return the chunks of the best ``limit`` rows; ``allowed`` are sorted revs, or None for all."""
        rows = self._used
        if allowed is not None:
            within = np.repeat(np.isin(self._revs, allowed), self._counts) & (self.rows >= 0)
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

    def query_tokens(self, query: str) -> QueryTokens | None:
        """Return a question's tokens for late interaction; None without token lists or tokens."""
        embedder = self.state.embedder
        if self.state.tokens is None or not self.state.count or not isinstance(embedder, TokenEmbedder):
            return None
        (ids,) = embedder.token_ids([query])
        return query_tokens(ids.astype(np.int64), self.state.table, self._idf)

    @cached_property
    def _idf(self) -> Vectors:
        """Token idf over the texts in use: rows that nothing visible uses leave no trace."""
        texts, counts = int((self._uses > 0).sum()), self._token_counts
        idf: Vectors = np.log(1 + (texts - counts + 0.5) / (counts + 0.5)).astype(np.float32)
        return idf

    @cached_property
    def _token_counts(self) -> Rows:
        """In how many of the texts in use each token stands; after an edit only its texts are counted."""
        used = self._uses > 0
        if self._tokens_before is None:
            return self._counted(used)
        before, counts = self._tokens_before
        before = np.concatenate((before, np.zeros(len(used) - len(before), np.bool_)))
        return counts + self._counted(used & ~before) - self._counted(before & ~used)

    def _counted(self, rows: NDArray[np.bool_]) -> Rows:
        tokens = self.state.tokens
        assert tokens is not None
        chosen = np.flatnonzero(rows)
        total = np.zeros(len(self.state.table), np.int64)
        if len(chosen) < _FEW_ROWS:
            starts, ends = tokens.bounds(chosen)
            parts = map(tokens.flat.__getitem__, map(slice, starts, ends))
            _count_into(total, np.concatenate([tokens.flat[:0], *parts]))
            return total
        # Block by block: counting takes eight bytes for each of two.
        for first in range(0, len(rows), _COUNTED_AT_ONCE):
            used = rows[first : first + _COUNTED_AT_ONCE]
            starts, ends = tokens.bounds(np.arange(first, first + len(used)))
            flat = tokens.flat[starts[0] : ends[-1]]
            _count_into(total, flat if used.all() else flat[np.repeat(used, ends - starts)])
        return total

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


def revs_of(pages: Collection[PageRecord]) -> Ids:
    """Return the revs of pages, sorted."""
    return np.sort(np.fromiter((page.rev for page in pages), np.uint64, len(pages)))


def revs_after(revs: Ids, went: Collection[PageRecord], came: Collection[PageRecord]) -> Ids:
    """Return sorted revs without those of some pages, then with those of others."""
    kept = revs[~np.isin(revs, revs_of(went))]
    return np.sort(np.concatenate((kept, revs_of(came))))


def _inserted(ids: Ids, rows: Rows, more_ids: Ids, more_rows: Rows) -> tuple[Ids, Rows]:
    """Return chunk ids in order of their rows, then of themselves, with a few more put among them."""
    order = np.lexsort((more_ids, more_rows))
    more_ids, more_rows = more_ids[order], more_rows[order]
    first = np.searchsorted(rows, more_rows, side="left").tolist()
    last = np.searchsorted(rows, more_rows, side="right").tolist()
    at = [a + int(np.searchsorted(ids[a:b], id_)) for a, b, id_ in zip(first, last, more_ids, strict=True)]
    return np.insert(ids, at, more_ids), np.insert(rows, at, more_rows)


def _count_into(total: Rows, flat: NDArray[np.uint16]) -> None:
    """Add how often each token stands in ``flat``; ids beyond the table are nobody's."""
    counts = np.bincount(flat, minlength=len(total))
    total += counts[: len(total)]
