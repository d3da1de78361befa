"""The knowledge graph of one audience: entities with their names, and typed edges with provenance.

Made of the rows of the graph projection: pages are nodes of the kind their type or folder names; what
is neither page nor entity is a node only where a typed relation leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wikimcp.graph.page_rows import HUMAN, GraphPage, page_id
from wikimcp.graph.predicates import page_kind
from wikimcp.graph.projection import GraphProjection
from wikimcp.graph.resolve import fold
from wikimcp.models import GraphEdge, GraphNode

PLAIN_LINKS = frozenset(("links_to", "embeds"))
_SHOWN_APART = frozenset(("entity_kind", "sidecar_kind", "summary", "aliases", "provenance", "description"))
_MOST_PROPERTIES = 40


@dataclass(frozen=True, slots=True)
class KnowledgeNode:
    """One node; ``slug`` is that of its page, empty for what has none. ``provenance`` names who says so."""

    id: str
    name: str
    kind: str
    slug: str = ""
    aliases: tuple[str, ...] = ()
    summary: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    provenance: tuple[str, ...] = (HUMAN,)


@dataclass(frozen=True, slots=True)
class KnowledgeEdge:
    """One typed edge; ``confidence`` None where nobody gave one."""

    source: str
    target: str
    relation: str
    provenance: tuple[str, ...]
    confidence: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class KnowledgeGraph:
    """Nodes by id and their edges both ways, in a fixed order. Never changes once built."""

    def __init__(self, nodes: Mapping[str, KnowledgeNode], edges: Sequence[KnowledgeEdge]) -> None:
        self.nodes = nodes
        self.edges = edges
        self.outgoing: dict[str, list[KnowledgeEdge]] = {}
        self.incoming: dict[str, list[KnowledgeEdge]] = {}
        for edge in edges:
            self.outgoing.setdefault(edge.source, []).append(edge)
            self.incoming.setdefault(edge.target, []).append(edge)

    @classmethod
    def build(
        cls,
        graph: GraphProjection,
        pages: Iterable[GraphPage],
        properties: Mapping[str, Mapping[str, Any]],
    ) -> KnowledgeGraph:
        """Make the graph; ``properties`` are those of each page by slug."""
        nodes: dict[str, KnowledgeNode] = {}
        for page in pages:
            node = graph.nodes[page_id(page.slug)]
            nodes[node.id] = _page_node(page, node, properties.get(page.slug, {}))
        for node in graph.nodes.values():
            if node.id.startswith("entity:"):
                nodes[node.id] = _other_node(node)
        known = [edge for edge in graph.edges.values() if not _is_outline(edge)]
        for edge in known:  # first, so that it does not matter in which order edges come
            for end in (edge.source, edge.target):
                if end not in nodes and (edge.relation not in PLAIN_LINKS or graph.nodes[end].kind == "stub"):
                    nodes[end] = _other_node(graph.nodes[end])
        edges = [
            _edge(edge.source, edge.target, edge.relation, edge.metadata)
            for edge in known
            if edge.source in nodes and edge.target in nodes
        ]
        return cls(nodes, edges)

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Ids of nodes by folded name, for every name and alias."""
        found: dict[str, dict[str, None]] = {}
        for node in self.nodes.values():
            for name in (node.name, *node.aliases):
                found.setdefault(fold(name), {})[node.id] = None
        return {name: tuple(ids) for name, ids in found.items()}

    def edges_of(self, node_id: str, direction: str = "both") -> Iterator[tuple[KnowledgeEdge, str]]:
        """Yield the edges at a node with the id of their other end, outgoing ones first."""
        if direction != "in":
            yield from ((edge, edge.target) for edge in self.outgoing.get(node_id, ()))
        if direction != "out":
            yield from ((edge, edge.source) for edge in self.incoming.get(node_id, ()))


def _is_outline(edge: GraphEdge) -> bool:
    """Whether an edge leads to a tag or heading of a page; what contains an entity or page is knowledge."""
    return edge.relation == "tagged" or (edge.relation == "contains" and edge.target.startswith("heading:"))


def _page_node(page: GraphPage, node: GraphNode, properties: Mapping[str, Any]) -> KnowledgeNode:
    kind = page_kind(page.type, page.path)
    said = node.metadata.get("sidecar_kind")
    if kind == "page" and isinstance(said, str):
        kind = said
    aliases = node.metadata.get("aliases", ())
    added = {key: value for key, value in node.metadata.items() if key not in (*_SHOWN_APART, "type")}
    provenance = (HUMAN, *(name for name in _provenance(node.metadata) if name != HUMAN))
    return KnowledgeNode(
        node.id,
        page.title,
        kind,
        page.slug,
        _texts(aliases),
        page.summary,
        {**added, **properties},
        provenance,
    )


def _other_node(node: GraphNode) -> KnowledgeNode:
    metadata = node.metadata
    summary = metadata.get("summary") or metadata.get("description") or ""
    properties = [(key, value) for key, value in metadata.items() if key not in _SHOWN_APART]
    return KnowledgeNode(
        node.id,
        node.label,
        node.kind,
        "",
        _texts(metadata.get("aliases", ())),
        summary if isinstance(summary, str) else "",
        dict(properties[:_MOST_PROPERTIES]),
        _provenance(metadata) or (HUMAN,),
    )


def _edge(source: str, target: str, relation: str, metadata: Mapping[str, Any]) -> KnowledgeEdge:
    said = metadata.get("confidence")
    confidence = None
    if said is not None:
        numbers = [n for n in (said if isinstance(said, list) else [said]) if isinstance(n, int | float)]
        confidence = float(max(numbers)) if numbers else None
    return KnowledgeEdge(source, target, relation, _provenance(metadata) or (HUMAN,), confidence, metadata)


def _provenance(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    return _texts(metadata.get("provenance", ()))


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return (value,)
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list | tuple) else ()
