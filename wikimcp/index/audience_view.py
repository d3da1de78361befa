"""A snapshot as one audience may see it: tables shared by all calls, every count and list visible-only.

A view goes on from the one before it, so that an edit of one page costs that page.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from wikimcp.errors import StateError
from wikimcp.graph.links import LinkGraph, same_names
from wikimcp.graph.resolve import LinkTarget
from wikimcp.index.catalog import translated, uncollected
from wikimcp.index.clusters import Cluster, build_clusters, build_tags
from wikimcp.index.dense_state import ChunkRows, DenseState, revs_after, revs_of
from wikimcp.index.graph_tables import GraphTables
from wikimcp.index.names import PageNames
from wikimcp.index.page_record import PageRecord
from wikimcp.index.pins import citations_of
from wikimcp.index.records import Comments, PageBody, links_from_cell
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.stale import IndexDamaged, Stale
from wikimcp.index.visible import VisiblePages
from wikimcp.lexical.vocabulary import StemSets
from wikimcp.markdown.identity import derived_id
from wikimcp.models import ANONYMOUS, Audience, Diagnostic, Link, LinkKind, Section
from wikimcp.ports import Ids, LexicalHits, LexicalSearcher, VaultAdapter
from wikimcp.retrieval.merge import merge_hits
from wikimcp.retrieval.traits import Outline, outline

_BLOCK_LINK = f'["{LinkKind.BLOCK.value}",'
_MOST_OUTLINES = 4_000  # pages whose outlines are kept, about 2 kB each
_MOST_BODIES = 512
_MOST_INHERITED = 200  # edited pages
_MOST_CONCERNED = 3_000  # pages whose links may lead elsewhere; with more, all are resolved anew
_ORDINAL_BITS = np.uint64(16)


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
        self._sections: dict[int, tuple[tuple[Section, ...], Comments]] = {}
        self.checks: dict[tuple[int, Hashable], Any] = {}  # what was found of citations of a rev
        self._outlines: dict[int, Outline] = {}
        self._stem_sets = StemSets()  # what is remembered holds words that this audience was shown
        self._known_citing: dict[int, tuple[Link, ...]] = {}
        self._chunk_rows: dict[str, ChunkRows] = {}
        self._rows_made: set[str] = set()  # embedders whose chunk rows are of this view already
        # Taken over here and now, so that no chain of old views is kept alive.
        before = previous._visible if previous is not None else None
        with uncollected():
            self._visible: VisiblePages = VisiblePages.of(snapshot.visible(audience), before=before)
        self._inherited: LinkGraph | None = None
        # Revs mean the same pages only within one catalog: a rebuilt index counts them anew.
        same = previous is not None and previous.snapshot.catalog is snapshot.catalog
        before_graphs = previous.graphs if previous is not None and same else None
        self.graphs: GraphTables = GraphTables(self, previous=before_graphs)
        if previous is not None and same:
            self._inherit(previous)

    def _inherit(self, previous: View) -> None:
        """Take over what was read of pages that are still the same, by rev."""
        self._outlines = previous._outlines
        self._stem_sets = previous._stem_sets
        self.checks = previous.checks
        self._sections = previous._sections
        self._bodies = previous._bodies
        self._known_citing = dict(previous.__dict__.get("citing", {}))
        self._chunk_rows = dict(previous._chunk_rows)
        went, came = previous._visible.pages.differences(self._visible.pages)
        if "_revs" in previous.__dict__:
            self.__dict__["_revs"] = revs_after(previous._revs, went, came)
        self._inherited = self._inherited_links(previous, went, came)

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

    @cached_property
    def _revs(self) -> Ids:
        """The revs of the pages, sorted."""
        return revs_of(self.pages)

    def clashes(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each name that the page shares with others."""
        return self._visible.clashes_of(page)

    def all_clashes(self) -> Iterable[tuple[PageRecord, Diagnostic]]:
        """Yield (page, diagnostic) of all pages that share a name."""
        return self._visible.clashes()

    @cached_property
    def undeclared_ids(self) -> Mapping[str, str]:
        """Paths by the ids that pages had before they declared another."""
        return {derived_id(page.slug): page.path for page in self.pages if not page.id_derived}

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
            with translated():
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
            with translated():
                blocks = json.loads(cells.get(page.rev, "{}")).get("blocks", ())
            for block in blocks:
                found.setdefault(block.lower(), page.slug)
        return found

    def _inherited_links(
        self, previous: View, went: Sequence[PageRecord], came: Sequence[PageRecord]
    ) -> LinkGraph | None:
        """Carry the link graph over an edit; None when it must be made anew."""
        before: LinkGraph | None = previous.__dict__.get("links", previous._inherited)
        if before is None or previous.snapshot.attachments != self.snapshot.attachments:
            return None
        old, new = {page.slug: page for page in went}, {page.slug: page for page in came}
        same = {slug for slug in old.keys() & new.keys() if same_names(old[slug], new[slug])}
        gone = [page for slug, page in old.items() if slug not in same]
        come = [page for slug, page in new.items() if slug not in same]
        edited = [page for page in came if page.rev not in previous.by_rev]
        if len(edited) > _MOST_INHERITED or ((gone or come) and before.resolver.blocks is not None):
            return None
        bodies = [(page, self.snapshot.catalog.body(page.rev)) for page in edited]
        read = {page: body for page, body in bodies if body is not None}
        if len(read) < len(bodies) or not all(_same_blocks(before, *item) for item in read.items()):
            return None
        concerned = before.concerned((*gone, *come)) if gone or come else set()
        others = {page.slug: page for page in (*come, *map(self._visible.by_slug.get, concerned)) if page}
        found = self._links_of([page for page in others.values() if page not in read])
        if found is None:
            return None
        edits = {**found, **{page: body.links for page, body in read.items()}}
        return before.updated(edits, gone=gone, come=come)

    def _links_of(self, pages: Sequence[PageRecord]) -> dict[PageRecord, tuple[Link, ...]] | None:
        """Return the links of some pages; None where there are too many, or one is no longer there."""
        if len(pages) > _MOST_CONCERNED:
            return None
        cells = self.snapshot.catalog.body_cells(("links",), [page.rev for page in pages])
        if len(cells) < len(pages):
            return None
        with translated():
            return {page: links_from_cell(cells[page.rev][0]) for page in pages}

    @cached_property
    def frontmatters(self) -> Mapping[int, Mapping[str, Any]]:
        """Frontmatter of every visible page that has one, by rev."""
        visible = self.by_rev
        cells = [(rev, cell) for rev, cell in self.snapshot.catalog.frontmatters() if rev in visible]
        with translated():
            return {rev: json.loads(cell) for rev, cell in cells}

    @cached_property
    def citing(self) -> Mapping[int, tuple[Link, ...]]:
        """The citations of every visible page that has any, by rev, in order of the page."""
        visible, known = self.by_rev, self._known_citing
        found: dict[int, tuple[Link, ...]] = {}
        for rev, cell in self.snapshot.catalog.citing():
            if rev in visible:
                if rev not in known:
                    with translated():
                        known[rev] = tuple(citations_of(links_from_cell(cell)))
                if known[rev]:
                    found[rev] = known[rev]
        return found

    @cached_property
    def source_refs(self) -> Mapping[int, tuple[str, ...]]:
        """The sources that visible pages name, by rev; pages without any are left out."""
        visible = self.by_rev
        cells = [(rev, cell) for rev, cell in self.snapshot.catalog.sourced() if rev in visible]
        with translated():
            found = ((rev, json.loads(cell).get("sources", ())) for rev, cell in cells)
            return {rev: tuple(sources) for rev, sources in found if sources}

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
        return self._parts(page)[0]

    def comments(self, page: PageRecord) -> Comments:
        """Return the ranges of a page's comments. Raises Stale like ``body``."""
        return self._parts(page)[1]

    def _parts(self, page: PageRecord) -> tuple[tuple[Section, ...], Comments]:
        """Return what every passage of a page is made with: its sections and its comments."""
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
            with translated():
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
                found = ChunkRows.of(state, self._revs, keys_of, before=found)
                self._chunk_rows[name] = found
                self._rows_made.add(name)
            return found

    def lexical(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages by BM25; only ``allowed`` revs when given."""
        with _readable():
            public, hidden = self._searchers
            hits = public.search(query, limit=limit, allowed=allowed)
            unlocked = self._unlocked if allowed is None else self._unlocked & set(allowed)
            if unlocked and hidden is not None:
                seen = hidden.search(query, limit=limit, allowed=unlocked)
                hits = merge_hits(hits, seen, limit=limit)
        return self._in_fixed_order(hits)

    def _in_fixed_order(self, hits: LexicalHits) -> LexicalHits:
        """Return hits of equal score by path: the index orders them by when they were written."""
        chunks, pages = hits.chunk_scores, hits.page_scores
        if not ((chunks[1:] == chunks[:-1]).any() or (pages[1:] == pages[:-1]).any()):
            return hits
        known = self.by_rev
        chunk_revs = hits.chunk_ids >> _ORDINAL_BITS
        revs, at = np.unique(np.concatenate((chunk_revs, hits.page_revs)), return_inverse=True)
        found = [known.get(rev) for rev in revs.tolist()]
        paths = [page.path if page is not None else "" for page in found]
        place = np.empty(len(paths), np.int64)
        place[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
        at = place[at]
        chunk_order = np.lexsort((hits.chunk_ids, at[: len(chunks)], -chunks))
        page_order = np.lexsort((at[len(chunks) :], -pages))
        return replace(
            hits,
            chunk_ids=hits.chunk_ids[chunk_order],
            chunk_scores=chunks[chunk_order],
            page_revs=hits.page_revs[page_order],
            page_scores=pages[page_order],
        )

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many visible pages hold at least one term of the query."""
        with _readable():
            total = self.snapshot.searcher.count_pages(query, allowed=allowed)
            unlocked = self._unlocked if allowed is None else self._unlocked & set(allowed)
            if unlocked and self.snapshot.hidden is not None:
                total += self.snapshot.hidden.count_pages(query, allowed=unlocked)
        return total

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text as they are indexed."""
        return self.snapshot.searcher.analyze(text)

    def stems(self, text: str) -> set[str]:
        """Return the distinct stems of a text."""
        return self._stem_sets.of(text, self.analyze)

    @cached_property
    def _unlocked(self) -> frozenset[int]:
        """The revs of pages that not everybody but this audience may see."""
        if self.audience == ANONYMOUS:
            return frozenset()
        return frozenset(page.rev for page in self.pages if not page.public)

    @cached_property
    def _searchers(self) -> tuple[LexicalSearcher, LexicalSearcher | None]:
        """Both searchers, scoring by what this audience may see of both as if it were one index.

        What else is hidden must not tell, by a score or a count, that a word is there.
        """
        public, hidden = self.snapshot.searcher, self.snapshot.hidden
        if hidden is None or not self._unlocked:
            return public, None
        both = (public.statistics(), hidden.statistics(self._unlocked))
        return public.under(both), hidden.under(both)


def _same_blocks(links: LinkGraph, page: PageRecord, body: PageBody) -> bool:
    """Whether an edit left all that block references rest on as it was."""
    known = links.resolver.blocks
    if known is None:
        return all(link.kind is not LinkKind.BLOCK for link in body.links)
    before = {block for block, slug in known.items() if slug == page.slug}
    return before == {block.lower() for block in body.block_ids}


@contextmanager
def _readable() -> Iterator[None]:
    """Tell a lexical index that cannot be read from what a caller did."""
    try:
        yield
    except StateError as error:
        raise IndexDamaged(error.message) from error
