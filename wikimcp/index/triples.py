"""The wiki as RDF: what is said of each visible page, and of tags, clusters and sources, as N-Triples.

A projection goes on from view to view of one audience, so that an edit costs the pages it changed; the
store asks for the lines of those alone. What the terms mean stands in ``triples/vocabulary.ttl``.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from wikimcp.graph.knowledge import PLAIN_LINKS, KnowledgeGraph, KnowledgeNode
from wikimcp.graph.mentions import Mentions
from wikimcp.index.audience_view import View
from wikimcp.index.catalog import translated
from wikimcp.index.names import fold
from wikimcp.index.page_record import PageRecord
from wikimcp.index.records import links_from_cell
from wikimcp.index.sidecars import Mark, ReadSidecars
from wikimcp.index.stale import Stale
from wikimcp.index.triple_lines import (
    cluster_lines,
    edge_line,
    link_lines,
    name_lines,
    node_lines,
    page_lines,
    section_lines,
    source_lines,
    topic_lines,
)
from wikimcp.index.view import Reading
from wikimcp.models import Audience, GraphEdge
from wikimcp.ports import TripleAnswer, TripleStore
from wikimcp.triples.terms import ID, thing
from wikimcp.triples.vocabulary import vocabulary_lines

_VOCABULARY, _TOPICS, _SOURCES = "vocabulary", "topics", "sources"
_OTHER_EDGES, _NODES = "edges", "nodes"
_MOST_AUDIENCES = 8
_MOST_KEPT = 16  # answers
_PAGE = f"{ID}page:"
_PAGE_NAME = re.compile(rf"(?:\bpage:|<{_PAGE})([^\s>]+)")
_ONE_BY_ONE = 200  # pages; more are read from the catalog in one go

MOST_MENTION_EDGES = 200_000
"""Mentions, and as many pairs of nodes, that are said of one wiki."""

PROJECTION_FORMAT = 3
"""Raised when what is said of a wiki changes: copies of the data on disk are of the format that made them."""


def knowledge_edges(graph: KnowledgeGraph) -> Iterable[GraphEdge]:
    """Return the edges of a knowledge graph; plain links are said by the pages themselves."""
    return [
        GraphEdge(edge.source, edge.target, edge.relation)
        for edge in graph.edges
        if edge.relation not in PLAIN_LINKS
    ]


def mention_edges(graph: KnowledgeGraph, mentions: Mentions) -> Iterator[GraphEdge]:
    """Yield where pages name nodes and which nodes stand beside each other, of a large wiki the first ones.

    Plain triples can hold no counts; the tools of the knowledge graph give them.
    """
    named = (
        GraphEdge(f"page:{slug}", node, "mentions")
        for slug in mentions.by_page
        for node in mentions.named_by(slug)
    )
    beside = (GraphEdge(one, other, "co_mentioned") for one, other in mentions.pairs(MOST_MENTION_EDGES))
    for edge in (*islice(named, MOST_MENTION_EDGES), *beside):
        if edge.source in graph.nodes and edge.target in graph.nodes:
            yield edge


def nodes_without_page(graph: KnowledgeGraph) -> Iterable[KnowledgeNode]:
    """Return the nodes of a knowledge graph that no page stands for."""
    return [node for node in graph.nodes.values() if not node.id.startswith("page:")]


@dataclass(frozen=True, slots=True)
class _Said:
    """What a page's body says of others: the lines of its links, and its sources by name."""

    links: str
    sources: tuple[str, ...]


