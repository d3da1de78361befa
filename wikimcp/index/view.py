"""What a tool reads: one call's handle on a view, which notes the pages that the answer rests on.

The service checks the files of those pages before the answer leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wikimcp.errors import NotFound, Unavailable
from wikimcp.index.audience_view import View
from wikimcp.index.clusters import Cluster
from wikimcp.index.dense_state import DenseHits, DenseState
from wikimcp.index.ledger import path_of_former_id
from wikimcp.index.records import PageBody, PageRecord
from wikimcp.index.stale import Stale
from wikimcp.markdown.tokens import LineIndex, span_sha256
from wikimcp.models import Citation, Section
from wikimcp.ports import FileContent, Ids, LexicalHits, Vectors
from wikimcp.retrieval.traits import Outline

__all__ = ["Cluster", "PageBody", "PageRecord", "Reading", "View"]


class Reading:
    """One call's handle on a view: everything a tool may ask for, with the files it rests on noted."""

    def __init__(
        self,
        view: View,
        *,
        dense: DenseState | None = None,
        static: DenseState | None = None,
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        self.view = view
        self.left_out = left_out
        self.static = static
        self.audience = view.audience
        self.dense = dense
        self.touched: dict[str, PageRecord] = {}
        self._texts: dict[int, str] = {}
        self._lines: dict[int, LineIndex] = {}

    @property
    def pages(self) -> Sequence[PageRecord]:
        """View pages, sorted by path."""
        return self.view.pages

    @property
    def generation(self) -> int:
        """The generation of the index that is read."""
        return self.view.snapshot.generation

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        """Clusters by name, sorted."""
        return self.view.clusters

    @property
    def tags(self) -> Mapping[str, tuple[PageRecord, ...]]:
        """Pages by tag, sorted by tag."""
        return self.view.tags

    def touch(self, pages: Iterable[PageRecord]) -> None:
        """Note pages whose facts go into the answer."""
        self.touched.update((page.path, page) for page in pages)

    def page(self, slug: str) -> PageRecord | None:
        """Return the page of exactly that slug."""
        found = self.view.names.slugs.get(slug)
        if found is not None:
            self.touched[found.path] = found
        return found

    def outlines(self, revs: Sequence[int]) -> dict[int, Outline]:
        """Return the outlines of visible pages by rev."""
        return self.view.outlines(revs)

    def page_by_rev(self, rev: int) -> PageRecord | None:
        """Return the visible page with that content, if it is still the page's content."""
        return self.view.by_rev.get(rev)

    def resolve(self, name: str) -> PageRecord:
        """Resolve a caller's name for a page (slug, path, id, folded slug, stem, title, alias).

        Raises NotFound with the nearest visible names, Ambiguous with the candidates.
        """
        try:
            found = self.view.names.resolve(name)
        except NotFound:
            self._explain(name)
            raise
        self.touched[found.path] = found
        return found

    def _explain(self, name: str) -> None:
        """Raise Unavailable for a name of a file that is there but cannot be served, with the reason."""
        wanted = name.strip()
        for path in self.left_out:
            if wanted in (path, path.rpartition(".")[0]):
                raise Unavailable(f"{wanted!r} is changing right now", hint="Ask again in a moment.")
        for file in self.view.snapshot.catalog.skipped():
            if wanted in (file.path, file.path.rpartition(".")[0]):
                raise Unavailable(f"{wanted!r} is in the vault but is not served: {file.why.message}")

    def by_id(self, canonical_id: str) -> PageRecord | None:
        """Return the page of that canonical id."""
        found = self.view.names.ids.get(canonical_id)
        if found is not None:
            self.touched[found.path] = found
        return found

    def moved_id(self, canonical_id: str) -> PageRecord | None:
        """Return the visible page that once had an id and has another now."""
        snapshot = self.view.snapshot
        path = path_of_former_id(snapshot.ledger, canonical_id) if snapshot.ledger else ""
        found = self.view.names.paths.get(path) if path else None
        if found is not None:
            self.touched[found.path] = found
        return found

    def body(self, page: PageRecord) -> PageBody:
        """Return sections, chunks, links and frontmatter of a page. Raises Stale when it moved on."""
        body, clashes = self.view.body(page), self.view.clashes(page)
        return replace(body, diagnostics=(*body.diagnostics, *clashes)) if clashes else body

    def sections(self, page: PageRecord) -> tuple[Section, ...]:
        """Return a page's sections. Raises Stale when the page moved on."""
        return self.view.sections(page)

    def frontmatters(self) -> Mapping[int, Mapping[str, Any]]:
        """Return the frontmatter of every visible page that has one, by rev."""
        return self.view.frontmatters

    def source_refs(self, page: PageRecord) -> tuple[str, ...]:
        """Return the sources that a page names."""
        return self.view.source_refs.get(page.rev, ())

    def text(self, page: PageRecord) -> str:
        """Return the file's text as it is now. Raises Stale when it is not what was indexed."""
        found = self._texts.get(page.rev)
        if found is None:
            self.touched[page.path] = page
            try:
                content: FileContent = self.view.adapter.read(page.path)
            except OSError as error:
                raise Stale(page.path) from error
            if content.content_hash != page.content_hash:
                raise Stale(page.path)
            found = self._texts[page.rev] = content.text
        return found

    def cite(
        self, page: PageRecord, text: str, start: int, end: int, heading_path: tuple[str, ...]
    ) -> Citation:
        """Make the citation of ``text[start:end]``, ``text`` being the page's text."""
        index = self._lines.get(page.rev)
        if index is None:
            index = self._lines[page.rev] = LineIndex(text)
        return Citation(
            slug=page.slug,
            version=page.version,
            canonical_id=page.canonical_id,
            heading_path=heading_path,
            lines=(index.line(start), index.line(max(start, end - 1))),
            span_sha256=span_sha256(text[start:end]),
        )

    def backlinks(self, page: PageRecord) -> Sequence[PageRecord]:
        """Pages that link to this one, by path."""
        slugs = self.view.names.slugs
        return [slugs[slug] for slug in self.view.links.incoming.get(page.slug, ())]

    def outlinks(self, page: PageRecord) -> Sequence[PageRecord]:
        """Pages this one links to, in order of first mention."""
        slugs = self.view.names.slugs
        return [slugs[slug] for slug in self.view.links.outgoing.get(page.slug, ())]

    def in_degree(self, page: PageRecord) -> int:
        """Return how many other visible pages link to a page."""
        return self.view.links.in_degree(page.slug)

    def lexical(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages by BM25; only ``allowed`` revs when given."""
        return self.view.lexical(query, limit=limit, allowed=allowed)

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many visible pages hold at least one term of the query."""
        return self.view.count_pages(query, allowed=allowed)

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text as they are indexed."""
        return self.view.analyze(text)

    def embed_query(self, query: str) -> Vectors | None:
        """Return the vector of a question; None when there are no vectors to compare it with."""
        return None if self.dense is None else self.dense.embedder.embed_query(query)

    def dense_hits(self, vector: Vectors, *, limit: int, allowed: Collection[int] | None = None) -> DenseHits:
        """Rank chunks by cosine to ``vector``; only ``allowed`` revs when given."""
        assert self.dense is not None
        revs = None if allowed is None else np.array(sorted(allowed), np.uint64)
        return self.view.chunk_rows(self.dense).search(vector, limit=limit, allowed=revs)

    def cosines(self, vector: Vectors, chunk_ids: Ids) -> Vectors:
        """Return the cosine of each chunk with ``vector``, -1 where it has no vector."""
        assert self.dense is not None
        return self.view.chunk_rows(self.dense).cosines(vector, chunk_ids)

    def late(self, query: str) -> Callable[[Ids], Vectors] | None:
        """Return a function from chunk ids to late-interaction scores; None without token vectors."""
        static = self.static
        if static is None:
            return None
        rows = self.view.chunk_rows(static)
        tokens = rows.query_tokens(query)
        return None if tokens is None else lambda chunk_ids: rows.late(tokens, chunk_ids)
