"""The graphs of one view, built at their first use: projection, knowledge graph, mentions, node search.

Rows of a page are kept by rev while no name in the vault changes, and go on to the next view, so that an
edit of one page reads that page alone. Nothing here is made at the start or by any answer without a graph.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from wikimcp.graph.knowledge import KnowledgeGraph, KnowledgeNode, Stated
from wikimcp.graph.links import LinkGraph
from wikimcp.graph.mentions import Mentions
from wikimcp.graph.page_rows import Naming, PageFacts, PageRows, rows_of
from wikimcp.graph.predicates import KNOWN_PREDICATES, predicate
from wikimcp.graph.projection import GraphProjection, assemble, heading_rows
from wikimcp.graph.search import NodeSearch
from wikimcp.graph.sidecar import Sidecar
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.index.catalog import translated, uncollected
from wikimcp.index.dense_state import ChunkRows
from wikimcp.index.mention_tables import MentionTables, TextPart
from wikimcp.index.names import PageNames
from wikimcp.index.node_vectors import NodeVectors, node_vectors
from wikimcp.index.page_record import PageRecord
from wikimcp.index.records import SkippedFile, links_from_cell, sections_from_cell
from wikimcp.index.sidecars import Mark, ReadSidecars
from wikimcp.markdown.links import target_name
from wikimcp.models import LINK_SERVED_ONCE

_FEW = 300  # pages that are read one by one
_STATED = ("derived_from", "supersedes")
_PAGE_FIELDS = frozenset(("related", "relations", "sources", "source_refs"))  # read by the adapter already
_IF_PAGES = KNOWN_PREDICATES - {"links_to", "embeds", "parent_of", "tagged", "mentions", "co_mentioned"}
_NO_PROPERTY = frozenset(("tags", "tag", "aliases", "alias", "title", "summary", "description", "desc"))
_LONGEST_PROPERTY = 400
_MOST_ITEMS = 20


NodeWords = Mapping[str, Sequence[str]]


class VisiblePart(TextPart, Protocol):
    """What the graphs read of a view."""

    @property
    def names(self) -> PageNames:
        """The names by which pages can be asked for."""

    @property
    def links(self) -> LinkGraph:
        """The link graph of the visible pages."""

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text as they are indexed."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """What is kept of one page: its rows, its properties and the anchors that it writes out."""

    rows: PageRows
    properties: Mapping[str, Any]
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeTables:
    """A knowledge graph with the mark of the sidecars it was made with."""

    graph: KnowledgeGraph
    sidecar: Sidecar
    mark: Mark


@dataclass(frozen=True, slots=True)
class _SidecarEnds:
    """The rows of a sidecar, with the pages among which its names were looked up."""

    sidecar: Sidecar
    shown: Sequence[PageRecord]
    hidden: Sequence[PageRecord]
    second_names: Mapping[str, str]
    rows: SidecarRows


_NAMES = attrgetter("slug", "canonical_id", "path", "title", "aliases", "conflict_copy")


def _same_names(some: Sequence[PageRecord], others: Sequence[PageRecord]) -> bool:
    return len(some) == len(others) and all(
        one is other or _NAMES(one) == _NAMES(other) for one, other in zip(some, others, strict=True)
    )


class GraphTables:
    """The graphs of one view. Safe to use from several threads."""

    def __init__(self, view: VisiblePart, *, previous: GraphTables | None = None) -> None:
        self._view_ref = weakref.ref(view)  # the view has this: a circle would keep replaced indexes open
        self._mutex = threading.RLock()
        # Taken over as plain tables, so that no chain of old views is kept alive.
        self._rows: dict[int, StoredRows] = previous._rows if previous else {}
        self._rows_of: object = previous._rows_of if previous else None
        self._ids: Mapping[str, str] = previous._ids if previous else {}
        self._graph_before: KnowledgeGraph | None = previous._graph_before if previous else None
        self._ends: _SidecarEnds | None = previous._ends if previous else None
        self._mention_tables: MentionTables = MentionTables(previous._mention_tables if previous else None)
        self._projection: tuple[Mark, GraphProjection] | None = None
        self._knowledge: KnowledgeTables | None = None
        self._mentions: tuple[KnowledgeGraph, Mentions] | None = None
        self._vectors: tuple[KnowledgeGraph, ChunkRows, NodeVectors] | None = None
        self._search: tuple[KnowledgeGraph, NodeSearch] | None = None
        self._documents: dict[str, tuple[KnowledgeNode, NodeWords]] = previous._documents if previous else {}

    @property
    def _view(self) -> VisiblePart:
        view = self._view_ref()
        assert view is not None  # whoever asks came by way of the view
        return view

    def sidecars(self) -> ReadSidecars:
        """Return what the sidecars hold now."""
        view = self._view
        return view.snapshot.sidecars.read(view.adapter)

    def projection(self) -> tuple[GraphProjection, Sidecar]:
        """Return the graph projection with headings, and the sidecars that went into it."""
        view = self._view
        read = self.sidecars()
        mark, sidecar = read.mark, read.sidecar
        with self._mutex:
            if self._projection is None or self._projection[0] != mark:
                cells = view.snapshot.catalog.section_cells()
                with translated():
                    headings = [
                        heading_rows(page, sections_from_cell(cells[page.rev]))
                        for page in view.pages
                        if page.rev in cells
                    ]
                rows = self._page_rows()
                stored = ((page.path, self._rows.get(page.rev)) for page in view.pages)
                graph = assemble(
                    view.pages,
                    rows,
                    self._sidecar_rows(sidecar),
                    headings=headings,
                    anchors={path: kept.anchors for path, kept in stored if kept and kept.anchors},
                )
                self._projection = (mark, graph)
            return self._projection[1], sidecar

    def knowledge(self, sidecars: ReadSidecars | None = None) -> KnowledgeTables:
        """Return the knowledge graph with the sidecars as they are now, or as they were read before."""
        view = self._view
        read = sidecars or self.sidecars()
        mark, sidecar = read.mark, read.sidecar
        with self._mutex:
            if self._knowledge is None or self._knowledge.mark != mark:
                self._page_rows()
                stored = self._rows
                stated = [
                    Stated(page, stored[page.rev].rows, stored[page.rev].properties)
                    for page in view.pages
                    if page.rev in stored
                ]
                with uncollected():
                    made = KnowledgeGraph.of(stated, self._sidecar_rows(sidecar), before=self._graph_before)
                self._graph_before = made
                self._knowledge = KnowledgeTables(made, sidecar, mark)
            return self._knowledge

    def mentions(self, graph: KnowledgeGraph) -> Mentions:
        """Return where the texts of the visible pages name the nodes of a graph."""
        with self._mutex:
            if self._mentions is None or self._mentions[0] is not graph:
                self._mentions = (graph, self._found_mentions(graph))
            return self._mentions[1]

    def _found_mentions(self, graph: KnowledgeGraph) -> Mentions:
        with uncollected():
            return self._mention_tables.find(graph, self._view)

    def search(self, graph: KnowledgeGraph) -> NodeSearch:
        """Return the index over the names, aliases, properties and summaries of a graph's nodes."""
        with self._mutex:
            if self._search is None or self._search[0] is not graph:
                known, analyze = self._documents, self._view.analyze
                documents: dict[str, tuple[KnowledgeNode, NodeWords]] = {}
                for node in graph.nodes.values():
                    old = known.get(node.id)
                    same = old is not None and old[0] is node
                    documents[node.id] = old if old is not None and same else (node, _words(node, analyze))
                self._documents = documents
                words = ((node_id, fields) for node_id, (_, fields) in documents.items())
                self._search = (graph, NodeSearch(words))
            return self._search[1]

    def vectors(self, graph: KnowledgeGraph, rows: ChunkRows) -> NodeVectors:
        """Return a vector for each node that has texts; made anew when the vectors of texts are others."""
        with self._mutex:
            if self._vectors is None or self._vectors[0] is not graph or self._vectors[1] is not rows:
                made = node_vectors(graph, self.mentions(graph), self._view.names.slugs, rows)
                self._vectors = (graph, rows, made)
            return self._vectors[2]

    def _sidecar_rows(self, sidecar: Sidecar) -> SidecarRows | None:
        """Return what the sidecars state here; the same object while no page is renamed."""
        if not sidecar.nodes and not sidecar.edges:
            return None
        view = self._view
        shown = view.by_rev
        hidden = [record for record in view.snapshot.records.values() if record.rev not in shown]
        root, source = view.adapter.root, view.adapter.source_root
        second = _second_names(view.snapshot.catalog.skipped(), source)
        known = self._ends
        if (
            known is not None
            and known.sidecar is sidecar
            and known.second_names == second
            and _same_names(known.shown, view.pages)
            and _same_names(known.hidden, hidden)
        ):
            return known.rows
        folder = "" if source == root else source.relative_to(root).as_posix()
        rows = SidecarRows(sidecar, view.pages, hidden, folder=folder, second_names=second)
        self._ends = _SidecarEnds(sidecar, view.pages, hidden, second, rows)
        return rows

    def _page_rows(self) -> list[PageRows]:
        """Return the rows of every page by path; only pages that are new since the last view are read."""
        view = self._view
        links, names = view.links, view.names
        ids = {page.canonical_id: page.slug for page in view.pages}
        if self._rows_of is not links.resolver or ids != self._ids:
            self._rows, self._rows_of, self._ids = {}, links.resolver, ids
        naming = Naming(
            links.resolver,
            names.slugs,
            names.ids,
            hierarchy=view.adapter.name == "dendron",
            stubs=view.adapter.name == "logseq",
        )
        lacking = [page for page in view.pages if page.rev not in self._rows]
        if lacking:
            revs = [page.rev for page in lacking] if len(lacking) <= _FEW else None
            cells = view.snapshot.catalog.graph_cells(revs)
            rows = {rev: stored for rev, stored in self._rows.items() if rev in view.by_rev}
            with translated(), uncollected():
                for page in lacking:
                    if page.rev in cells:
                        rows[page.rev] = _stored(page, cells[page.rev], naming)
            self._rows = rows
        return [self._rows[page.rev].rows for page in view.pages if page.rev in self._rows]


