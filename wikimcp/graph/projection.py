"""The graph projection: every page, heading, tag, source and unresolved name that an audience sees.

With the edges between them, sidecars merged in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any

from wikimcp.errors import NotFound, nearest
from wikimcp.graph.page_rows import (
    HUMAN,
    GraphPage,
    PageRows,
    folded_id,
    joined,
    joined_metadata,
    page_id,
)
from wikimcp.graph.predicates import page_kind
from wikimcp.graph.resolve import fold
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.markdown.anchors import anchor, may_name_heading, numbered_anchors
from wikimcp.models import GraphEdge, GraphNode, Section

_FOLDED = ("placeholder:", "tag:")  # names that mean the same in any case
_NEAREST_OF = 2_000
_NONE: Mapping[str, Iterable[str]] = MappingProxyType({})

EdgeKey = tuple[str, str, str]


class GraphProjection:
    """Nodes by id and edges by (source, target, relation), in a fixed order: pages by path, then the rest."""

    def __init__(self, nodes: Mapping[str, GraphNode], edges: Mapping[EdgeKey, GraphEdge]) -> None:
        self.nodes = nodes
        self.edges = edges

    @cached_property
    def outgoing(self) -> Mapping[str, Sequence[GraphEdge]]:
        """Edges by source."""
        found: dict[str, list[GraphEdge]] = {}
        for edge in self.edges.values():
            found.setdefault(edge.source, []).append(edge)
        return found

    @cached_property
    def incoming(self) -> Mapping[str, Sequence[GraphEdge]]:
        """Edges by target."""
        found: dict[str, list[GraphEdge]] = {}
        for edge in self.edges.values():
            found.setdefault(edge.target, []).append(edge)
        return found

    def neighborhood(
        self, start: str, *, depth: int = 1, most_nodes: int = 200
    ) -> tuple[Sequence[GraphNode], Sequence[GraphEdge], int]:
        """Return what lies within ``depth`` edges of a node, both ways, breadth-first.

        Returns (nodes, the edges among them, how many neighbours the cap left out). Raises NotFound for
        an id that is no node.
        """
        if start not in self.nodes:
            raise NotFound(f"no node {start[:120]!r} in the graph", hint=self._suggest(start))
        found: dict[str, int] = {start: 0}
        left_out: set[str] = set()
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            if found[at] >= depth:
                continue
            for other in self._neighbours(at):
                if other in found:
                    continue
                if len(found) >= most_nodes:
                    left_out.add(other)
                    continue
                found[other] = found[at] + 1
                waiting.append(other)
        edges = [edge for name in found for edge in self.outgoing.get(name, ()) if edge.target in found]
        return [self.nodes[name] for name in found], edges, len(left_out)

    def _neighbours(self, at: str) -> Iterable[str]:
        yield from (edge.target for edge in self.outgoing.get(at, ()))
        yield from (edge.source for edge in self.incoming.get(at, ()))

    def _suggest(self, name: str) -> str:
        key = fold(name.partition(":")[2] or name)[:80]
        likely = [node for node in self.nodes if key[:3] in node.casefold()][:_NEAREST_OF]
        close = nearest(name[:80], likely)
        return f"Nearest: {', '.join(close)}." if close else "See `wikimcp graph`."

    def payload(
        self, nodes: Iterable[GraphNode] | None = None, edges: Iterable[GraphEdge] | None = None
    ) -> Any:  # noqa: ANN401
        """Return nodes and edges (all of them by default) as JSON: ``{"nodes": [...], "edges": [...]}``."""
        shown = self.nodes.values() if nodes is None else nodes
        drawn = self.edges.values() if edges is None else edges
        return {"nodes": [node_row(node) for node in shown], "edges": [edge_row(edge) for edge in drawn]}


def node_row(node: GraphNode) -> dict[str, Any]:
    """Return the row of a node: id, label, kind, path, metadata."""
    return {
        "id": node.id,
        "label": node.label,
        "kind": node.kind,
        "path": node.path,
        "metadata": dict(node.metadata),
    }


def edge_row(edge: GraphEdge) -> dict[str, Any]:
    """Return the row of an edge: source, target, relation, metadata."""
    return {
        "source": edge.source,
        "target": edge.target,
        "relation": edge.relation,
        "metadata": dict(edge.metadata),
    }


def page_node(page: GraphPage) -> GraphNode:
    """Return the node of a page."""
    metadata: dict[str, Any] = {"entity_kind": page_kind(page.type, page.path)}
    for key in ("type", "summary"):
        if value := getattr(page, key):
            metadata[key] = value
    if page.aliases:
        metadata["aliases"] = list(page.aliases)
    return GraphNode(page_id(page.slug), page.title, "page", page.path, metadata)


def heading_rows(page: GraphPage, sections: Sequence[Section]) -> PageRows:
    """Return the headings of a page and the edges that contain them: page, then heading in heading."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    above: dict[tuple[str, ...], str] = {(): page_id(page.slug)}
    for section in sections:
        if not section.heading_path:
            continue
        path = section.heading_path
        name = f"heading:{page.slug}#{'#'.join(path)}"
        if section.duplicate > 1:
            name += f"~{section.duplicate}"
        metadata = {"level": section.level, "line": section.own.first_line}
        nodes.append(GraphNode(name, section.heading, "heading", page.path, metadata))
        parent = above.get(path[:-1], above[()])
        above[path] = name
        edges.append(GraphEdge(parent, name, "contains", {"provenance": HUMAN}))
    return PageRows(tuple(nodes), tuple(edges))