class TripleProjection:
    """One view as a set of triples (``ports.TripleSet``): computed at first use, never changed.

    ``edges`` and ``nodes`` give those of the knowledge graph, and are asked when pieces are made or marked;
    ``sidecars`` are the files that it was made with.
    """

    def __init__(
        self,
        view: View,
        edges: Callable[[], Iterable[GraphEdge]] = tuple,
        *,
        nodes: Callable[[], Iterable[KnowledgeNode]] = tuple,
        sidecars: Mark = (),
        previous: TripleProjection | None = None,
    ) -> None:
        self.view = view
        self.name = audience_name(view.audience)
        self._edges = edges
        self._nodes = nodes
        self.sidecars = sidecars
        never_read = previous is not None and "_said" not in previous.__dict__
        # No chain of old views is kept alive.
        self._previous: TripleProjection | None = (
            previous._previous if never_read and previous is not None else previous
        )
        self._mutex = threading.Lock()

    @cached_property
    def mark(self) -> str:
        """A mark of all that the triples are made of, which is had without making them."""
        view, snapshot = self.view, self.view.snapshot
        digest = blake2b(digest_size=16)
        origin = (
            PROJECTION_FORMAT,
            vocabulary_lines(),
            snapshot.catalog.folder.name,
            self.name,
            self.sidecars,
        )
        digest.update(repr(origin).encode("utf-8", "replace"))
        for page in view.pages:
            facts = f"{page.rev} {page.version} {page.slug} {page.canonical_id}\n"
            digest.update(facts.encode("utf-8", "replace"))
        digest.update("\0".join(sorted(snapshot.attachments)).encode("utf-8", "replace"))
        if self.sidecars:  # a row of theirs may mean a page that is hidden
            digest.update(repr(sorted(record.rev for record in snapshot.records.values())).encode())
        return digest.hexdigest()

    @property
    def place(self) -> Path | None:
        """A file beside the index. What labels open is kept in memory alone: there may be many of them."""
        audience = self.view.audience
        if audience.labels:
            return None
        name = "triples-drafts" if audience.drafts else "triples"
        return self.view.snapshot.catalog.folder / name

    @property
    def signatures(self) -> Mapping[str, str]:
        """A mark for each piece: every page with its parts, and what pages share."""
        with self._mutex:
            marks = self._marks
            self._previous = None  # taken over: no chain of old views is kept alive
            return marks

    def lines(self, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (key, N-Triples) of some pieces. Raises Stale when a page has moved on."""
        shared: Mapping[str, Callable[[], str]] = {
            _VOCABULARY: vocabulary_lines,
            _TOPICS: lambda: self._topics,
            _SOURCES: lambda: self._sources,
            _OTHER_EDGES: lambda: self._edges_by_page.get("", ""),
            _NODES: lambda: self._node_lines,
        }
        for key in shared.keys() & set(keys):
            yield key, shared[key]().encode()
        by_key = {thing("page", page.slug): page for page in self.view.pages}
        pages = [by_key[key] for key in keys if key not in shared]
        for page, (sections, frontmatter) in self._cells(pages, "sections", "frontmatter"):
            with translated():
                parts = json.loads(sections)
                front: dict[str, Any] = json.loads(frontmatter) if frontmatter else {}
            said = self._said[page.rev]
            text = "".join(
                (
                    *page_lines(page, front),
                    *section_lines(page.slug, parts),
                    *topic_lines(page, self._clusters_of.get(page.slug, ())),
                    said.links,
                    *source_lines(page.slug, said.sources),
                    self._edges_by_page.get(page.slug, ""),
                )
            )
            yield thing("page", page.slug), text.encode()

    @cached_property
    def _marks(self) -> dict[str, str]:
        marks = {
            _VOCABULARY: "",
            _TOPICS: _mark(self._topics),
            _SOURCES: _mark(self._sources),
            _OTHER_EDGES: _mark(self._edges_by_page.get("", "")),
            _NODES: _mark(self._node_lines),
        }
        for page in self.view.pages:
            clusters = self._clusters_of.get(page.slug, ())
            around = "\0".join((page.canonical_id, *clusters, self._said[page.rev].links))
            edges = self._edges_by_page.get(page.slug, "")
            marks[thing("page", page.slug)] = f"{page.rev} {page.version} {_mark(around + edges)}"
        return marks

    @cached_property
    def _said(self) -> Mapping[int, _Said]:
        """By rev what each page says of others; taken over while no page is called differently."""
        before = self._previous
        known: Mapping[int, _Said] = {}
        # What was never read of an older view may be gone by now.
        if before is not None and "_said" in before.__dict__ and before._resolves_like(self):
            known = before._said
        said = {page.rev: known[page.rev] for page in self.view.pages if page.rev in known}
        ids, graph = self.view.names.ids, self.view.links
        lacking = [page for page in self.view.pages if page.rev not in said]

        def slug_of(canonical_id: str) -> str | None:
            found = ids.get(canonical_id)
            return found.slug if found is not None else None

        for page, (links, rest) in self._cells(lacking, "links", "rest"):
            with translated():
                targets = links_from_cell(links)
                sources = json.loads(rest).get("sources", ()) if '"sources"' in rest else ()
            said[page.rev] = _Said("".join(link_lines(page, targets, graph, slug_of)), tuple(sources))
        return said

    def _resolves_like(self, other: TripleProjection) -> bool:
        """Whether links and citations lead to the same pages in both views."""
        mine, its = self.view, other.view
        return mine.links.resolver is its.links.resolver and {
            name: page.slug for name, page in mine.names.ids.items()
        } == {name: page.slug for name, page in its.names.ids.items()}

    def _cells(
        self, pages: Sequence[PageRecord], *columns: str
    ) -> Iterator[tuple[PageRecord, tuple[str, ...]]]:
        revs = [page.rev for page in pages] if len(pages) <= _ONE_BY_ONE else None
        cells = self.view.snapshot.catalog.body_cells(columns, revs) if pages else {}
        for page in pages:
            found = cells.get(page.rev)
            if found is None:
                raise Stale(page.path)
            yield page, found

    @cached_property
    def _clusters_of(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name, cluster in self.view.clusters.items():
            for page in cluster.members:
                found.setdefault(page.slug, []).append(name)
        return {slug: tuple(names) for slug, names in found.items()}

    @cached_property
    def _topics(self) -> str:
        tags = name_lines("tag", ((fold(tag), tag) for tag in self.view.tags))
        return "".join((*tags, *cluster_lines(self.view.clusters)))

    @cached_property
    def _sources(self) -> str:
        names = sorted({source for said in self._said.values() for source in said.sources})
        return "".join(name_lines("source", ((name, name) for name in names)))

    @cached_property
    def _node_lines(self) -> str:
        return "".join(node_lines(self._nodes()))

    @cached_property
    def _edges_by_page(self) -> Mapping[str, str]:
        """The lines of the knowledge graph by the slug of the page they start from; the others under ""."""
        slugs = self.view.names.slugs
        found: dict[str, dict[str, None]] = {}
        for edge in self._edges():
            ends = [
                end.removeprefix("page:") for end in (edge.source, edge.target) if end.startswith("page:")
            ]
            if all(slug in slugs for slug in ends):
                place = edge.source.removeprefix("page:") if edge.source.startswith("page:") else ""
                found.setdefault(place, {})[edge_line(edge)] = None
        said = {page.slug: self._said[page.rev].links for page in self.view.pages if page.slug in found}
        return {
            slug: "".join(sorted(line for line in lines if line not in said.get(slug, "")))
            for slug, lines in found.items()
        }


class TripleProjections:
    """The newest projection of each audience. Safe to use from several threads."""

    def __init__(self) -> None:
        self._newest: dict[Audience, TripleProjection] = {}
        self._mutex = threading.Lock()

    def of(self, view: View) -> TripleProjection:
        """Return the projection of a view, going on from the one before it.

        An edit of a sidecar leaves the view as it is and makes another knowledge graph, so both decide.
        """
        sidecars = view.graphs.sidecars()
        with self._mutex:
            found = self._newest.pop(view.audience, None)
            if found is None or found.view is not view or found.sidecars != sidecars.mark:
                same_index = found is not None and found.view.snapshot.catalog is view.snapshot.catalog
                found = _projected(view, sidecars, previous=found if same_index else None)
                while len(self._newest) >= _MOST_AUDIENCES:
                    del self._newest[next(iter(self._newest))]
            self._newest[view.audience] = found
            return found


def _projected(
    view: View, sidecars: ReadSidecars, *, previous: TripleProjection | None = None
) -> TripleProjection:
    def edges() -> Iterable[GraphEdge]:
        graph = view.graphs.knowledge(sidecars).graph
        return chain(knowledge_edges(graph), mention_edges(graph, view.graphs.mentions(graph)))

    return TripleProjection(
        view,
        edges,
        nodes=lambda: nodes_without_page(view.graphs.knowledge(sidecars).graph),
        sidecars=sidecars.mark,
        previous=previous,
    )


class WikiTriples:
    """A triple store over the views of one wiki."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self._projections = TripleProjections()
        self._kept: dict[tuple[str, str], tuple[str, TripleAnswer]] = {}

    @property
    def trouble(self) -> str:
        """Why no query can run; empty when they can."""
        return self._store.trouble

    def ask(self, reading: Reading, text: str, *, limit: int) -> TripleAnswer:
        """Run a query over what the reading's audience sees; pages named in the answer are noted.

        Raises as ``ports.TripleStore.query`` does.
        """
        return self._ask(reading, text, self._projections.of(reading.view), limit=limit)

    def _ask(self, reading: Reading, text: str, data: TripleProjection, *, limit: int) -> TripleAnswer:
        answer = self._store.query(text, data, limit=limit)
        iris = {term[1] for row in answer.rows for term in row if term is not None and term[0] == "iri"}
        iris.update(f"{_PAGE}{name}" for line in answer.turtle for name in _PAGE_NAME.findall(line))
        for iri in iris:
            if iri.startswith(_PAGE):
                reading.page(unquote(iri.removeprefix(_PAGE)))
        return answer

    def ask_again(self, reading: Reading, text: str, *, limit: int) -> TripleAnswer:
        """As ``ask``, for a query that is always the same: the answer is kept while the data is the same."""
        data = self._projections.of(reading.view)
        key = (data.name, text)
        known = self._kept.get(key)
        if known is not None and known[0] == data.mark:
            return known[1]
        answer = self._ask(reading, text, data, limit=limit)
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[key] = (data.mark, answer)
        return answer

    def prepare(self, view: View) -> bool:
        """Have the worker loaded before anybody asks, where somebody has asked at an earlier start."""
        return self._store.prepare(self._projections.of(view))

    def close(self) -> None:
        """End the worker."""
        self._store.close()


def turtle_text(reading: Reading) -> str:
    """Return all that is said of what the reading's audience sees, with the vocabulary, as Turtle.

    N-Triples are Turtle too: one triple a line, so that lines can be sorted and compared. Needs no store.
    """
    projection = _projected(reading.view, reading.graphs.sidecars())
    reading.touch(reading.pages)
    return b"".join(lines for _, lines in projection.lines(list(projection.signatures))).decode()


def audience_name(audience: Audience) -> str:
    """Return an audience in one word."""
    return json.dumps([audience.drafts, sorted(audience.labels)])


def _mark(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest() if text else ""