def _second_names(skipped: Iterable[SkippedFile], root: Path) -> dict[str, str]:
    """Return the links in a vault to what has a name there already, with the path of what they lead to."""
    real_root = os.path.realpath(root)
    links = [file.path for file in skipped if file.why.code == LINK_SERVED_ONCE]
    real = {
        link: os.path.relpath(os.path.realpath(os.path.join(real_root, link)), real_root) for link in links
    }
    return {link: path.replace(os.sep, "/") for link, path in real.items() if not path.startswith(os.pardir)}


def _stored(page: PageRecord, cells: tuple[str, str, str], naming: Naming) -> StoredRows:
    links, front_text, rest_text = cells
    front = json.loads(front_text) if front_text else {}
    rest = json.loads(rest_text)
    relations = [(kind, name) for kind, name in rest.get("relations", ())]
    relations += _stated(front, page, naming)
    facts = PageFacts(
        links=links_from_cell(links),
        related=tuple(rest.get("related", ())),
        relations=tuple(relations),
        source_refs=tuple(rest.get("sources", ())),
    )
    anchors = tuple(name for name, _ in rest.get("anchors", ()))
    return StoredRows(rows_of(page, facts, naming), _properties(page, front), anchors)


def _stated(front: Mapping[str, Any], page: PageRecord, naming: Naming) -> Iterable[tuple[str, str]]:
    """Yield the relations that a property states by its name.

    ``derived_from`` and ``supersedes`` always do; other relations with a fixed meaning do where the
    value names a page as a link would, since ``uses: [bread]`` may be no more than words.
    """
    for key, value in front.items():
        relation = predicate(key)
        if key.casefold() in _PAGE_FIELDS or relation not in _IF_PAGES:
            continue
        for name in _names(value):
            if relation in _STATED or naming.page_named(name, page):
                yield relation, name