def assemble(
    pages: Sequence[GraphPage],
    rows: Iterable[PageRows],
    sidecar: SidecarRows | None,
    *,
    headings: Iterable[PageRows] = (),
    anchors: Mapping[str, Iterable[str]] = _NONE,
    tags: bool = True,
) -> GraphProjection:
    """Put the rows of all pages and of the sidecar together; ``tags`` false leaves the pages' tags out.

    ``anchors`` are those that pages write out themselves, by path; they tell with ``headings`` which
    fragments of links lead nowhere.
    """
    nodes: dict[str, GraphNode] = {}
    for page in pages:
        node = page_node(page)
        nodes[node.id] = node
    spelled: dict[str, str] = {}

    def one_id(name: str) -> str:
        if not name.startswith(_FOLDED):
            return name
        return spelled.setdefault(folded_id(name), name)

    edges: dict[EdgeKey, GraphEdge] = {}
    known_headings = _put_headings(nodes, edges, headings)
    for part in rows:
        for node in part.nodes:
            if (tags or node.kind != "tag") and (name := one_id(node.id)) not in nodes:
                nodes[name] = node
        for edge in part.edges:
            if tags or edge.relation != "tagged":
                _put(edges, _respelled(edge, one_id(edge.source), one_id(edge.target)))
    if known_headings or anchors:
        _mark_fragments(nodes, edges, known_headings, anchors)
    if sidecar is not None:
        _merge_sidecar(nodes, edges, sidecar, one_id)
    return GraphProjection(nodes, edges)


def _put_headings(
    nodes: dict[str, GraphNode], edges: dict[EdgeKey, GraphEdge], headings: Iterable[PageRows]
) -> Mapping[str, set[str]]:
    """Add the headings; return the anchors of those of each page by its path."""
    labels: dict[str, list[str]] = {}
    for part in headings:
        for node in part.nodes:
            nodes[node.id] = node
            labels.setdefault(node.path, []).append(node.label)
        edges.update(((edge.source, edge.target, edge.relation), edge) for edge in part.edges)
    return {path: {*chain.from_iterable(numbered_anchors(found))} for path, found in labels.items()}


def _put(edges: dict[EdgeKey, GraphEdge], edge: GraphEdge) -> None:
    key = (edge.source, edge.target, edge.relation)
    known = edges.get(key)
    edges[key] = edge if known is None else joined(known, edge)


def _respelled(edge: GraphEdge, source: str, target: str) -> GraphEdge:
    if source == edge.source and target == edge.target:
        return edge
    return GraphEdge(source, target, edge.relation, edge.metadata)


def _mark_fragments(
    nodes: Mapping[str, GraphNode],
    edges: dict[EdgeKey, GraphEdge],
    headings: Mapping[str, set[str]],
    anchors: Mapping[str, Iterable[str]],
) -> None:
    """Mark links to a heading that the page does not have: a class of their own beside broken links.

    ``headings`` are the anchors of those of each page by its path, ``anchors`` what it writes out itself: a
    link that only these explain says so.
    """
    for key, edge in edges.items():
        fragments = edge.metadata.get("fragment")
        if not fragments or not edge.target.startswith("page:"):
            continue
        path = nodes[edge.target].path
        there = headings.get(path, set())
        named = set(map(anchor, anchors.get(path, ())))
        written = fragments if isinstance(fragments, list) else [fragments]
        folded = {text: anchor(text.rpartition("#")[2]) for text in written if not text.startswith("^")}
        missing = [
            text
            for text, name in folded.items()
            if name not in there and name not in named and may_name_heading(text)
        ]
        by_anchor = [text for text, name in folded.items() if name in named and name not in there]
        marks = {"missing_heading": missing, "via_anchor": by_anchor}
        if missing or by_anchor:
            told = {name: texts if len(texts) > 1 else texts[0] for name, texts in marks.items() if texts}
            edges[key] = GraphEdge(edge.source, edge.target, edge.relation, {**edge.metadata, **told})


def _merge_sidecar(
    nodes: dict[str, GraphNode],
    edges: dict[EdgeKey, GraphEdge],
    sidecar: SidecarRows,
    one_id: Any,  # noqa: ANN401
) -> None:
    for name, metadata in sidecar.page_metadata.items():
        node = nodes[name]
        nodes[name] = replace(node, metadata=joined_metadata(node.metadata, metadata))
    for node in sidecar.nodes.values():
        name = one_id(node.id)
        known = nodes.get(name)
        if known is None:
            nodes[name] = node
        elif node.metadata:
            nodes[name] = replace(known, metadata=joined_metadata(known.metadata, node.metadata))
    for edge in sidecar.edges:
        source, target = one_id(edge.source), one_id(edge.target)
        if source in nodes and target in nodes:
            _put(edges, _respelled(edge, source, target))
