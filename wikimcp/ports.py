"""What the index asks of its parts: vault adapters, embedders, lexical and dense indexes, triple stores.

Members of a family implement one of these Protocols; ``app.py`` alone chooses between them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wikimcp.models import Diagnostic, FileStamp, ParsedPage, Scan

Vectors = NDArray[np.float32]
Ids = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class FileContent:
    """A page file as read once: decoded text, how it was decoded, its hash and its stamp.

    ``content_hash`` is the first 16 hex of the SHA-256 of the bytes. ``partial`` is true when the
    file was over the size cap and only its first part was read.
    """

    stamp: FileStamp
    text: str
    encoding: str
    content_hash: str
    partial: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


class VaultAdapter(Protocol):
    """One dialect over one folder. Picklable, so that big vaults are parsed by several processes."""

    @property
    def name(self) -> str:
        """The dialect's name, as the ``adapter`` setting spells it."""

    @property
    def root(self) -> Path:
        """The configured vault folder."""

    @property
    def source_root(self) -> Path:
        """The folder that page paths are relative to."""

    @property
    def dialect_settings(self) -> str:
        """What of the dialect's own settings shapes how pages are read; another value, another index."""

    def slug(self, path: str) -> str:
        """Return the slug of a page by its path alone, whether there is such a file or not."""

    def scan(self) -> Scan:
        """Walk the vault; stat every page file. Raises VaultError when the root is not readable."""

    def read(self, path: str) -> FileContent:
        """Open one page file safely (regular, inside the vault) and decode it.

        Raises FileNotFoundError when it is gone or not a page any more, OSError when it cannot be
        read, NotFound when it leaves the vault.
        """

    def stat(self, path: str) -> FileStamp | None:
        """Stat one page file; None when it is gone or no regular file inside the vault."""

    def parse(self, content: FileContent) -> ParsedPage:
        """Parse one file. Never raises for what a file holds: oddities become diagnostics."""

    def holds(self, path: str) -> bool:
        """Say whether the root (not the source root) has a file or folder that no setting keeps back."""

    def sidecars(self) -> tuple[FileStamp, ...]:
        """Stat the graph sidecars that are served now; their paths are relative to the root."""

    def read_sidecar(self, path: str, *, cap: int) -> bytes:
        """Return a sidecar's bytes, one more than ``cap`` at most. Raises OSError when it cannot be read."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Model identity stored beside the vectors, e.g. ``wordllama-l2-256``."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def thresholds(self) -> tuple[float, float]:
        """Calibrated cosines (strong, partial) of this model for coverage."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 of shape ``(len(texts), dimension)``, rows of length 1 (0 for no token)."""

    def embed_query(self, text: str) -> Vectors:
        """Return float32 of shape ``(dimension,)`` for a question."""


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder whose vectors are made of static token vectors, which late interaction can use."""

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[NDArray[np.uint16]]]:
        """Return what ``embed`` and ``token_ids`` return, for the work of one of them."""

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint16]]:
        """Return the distinct token ids of each text, sorted."""

    def token_vectors(self, dimensions: int) -> Vectors:
        """Return the table cut to its leading ``dimensions``, float32 rows of length 1, by token id."""


class DenseIndex(Protocol):
    """Nearest rows of a matrix of unit vectors by cosine. Immutable once built."""

    @property
    def size(self) -> int:
        """Number of rows."""

    def search(
        self, query: Vectors, *, limit: int, allowed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return (rows, cosines), best first, at most ``limit``, only rows in ``allowed`` if given.

        Raises ValueError when the query's shape does not fit.
        """


@dataclass(frozen=True, slots=True)
class LexicalChunk:
    """A chunk as the lexical index takes it; its id is ``page.rev << 16 | position in page.chunks``."""

    heading_path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class LexicalPage:
    """A page as the lexical index takes it; ``rev`` identifies this content of the page for ever.

    ``cjk`` tells whether any of it is in a script that is searched by characters.
    """

    rev: int
    path: str
    title: str
    summary: str
    cluster: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    headings: tuple[str, ...]
    chunks: tuple[LexicalChunk, ...]
    cjk: bool = False


@dataclass(frozen=True, slots=True)
class AnalyzedPage:
    """A page's fields as a lexical index stores them, worked out apart from it; ``rev`` as in LexicalPage.

    What ``fields`` are is the matter of the member that made them.
    """

    rev: int
    fields: Any


class PageAnalysis(Protocol):
    """Works out what a lexical index stores of a page. Picklable: parsing has several processes."""

    def __call__(self, page: LexicalPage) -> AnalyzedPage:
        """Return the page as this index takes it."""