def _names(value: Any) -> Iterable[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        if name := target_name(value):
            yield name
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, dict):
        found = next(
            (value[key] for key in ("id", "slug", "path", "page", "title", "url") if value.get(key)), None
        )
        yield from _names(found)


def _properties(page: PageRecord, front: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scalars and short lists of a page's frontmatter, with what the index made of them."""
    kept: dict[str, Any] = {}
    for key, value in front.items():
        if key.casefold() in _NO_PROPERTY or value is None:
            continue
        if isinstance(value, list):
            items = [item for item in value if isinstance(item, str | int | float)][:_MOST_ITEMS]
            if items and len(items) == min(len(value), _MOST_ITEMS):
                kept[key] = items
        elif isinstance(value, str | int | float):
            kept[key] = value[:_LONGEST_PROPERTY] if isinstance(value, str) else value
    if page.tags:
        kept["tags"] = list(page.tags[:_MOST_ITEMS])
    if page.clusters and "cluster" not in kept:
        kept["cluster"] = page.clusters[0]
    return kept


def _words(node: KnowledgeNode, analyze: Callable[[str], list[str]]) -> NodeWords:
    """Return the stems by which a node is found, by field."""
    return {
        "name": analyze(node.name),
        "aliases": analyze(" ".join(node.names[1:])),
        "properties": analyze(" ".join([node.kind, *property_texts(node.properties)])),
        "summary": analyze(node.summary),
    }


def property_texts(properties: Mapping[str, Any]) -> Sequence[str]:
    """Return the values of properties as texts, each element of a list by itself."""
    found: list[str] = []
    for value in properties.values():
        items = value if isinstance(value, list) else [value]
        found.extend(str(item) for item in items if isinstance(item, str | int | float))
    return found
