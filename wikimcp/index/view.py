"""What a tool reads: one call's handle on a view, which notes the pages that the answer rests on.

The service checks the files of those pages before the answer leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wikimcp.citations.line_breaks import LineBreaks
from wikimcp.citations.page_text import PageText, named_alone
from wikimcp.errors import NotFound, Unavailable
from wikimcp.graph.knowledge import KnowledgeGraph
from wikimcp.index.audience_view import View
from wikimcp.index.clusters import Cluster
from wikimcp.index.dense_state import DenseHits, DenseState
from wikimcp.index.former import counted_changes, counted_version, paths_of
from wikimcp.index.former_pages import FormerPages
from wikimcp.index.graph_tables import GraphTables
from wikimcp.index.history import GitHistory
from wikimcp.index.link_diagnostics import link_diagnostics
from wikimcp.index.node_vectors import NodeVectors
from wikimcp.index.page_record import PageRecord
from wikimcp.index.pins import Pin, read_pins
from wikimcp.index.prepare import iso_time
from wikimcp.index.records import PageBody
from wikimcp.index.stale import Stale
from wikimcp.markdown.tokens import LineIndex, span_sha256, visible_text
from wikimcp.models import LINK_SERVED_ONCE, Citation, Diagnostic, Link, PageChange, Section
from wikimcp.ports import FileContent, Ids, LexicalHits, Vectors
from wikimcp.retrieval.traits import Outline

__all__ = ["Cluster", "PageBody", "PageRecord", "Reading", "View"]

_NO_LINE_END = re.compile(r"[^\r\n]")


class Reading:
    """One call's handle on a view: everything a tool may ask for, with the files it rests on noted."""

    def __init__(
        self,
        view: View,
        *,
        dense: DenseState | None = None,
        static: DenseState | None = None,
        left_out: frozenset[str] = frozenset(),
        history: GitHistory | None = None,
    ) -> None:
        self.view = view
        self.history = history
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
        return self.resolve_part(name)[0]

    def resolve_part(self, name: str) -> tuple[PageRecord, str]:
        """Resolve a name as ``resolve`` does; return with it the part that ``page#part`` means."""
        try:
            found, part = self.view.names.resolve_part(name)
        except NotFound:
            self._explain(name)
            raise
        self.touched[found.path] = found
        return found, part

    def _explain(self, name: str) -> None:
        """Raise Unavailable for a name of a file that is there but cannot be served, with the reason."""
        wanted = name.strip()
        for path in self.left_out:
            if wanted in (path, path.rpartition(".")[0]):
                raise Unavailable(f"{wanted!r} is changing right now", hint="Ask again in a moment.")
        for file in self.view.snapshot.catalog.skipped():
            named = wanted in (file.path, file.path.rpartition(".")[0])
            if named and file.why.code != LINK_SERVED_ONCE:
                raise Unavailable(f"{wanted!r} is in the vault but is not served: {file.why.message}")

    def by_id(self, canonical_id: str) -> PageRecord | None:
        """Return the page of that canonical id."""
        found = self.view.names.ids.get(canonical_id)
        if found is not None:
            self.touched[found.path] = found
        return found

    def moved_id(self, canonical_id: str) -> PageRecord | None:
        """Return the visible page that once had an id and has another now."""
        return self._noted(FormerPages(self.view, self.history).by_id(canonical_id))

    def moved_slug(self, slug: str) -> PageRecord | None:
        """Return the visible page that once had a slug."""
        return self._noted(FormerPages(self.view, self.history).by_slug(slug))

    def _noted(self, found: PageRecord | None) -> PageRecord | None:
        if found is not None:
            self.touched[found.path] = found
        return found

    def newest_version(self, page: PageRecord) -> int:
        """Return the highest version number that is known of a page, however it was counted."""
        ledger = self.view.snapshot.ledger
        if ledger is None:
            return page.version
        commits = self.history.counts.commits if self.history else {}
        # Until a move is committed, git knows the page by its former path.
        paths = paths_of(ledger, page.path) if commits and page.path not in commits else ()
        paths = [*paths, self.view.snapshot.moves.get(page.path, "")]
        return max(
            page.version, counted_version(ledger, page.path), *(commits.get(path, 0) for path in paths)
        )

    def recent_changes(self, page: PageRecord, *, limit: int = 10) -> list[PageChange]:
        """Return the newest changes of a page, newest first: from git, else from the ledger.

        A commit's subject is left out when the commit touched anything but pages that are visible here.
        """
        self.touched[page.path] = page
        known_as = self.view.snapshot.moves.get(page.path, page.path)
        touches = self.history.touches(known_as, limit=limit) if self.history else []
        if not touches:
            ledger = self.view.snapshot.ledger
            counted = counted_changes(ledger, page.path, limit=limit) if ledger else ()
            return [PageChange(version, at) for version, at in counted]
        visible = self.view.names.paths
        moved = {former: path for path, former in self.view.snapshot.moves.items()}
        changes = [
            PageChange(
                touch.version,
                touch.at,
                touch.author,
                touch.subject if all(moved.get(path, path) in visible for path in touch.paths) else "",
            )
            for touch in touches
        ]
        if not page.version_fixed and page.version > changes[0].version:
            changes.insert(0, PageChange(page.version, iso_time(page.mtime_ns), "", "not committed yet"))
        return changes[:limit]

    def body(self, page: PageRecord) -> PageBody:
        """Return sections, chunks, links and frontmatter of a page. Raises Stale when it moved on."""
        body, clashes = self.view.body(page), self.view.clashes(page)
        return replace(body, diagnostics=(*body.diagnostics, *clashes)) if clashes else body

    def odd_links(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each odd link of a page, bounded. Raises Stale when it moved on."""
        return link_diagnostics(self.view, page)

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

    def passing_text(self, page: PageRecord) -> str:
        """Return a page's text like ``text``, for who looks through every page and keeps none of them."""
        text = self.text(page)
        del self._texts[page.rev]
        return text

    def without_comments(self, page: PageRecord, text: str) -> str:
        """Return the page's text with blanks in place of comments, so that places and lines stay."""
        comments = self._comments_of(page)
        if not comments:
            return text
        parts, at = [], 0
        for start, end in comments:
            parts += [text[at:start], _NO_LINE_END.sub(" ", text[start:end])]
            at = end
        return "".join((*parts, text[at:]))

    def _comments_of(self, page: PageRecord) -> Sequence[tuple[int, int]]:
        return self.view.comments(page)

    def shown(self, page: PageRecord, text: str, start: int, end: int) -> str:
        """Return ``text[start:end]``, ``text`` being the page's text, as a passage: without comments.

        Blank lines that a comment leaves at either end go with it. A citation is that of the whole span.
        """
        comments = self._comments_of(page)
        if not comments:
            return text[start:end]
        shown = visible_text(text, start, end, hidden=comments)
        return shown if len(shown) == end - start else shown.strip("\r\n").rstrip()

    def cite(
        self, page: PageRecord, text: str, start: int, end: int, heading_path: tuple[str, ...]
    ) -> Citation:
        """Make the citation of ``text[start:end]``, ``text`` being the page's text."""
        index = self._lines.get(page.rev)
        if index is None:
            index = self._lines[page.rev] = LineIndex(text)
        alone = named_alone(text, self.sections(page), heading_path, (start, end))
        return Citation(
            slug=page.slug,
            version=page.version,
            canonical_id=page.canonical_id,
            heading_path=heading_path,
            lines=(index.line(start), index.line(max(start, end - 1))),
            span_sha256=span_sha256(text[start:end]),
            place=None if alone else LineBreaks(text).fold((start, end)),
        )

    def citing(self) -> Iterable[tuple[PageRecord, tuple[Link, ...]]]:
        """Yield every visible page that cites something, by path, with its citations in order."""
        cites = self.view.citing
        for page in self.pages:
            if page.rev in cites:
                yield page, cites[page.rev]

    def citations(self, page: PageRecord) -> tuple[Link, ...]:
        """Return the citations of one page, in order."""
        return self.view.citing.get(page.rev, ())

    def pins(self, pages: Iterable[PageRecord]) -> Mapping[tuple[str, str], Pin]:
        """Return what was pinned when the citations of pages were first seen, by path and ``pin_key``."""
        ledger = self.view.snapshot.ledger
        return read_pins(ledger, [page.path for page in pages]) if ledger else {}

    def page_text(self, page: PageRecord) -> PageText:
        """Return a page as citations are checked against it; not kept. Raises Stale like ``text``."""
        kept = page.rev in self._texts
        text = self.text(page)
        if not kept:
            del self._texts[page.rev]  # a check of all citations reads every cited page
        body = self.view.body(page)
        return PageText(text, body.sections, [(chunk.start, chunk.end) for chunk in body.chunks])

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

    @property
    def graphs(self) -> GraphTables:
        """The graphs of the visible pages, built at their first use."""
        return self.view.graphs

    def node_vectors(self, graph: KnowledgeGraph) -> NodeVectors:
        """Return the vectors of a graph's nodes; none without vectors of the texts."""
        if self.dense is None:
            return {}, np.zeros((0, 1), np.float32)
        return self.view.graphs.vectors(graph, self.view.chunk_rows(self.dense))

    def lexical(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages by BM25; only ``allowed`` revs when given."""
        return self.view.lexical(query, limit=limit, allowed=allowed)

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many visible pages hold at least one term of the query."""
        return self.view.count_pages(query, allowed=allowed)

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text as they are indexed."""
        return self.view.analyze(text)

    def stems(self, text: str) -> set[str]:
        """Return the distinct stems of a text."""
        return self.view.stems(text)

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
