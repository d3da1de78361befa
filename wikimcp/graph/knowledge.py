"""The knowledge graph of one audience: entities with their names, and typed edges with provenance.

Made of the rows of pages and sidecar: pages are nodes of the kind their type or folder names; what is
neither page nor entity is a node only where a typed relation leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from wikimcp.graph.page_rows import HUMAN, PAGE, GraphPage, joined_metadata, page_id
from wikimcp.graph.predicates import page_kind
from wikimcp.graph.projection import page_node
from wikimcp.graph.resolve import fold
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.graph.stated import PLAIN_LINKS, Stated, StatedParts, end_key
from wikimcp.models import GraphNode

__all__ = ["PLAIN_LINKS", "KnowledgeEdge", "KnowledgeGraph", "KnowledgeNode", "Stated"]

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

    @property
    def names(self) -> tuple[str, ...]:
        """All that the node is called: name, aliases, and a file's name where it is written as one writes.

        In many a vault the name of the file is the name, and the title comes from some heading.
        """
        file_name = self.slug.rpartition("/")[2]
        written = (file_name,) if " " in file_name and file_name != self.name else ()
        return (self.name, *self.aliases, *written)


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
    """Nodes by id, pages by path first, and the edges between them. Never changes once built.

    What each page states is kept apart, and edges are put together where somebody asks for them: so a graph
    that goes on from another costs what is different.
    """

    def __init__(self, parts: StatedParts, nodes: Mapping[str, KnowledgeNode]) -> None:
        self.nodes = nodes
        self._parts = parts
        self._others: dict[str, KnowledgeNode] = {}
        self._page_nodes: dict[str, KnowledgeNode] = {}
        self._converted: dict[str, tuple[KnowledgeEdge, ...]] = {}
        self._beside: dict[str, tuple[tuple[KnowledgeEdge, ...], tuple[KnowledgeEdge, ...]]] = {}

    @classmethod
    def of(
        cls,
        stated: Sequence[Stated],
        sidecar: SidecarRows | None = None,
        *,
        before: KnowledgeGraph | None = None,
    ) -> KnowledgeGraph:
        """Make the graph of what pages, sorted by path, and a sidecar state, going on from an earlier one."""
        parts = StatedParts.of(stated, sidecar, before=before._parts if before is not None else None)
        graph = cls(parts, {})
        graph._others = dict(before._others) if before is not None and not parts.anew else {}
        moved = graph._find_others(parts.touched)
        graph._page_nodes, renamed = _page_nodes(stated, parts, before)
        graph.nodes = {node.id: node for node in graph._page_nodes.values()}
        graph.nodes.update(sorted((node.id, node) for node in graph._others.values()))
        if before is not None and not parts.anew:
            graph._take_over(before, moved)
            if not renamed and not moved and "names" in before.__dict__:
                graph.__dict__["names"] = before.names
        return graph

    def _find_others(self, keys: Iterable[str]) -> set[str]:
        """Bring the nodes without a page in line for some keys; returns those that are others now."""
        moved: set[str] = set()
        for key in keys:
            now, known = _other_node_of(self._parts, key), self._others.get(key)
            if now == known:
                continue
            moved.add(key)
            if now is None:
                del self._others[key]
            else:
                self._others[key] = now
        return moved

    def _take_over(self, before: KnowledgeGraph, moved: Iterable[str]) -> None:
        """Take over the edges that are still the same."""
        parts = self._parts
        affected = {*parts.changed, *(user for key in moved for user in parts.users.get(key, ()))}
        self._converted = {path: edges for path, edges in before._converted.items() if path not in affected}
        ends = {end for path in affected for part in parts.versions(path, before._parts) for end in part.ends}
        self._beside = {key: both for key, both in before._beside.items() if key not in ends}

    @cached_property
    def edges(self) -> Sequence[KnowledgeEdge]:
        """All edges, by the path of the page that states them; those of the sidecar come last."""
        merged: dict[tuple[str, str, str], KnowledgeEdge] = {}
        for path in self._parts.paths():
            _merge(merged, self._edges_of_part(path))
        return tuple(merged.values())

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Ids of nodes by folded name, for every name that they have."""
        found: dict[str, dict[str, None]] = {}
        for node in self.nodes.values():
            for name in node.names:
                found.setdefault(fold(name), {})[node.id] = None
        return {name: tuple(ids) for name, ids in found.items()}

    def outgoing(self, node_id: str) -> Sequence[KnowledgeEdge]:
        """Return the edges that start from a node."""
        return self._around(node_id)[0]

    def incoming(self, node_id: str) -> Sequence[KnowledgeEdge]:
        """Return the edges that lead to a node."""
        return self._around(node_id)[1]

    def edges_of(self, node_id: str, direction: str = "both") -> Iterator[tuple[KnowledgeEdge, str]]:
        """Yield the edges at a node with the id of their other end, outgoing ones first."""
        if direction != "in":
            yield from ((edge, edge.target) for edge in self.outgoing(node_id))
        if direction != "out":
            yield from ((edge, edge.source) for edge in self.incoming(node_id))

    def _around(self, node_id: str) -> tuple[tuple[KnowledgeEdge, ...], tuple[KnowledgeEdge, ...]]:
        key = end_key(node_id)
        found = self._beside.get(key)
        if found is None:
            out: dict[tuple[str, str, str], KnowledgeEdge] = {}
            into: dict[tuple[str, str, str], KnowledgeEdge] = {}
            for path in self._parts.users.get(key, ()):
                edges = self._edges_of_part(path)
                _merge(out, (edge for edge in edges if edge.source == node_id))
                _merge(into, (edge for edge in edges if edge.target == node_id))
            found = self._beside[key] = (tuple(out.values()), tuple(into.values()))
        return found

    def _edges_of_part(self, path: str) -> tuple[KnowledgeEdge, ...]:
        """Return what one page, or the sidecar, states between nodes that there are."""
        found = self._converted.get(path)
        if found is None:
            merged: dict[tuple[str, str, str], KnowledgeEdge] = {}
            for edge in self._parts.by_path[path].edges:
                source, target = self._end(edge.source), self._end(edge.target)
                if source and target:
                    _merge(merged, (_edge(source, target, edge.relation, edge.metadata),))
            found = self._converted[path] = tuple(merged.values())
        return found

    def _end(self, node_id: str) -> str:
        """Return the id of the node that an end means; empty when there is none."""
        if node_id in self.nodes:
            return node_id
        node = self._others.get(end_key(node_id))
        return node.id if node is not None else ""