@dataclass(frozen=True, slots=True)
class LexicalTerm:
    """One term of a query as understood: ``surface`` as typed, ``stem`` as indexed.

    ``pages`` counts the documents that hold it (0: missing), ``weight`` is its idf,
    ``distinctive`` is false for stop words and for what nearly every page holds.
    """

    surface: str
    stem: str
    pages: int
    weight: float
    distinctive: bool


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Ranked chunks and pages for one query, best first; scores are raw BM25 sums."""

    chunk_ids: Ids
    chunk_scores: Vectors
    page_revs: Ids
    page_scores: Vectors
    terms: tuple[LexicalTerm, ...]
    interpreted_as: str


class LexicalStatistics(Protocol):
    """What scoring counts: live documents, and those that hold a token in a field of the member."""

    page_count: int
    chunk_count: int

    def pages(self, field: str, token: str) -> int:
        """Return how many pages hold a token."""

    def chunks(self, field: str, token: str) -> float:
        """Return how many chunks hold a token."""


class LexicalSearcher(Protocol):
    """A point-in-time reader of a lexical index."""

    @property
    def generation(self) -> int:
        """The generation this reader's commit belongs to (0: empty)."""

    def search(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank for any string; ``allowed`` are the revs that may be returned (None: all)."""

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many pages hold at least one term of the query."""

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text in order, as they are indexed (stop words included)."""

    def statistics(self, among: frozenset[int] | None = None) -> LexicalStatistics:
        """Return what this reader counts, of pages with these revs only when given."""

    def under(self, statistics: Sequence[LexicalStatistics]) -> LexicalSearcher:
        """Return this reader with scores and terms by the sums of ``statistics``: of one member all."""


class LexicalIndex(Protocol):
    """A lexical index on disk: many readers, one writer at a time."""

    @property
    def analysis(self) -> PageAnalysis:
        """What makes of a page what ``write`` takes."""

    def write(
        self, *, generation: int, removed: Iterable[int], added: Iterable[AnalyzedPage], fresh: bool = False
    ) -> None:
        """Apply removals (revs) and additions and commit them as ``generation``, durably.

        ``fresh`` starts from nothing. ``added`` may be a lazy iterator. Raises StateError when
        another writer is active or the disk refuses.
        """

    def searcher(self) -> LexicalSearcher:
        """Return a reader of the newest commit. Raises StateError when the index is unusable."""

    def waste(self) -> float:
        """Return which share of what is stored is deleted and stays until the index is made anew."""

    def close(self) -> None:
        """Release files and threads."""


RdfTerm = tuple[str, str, str, str]
"""(kind, value, datatype, language); kind is iri, literal or blank, the datatype of a plain string empty."""


@dataclass(frozen=True, slots=True)
class TripleLimits:
    """What one query may cost: seconds of the clock, bytes of memory beyond the data, bytes of values."""

    seconds: float = 5.0
    memory_bytes: int = 512 << 20
    most_bytes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class TripleAnswer:
    """What a query found: ``kind`` is rows (SELECT), truth (ASK) or graph (CONSTRUCT, DESCRIBE).

    ``turtle`` holds lines: prefixes, then a statement each. ``truncated`` tells that a cap cut something
    off, ``fixed`` whether the same query over the same data always gives these rows in this order.
    """

    kind: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[RdfTerm | None, ...], ...] = ()
    truth: bool = False
    turtle: tuple[str, ...] = ()
    truncated: bool = False
    fixed: bool = True


class TripleSet(Protocol):
    """What one audience may ask about: N-Triples in pieces, of which an edit changes a few.

    A piece whose key is the IRI of a page holds that page with its parts (``dcterms:isPartOf``) as
    subjects and nothing else; no triple is in two pieces.
    """

    @property
    def name(self) -> str:
        """Which data set it is: another audience, another name."""

    @property
    def mark(self) -> str:
        """A mark of the whole: sets of one name and one mark hold the same. Costs little."""

    @property
    def place(self) -> Path | None:
        """A file where the store may keep a copy for another start; None for a set that is not kept."""

    @property
    def signatures(self) -> Mapping[str, str]:
        """A mark for each piece by key: another mark, another content."""

    def lines(self, keys: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        """Yield (key, N-Triples) of some pieces."""


class TripleStore(Protocol):
    """Read-only SPARQL over data sets, bounded in time, memory and rows. Safe to use from several threads."""

    @property
    def trouble(self) -> str:
        """Why no query can run; empty when they can."""

    def query(self, text: str, data: TripleSet, *, limit: int) -> TripleAnswer:
        """Run one query over a data set, which is brought in line first; at most ``limit`` rows.

        Raises QueryRejected for what is never run or cannot be, TimedOut at the time limit, Unavailable
        where no worker runs.
        """

    def prepare(self, data: TripleSet) -> bool:
        """Load a data set that has a copy before anybody asks; False where it has none or all is loaded."""

    def close(self) -> None:
        """End whatever runs. Idempotent."""
