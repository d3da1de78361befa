"""Growing the vectors behind the lexical index: resumable, by one process at a time, nothing twice."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from wikimcp.errors import WikimcpError
from wikimcp.index.catalog import Catalog
from wikimcp.index.dense_state import BuildDense, ChunkRows, DenseState, revs_after, revs_of
from wikimcp.index.lock import ProcessLock
from wikimcp.index.memory import give_back
from wikimcp.index.page_record import PageRecord
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.state import StateDir
from wikimcp.index.vectors import VectorFile
from wikimcp.layers import PathOrder
from wikimcp.markdown.tokens import visible_text
from wikimcp.ports import Embedder, TokenEmbedder, VaultAdapter
from wikimcp.retrieval.embedding_text import chunk_key, contextual_text

log = logging.getLogger("wikimcp.embedding")

# Texts between two appends: a kill loses at most these, a stop waits for them.
_STATIC_BATCH = 1024
_TRANSFORMER_BATCH = 64
Report = Callable[[str, int, int], None]


class EmbedderVectors:
    """One embedder with its vector file, and how far the vectors cover the chunks of a snapshot."""

    def __init__(self, embedder: Embedder, state: StateDir, build: BuildDense) -> None:
        self.embedder = embedder
        self._state = state
        self._build = build
        self._file: VectorFile | None = None
        self._loaded: DenseState | None = None
        self._rows: tuple[Catalog, PathOrder[PageRecord], ChunkRows] | None = None
        self._mutex = threading.Lock()
        self._appending: ProcessLock | None = None

    @property
    def file(self) -> VectorFile:
        """The vector file; opened late, since asking an embedder for its dimension may load it."""
        if self._file is None:
            self._file = VectorFile(
                self._folder,
                dimension=self.embedder.dimension,
                with_tokens=isinstance(self.embedder, TokenEmbedder),
            )
        return self._file

    @property
    def _folder(self) -> Path:
        return self._state.vectors(self.embedder.name)

    @property
    def lock(self) -> ProcessLock:
        """The lock of whoever appends vectors of this embedder: one process at a time."""
        if self._appending is None:
            self._appending = ProcessLock(self._folder / "append.lock")
        return self._appending

    def load(self) -> DenseState:
        """Return the vectors on disk; loaded again only when there are others."""
        with self._mutex:
            if self._loaded is None and self.file.damaged():
                log.warning("the vectors of %s are damaged and are made again", self.embedder.name)
                self.file.discard()
            if self._loaded is None or self._loaded.mark != self.file.mark():
                self._loaded = DenseState(self.embedder, self.file, self._build, before=self._loaded)
            return self._loaded

    def discard(self) -> None:
        """Forget all vectors, so that they are made again."""
        with self._mutex:
            self.file.discard()
            self._loaded = None

    def _chunk_rows(self, snapshot: Snapshot, pages: PathOrder[PageRecord]) -> ChunkRows:
        catalog, known = snapshot.catalog, self._rows
        if known is not None and known[0] is catalog:
            revs = revs_after(known[2].revs, *known[1].differences(pages))
            rows = ChunkRows.of(self.load(), revs, catalog.chunk_keys, before=known[2])
        else:
            rows = ChunkRows.of(self.load(), revs_of(pages), catalog.chunk_keys)
        self._rows = (catalog, pages, rows)
        return rows

    def grow(
        self,
        snapshot: Snapshot,
        adapter: VaultAdapter,
        pages: PathOrder[PageRecord],
        *,
        stop: threading.Event,
        report: Report | None = None,
    ) -> None:
        """Embed what is missing of ``pages``, appending batch by batch, until done or stopped.

        The caller holds ``lock``. A page that changed meanwhile is left to the next round.
        """
        rows = self._chunk_rows(snapshot, pages)
        if not rows.missing:
            return
        lacking = set(rows.missing_revs())
        wanted = rows.missing_keys()
        todo = [page for page in pages if page.rev in lacking]
        total = sum(page.chunk_count for page in todo)
        done = 0
        batch: dict[bytes, str] = {}
        most = _STATIC_BATCH if isinstance(self.embedder, TokenEmbedder) else _TRANSFORMER_BATCH
        for page in todo:
            for key, text in _texts(snapshot, adapter, page):
                if key in wanted:
                    batch[key] = text
                    wanted.discard(key)
            done += page.chunk_count
            if len(batch) >= most:
                self._append(batch)
                batch = {}
                if report:
                    report("embedding", done, total)
            if stop.is_set():
                return
        if batch:
            self._append(batch)
        if report:
            report("embedding", total, total)
        if total >= _STATIC_BATCH:
            give_back()

    def _append(self, batch: dict[bytes, str]) -> None:
        texts = list(batch.values())
        if isinstance(self.embedder, TokenEmbedder):
            vectors, tokens = self.embedder.embed_with_tokens(texts)
        else:
            vectors, tokens = self.embedder.embed(texts), None
        self.file.append(np.frombuffer(b"".join(batch), np.uint64), vectors, tokens)


def _texts(snapshot: Snapshot, adapter: VaultAdapter, page: PageRecord) -> Iterator[tuple[bytes, str]]:
    """Yield (key, contextual text) of a page's chunks; nothing when the file moved on."""
    body = snapshot.catalog.body(page.rev)
    if body is None:
        return
    try:
        content = adapter.read(page.path)
    except (OSError, WikimcpError):
        return
    if content.content_hash != page.content_hash:
        return
    for chunk in body.chunks:
        text = contextual_text(
            title=page.title,
            cluster=page.cluster,
            heading_path=body.sections[chunk.section].heading_path,
            summary=page.summary,
            text=visible_text(content.text, chunk.start, chunk.end, hidden=body.hidden),
        )
        yield chunk_key(text), text
