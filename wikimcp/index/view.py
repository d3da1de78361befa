"""What a tool reads: a Snapshot as one audience may see it. Every count and list is visible-only.

A View is shared by all calls of an audience; a Reading is one call's handle on it, which notes
the pages the answer rests on so that the service can check their files before it leaves.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from wikimcp.errors import NotFound, StateError, Unavailable
from wikimcp.graph.links import LinkGraph, same_names
from wikimcp.graph.resolve import LinkTarget
from wikimcp.index.clusters import Cluster, build_clusters, build_tags
from wikimcp.index.dense_state import ChunkRows, DenseHits, DenseState
from wikimcp.index.ledger import path_of_former_id
from wikimcp.index.names import PageNames
from wikimcp.index.records import PageBody, PageRecord, links_from_cell
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.stale import IndexDamaged, Stale
from wikimcp.index.visible import VisiblePages
from wikimcp.markdown.tokens import LineIndex, span_sha256
from wikimcp.models import ANONYMOUS, Audience, Citation, Diagnostic, Link, LinkKind, Section
from wikimcp.ports import FileContent, Ids, LexicalHits, VaultAdapter, Vectors
from wikimcp.retrieval.merge import merge_hits
from wikimcp.retrieval.traits import Outline, outline

_BLOCK_LINK = f'["{LinkKind.BLOCK.value}",'
_MOST_OUTLINES = 4_000  # pages whose outlines are kept, about 2 kB each
_MOST_BODIES = 512
_MOST_INHERITED = 200  # edited pages

__all__ = ["Cluster", "PageBody", "PageRecord", "Reading", "View"]


class View:
    """The visible part of one snapshot. Tables are built at first use and never change."""

    def __init__(
        self, snapshot: Snapshot, audience: Audience, adapter: VaultAdapter, *, previous: View | None = None
    ) -> None:
        self.snapshot = snapshot
        self.audience = audience
        self.adapter = adapter
        self._building = threading.RLock()
        self._bodies: dict[int, PageBody] = {}
        self._sections: dict[int, tuple[Section, ...]] = {}
        self._outlines: dict[int, Outline] = {}
        self._chunk_rows: dict[str, ChunkRows] = {}
        self._rows_made: set[str] = set()  # embedders whose chunk rows are of this view already
        # Taken over here and now, so that no chain of old views is kept alive.
        before = previous._visible if previous is not None else None
        self._visible: VisiblePages = VisiblePages.of(snapshot.visible(audience), before=before)
        self._inherited: LinkGraph | None = None
        # Revs mean the same pages only within one catalog: a rebuilt index counts them anew.
        if previous is not None and previous.snapshot.catalog is snapshot.catalog:
            self._inherit(previous)

    def _inherit(self, previous: View) -> None:
        """Take over what was read of pages that are still the same, by rev."""
        self._outlines = previous._outlines
        self._sections = previous._sections
        self._bodies = previous._bodies
        self._chunk_rows = dict(previous._chunk_rows)
        self._inherited = self._inherited_links(previous)

    @property
    def pages(self) -> Sequence[PageRecord]:
        """View pages by path, every slug and canonical id on one page only."""
        return self._visible.pages

    @cached_property
    def names(self) -> PageNames:
        """The names by which pages can be asked for."""
        return PageNames(self._visible)

    @property
    def by_rev(self) -> Mapping[int, PageRecord]:
        """View pages by rev: a hit on any other is no hit."""
        return self._visible.by_rev

    def clashes(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each name that the page shares with others."""
        return self._visible.clashes_of(page)

    def all_clashes(self) -> Iterable[tuple[PageRecord, Diagnostic]]:
        """Yield (page, diagnostic) of all pages that share a name."""
        return self._visible.clashes()

    @cached_property
    def clusters(self) -> Mapping[str, Cluster]:
        """Clusters by name, sorted."""
        return build_clusters(self.pages)

    @cached_property
    def tags(self) -> Mapping[str, tuple[PageRecord, ...]]:
        """Pages by tag, sorted by tag."""
        return build_tags(self.pages)

    @cached_property
    def links(self) -> LinkGraph:
        """The link graph of the visible pages."""
        if self._inherited is not None:
            return self._inherited
        cells = dict(self.snapshot.catalog.links())
        by_slug = self.names.slugs

        def links_of(target: LinkTarget) -> Sequence[Link]:
            return links_from_cell(cells.get(by_slug[target.slug].rev, ""))

        refers = any(_BLOCK_LINK in cell for cell in cells.values())
        return LinkGraph.build(
            self.pages,
            links_of,
            attachments=self.snapshot.attachments,
            blocks=self._blocks() if refers else None,
        )

    def _blocks(self) -> Mapping[str, str]:
        """Return the slugs of the visible pages by the ids of their blocks; the first by path keeps one."""
        cells = dict(self.snapshot.catalog.blocks())
        found: dict[str, str] = {}
        for page in self.pages:
            for block in json.loads(cells.get(page.rev, "{}")).get("blocks", ()):
                found.setdefault(block.lower(), page.slug)
        return found

    def _inherited_links(self, previous: View) -> LinkGraph | None:
        """Carry the link graph over when only texts changed; None when it must be made anew."""
        if "links" not in previous.__dict__ or previous.snapshot.attachments != self.snapshot.attachments:
            return None
        old, new = previous.by_rev, self.by_rev
        gone = {old[rev].slug: old[rev] for rev in old.keys() - new.keys()}
        come = [new[rev] for rev in new.keys() - old.keys()]
        if len(come) != len(gone) or len(come) > _MOST_INHERITED:
            return None
        if not all(page.slug in gone and same_names(gone[page.slug], page) for page in come):
            return None
        bodies = {page: self.snapshot.catalog.body(page.rev) for page in come}
        read = {page: body for page, body in bodies.items() if body is not None}
        if len(read) < len(bodies) or not all(_same_blocks(previous.links, *item) for item in read.items()):
            return None
        return previous.links.updated({page: body.links for page, body in read.items()})

    @cached_property
    def frontmatters(self) -> Mapping[int, Mapping[str, Any]]:
        """Frontmatter of every visible page that has one, by rev."""
        visible = self.by_rev
        return {rev: json.loads(cell) for rev, cell in self.snapshot.catalog.frontmatters() if rev in visible}

    @property
    def skipped_count(self) -> int:
        """How many files are not served."""
        return self.snapshot.catalog.skipped_count()

    def body(self, page: PageRecord) -> PageBody:
        """Return a page's body from the catalog. Raises Stale when a newer generation replaced it."""
        found = self._bodies.get(page.rev)
        if found is None:
            found = self.snapshot.catalog.body(page.rev)
            if found is None:
                raise Stale(page.path)
            if len(self._bodies) > _MOST_BODIES:
                self._bodies.clear()
            self._bodies[page.rev] = found
        return found

    def sections(self, page: PageRecord) -> tuple[Section, ...]:
        """Return a page's sections without the rest of its body. Raises Stale like ``body``."""
        found = self._sections.get(page.rev)
        if found is None:
            found = self.snapshot.catalog.sections(page.rev)
            if found is None:
                raise Stale(page.path)
            if len(self._sections) > _MOST_BODIES:
                self._sections.clear()
            self._sections[page.rev] = found
        return found

    def outlines(self, revs: Sequence[int]) -> dict[int, Outline]:
        """Return the outlines of visible pages by rev; those no longer in the catalog are left out."""
        known, visible = self._outlines, self.by_rev
        found = {rev: known.get(rev) for rev in revs if rev in visible}
        lacking = [rev for rev, shape in found.items() if shape is None]
        if lacking:
            if len(known) > _MOST_OUTLINES:
                known.clear()
            for rev, cells in self.snapshot.catalog.outline_cells(lacking).items():
                found[rev] = known[rev] = outline(*cells)
        return {rev: shape for rev, shape in found.items() if shape is not None}

    def chunk_rows(self, state: DenseState) -> ChunkRows:
        """Return the map between this view's chunks and the rows of ``state``."""
        name = state.embedder.name
        with self._building:
            found = self._chunk_rows.get(name)
            if found is None or found.state is not state or name not in self._rows_made:
                keys_of = self.snapshot.catalog.chunk_keys
                found = ChunkRows.of(state, list(self.by_rev), keys_of, before=found)
                self._chunk_rows[name] = found
                self._rows_made.add(name)
            return found

    def lexical(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages by BM25; only ``allowed`` revs when given."""
        with _readable():
            hits = self.snapshot.searcher.search(query, limit=limit, allowed=allowed)
            unlocked = self._unlocked(allowed)
            if not unlocked or self.snapshot.hidden is None:
                return hits
            hidden = self.snapshot.hidden.search(query, limit=limit, allowed=unlocked)
        return merge_hits(hits, hidden, limit=limit)

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many visible pages hold at least one term of the query."""
        with _readable():
            total = self.snapshot.searcher.count_pages(query, allowed=allowed)
            unlocked = self._unlocked(allowed)
            if unlocked and self.snapshot.hidden is not None:
                total += self.snapshot.hidden.count_pages(query, allowed=unlocked)
        return total

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text as they are indexed."""
        return self.snapshot.searcher.analyze(text)

    def _unlocked(self, allowed: Collection[int] | None) -> set[int]:
        """Return the revs of pages that not everybody but this audience may see."""
        if self.audience == ANONYMOUS:
            return set()
        unlocked = {page.rev for page in self.pages if not page.public}
        return unlocked if allowed is None else unlocked & set(allowed)


def _same_blocks(links: LinkGraph, page: PageRecord, body: PageBody) -> bool:
    """Whether an edit left all that block references rest on as it was."""
    known = links.resolver.blocks
    if known is None:
        return all(link.kind is not LinkKind.BLOCK for link in body.links)
    before = {block for block, slug in known.items() if slug == page.slug}
    return before == {block.lower() for block in body.block_ids}


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


@contextmanager
def _readable() -> Iterator[None]:
    """Tell a lexical index that cannot be read from what a caller did."""
    try:
        yield
    except StateError as error:
        raise IndexDamaged(error.message) from error