def _merge(merged: dict[tuple[str, str, str], KnowledgeEdge], edges: Iterable[KnowledgeEdge]) -> None:
    for edge in edges:
        key = (edge.source, edge.target, edge.relation)
        known = merged.get(key)
        if known is not None:
            edge = _edge(*key, joined_metadata(known.metadata, edge.metadata))
        merged[key] = edge


def _other_node_of(parts: StatedParts, key: str) -> KnowledgeNode | None:
    """Return the node that is meant by a key and has no page; None where nothing makes it knowledge.

    That is an entity, a stub, or whatever a typed relation leads to. The first page that names it decides
    how it is spelled.
    """
    if key.startswith(PAGE):
        return None
    found: GraphNode | None = None
    typed = False
    for path in parts.users.get(key, ()):
        part = parts.by_path[path]
        for node in part.nodes.get(key, ()):
            if found is None:
                found = node
            elif part.joins and node.metadata:
                found = replace(found, metadata=joined_metadata(found.metadata, node.metadata))
        typed = typed or key in part.typed
    if found is None or not (typed or found.kind == "stub" or found.id.startswith("entity:")):
        return None
    return _other_node(found)


def _page_nodes(
    stated: Sequence[Stated], parts: StatedParts, before: KnowledgeGraph | None
) -> tuple[dict[str, KnowledgeNode], bool]:
    """Return the nodes of pages by path, and whether any name of a page came, went or changed."""
    said = parts.sidecar.page_metadata if parts.sidecar is not None else {}
    known = before._page_nodes if before is not None else {}
    if before is not None and before._parts.sidecar is parts.sidecar:
        same = parts.same_pages(before._parts)
    else:
        same = set()
    nodes: dict[str, KnowledgeNode] = {}
    renamed = len(stated) != len(known)
    for item in stated:
        path = item.page.path
        old = known.get(path)
        if old is None or path not in same:
            new = _page_node(item.page, item.properties, said.get(page_id(item.page.slug), {}))
            renamed = renamed or old is None or _called(old) != _called(new)
            old = new
        nodes[path] = old
    return nodes, renamed


def _called(node: KnowledgeNode) -> tuple[object, ...]:
    return node.id, node.name, node.aliases


def _page_node(page: GraphPage, properties: Mapping[str, Any], said: Mapping[str, Any]) -> KnowledgeNode:
    """Return the node of a page; ``said`` is what a sidecar adds."""
    kind = page_kind(page.type, page.path)
    if not said:
        return KnowledgeNode(
            page_id(page.slug), page.title, kind, page.slug, page.aliases, page.summary, properties
        )
    metadata = joined_metadata(page_node(page).metadata, said)
    other = metadata.get("sidecar_kind")
    if kind == "page" and isinstance(other, str):
        kind = other
    added = {key: value for key, value in metadata.items() if key not in (*_SHOWN_APART, "type")}
    provenance = (HUMAN, *(name for name in _provenance(metadata) if name != HUMAN))
    return KnowledgeNode(
        page_id(page.slug),
        page.title,
        kind,
        page.slug,
        _texts(metadata.get("aliases", ())),
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
