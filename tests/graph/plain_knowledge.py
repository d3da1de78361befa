"""The knowledge graph in the plainest way: everything put together at once, without going on from anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wikimcp.graph.knowledge import PLAIN_LINKS, KnowledgeEdge, KnowledgeNode, Stated
from wikimcp.graph.page_rows import page_id
from wikimcp.graph.predicates import page_kind
from wikimcp.graph.projection import assemble
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.models import GraphEdge, GraphNode

APART = {"entity_kind", "sidecar_kind", "summary", "aliases", "provenance", "description"}


def plain_knowledge(
    stated: Sequence[Stated], sidecar: SidecarRows | None
) -> tuple[dict[str, KnowledgeNode], list[KnowledgeEdge]]:
    """Return nodes by id (pages in their order, the others by id) and all edges in order."""
    pages = [item.page for item in stated]
    graph = assemble(pages, [item.rows for item in stated], sidecar, tags=False)
    nodes = {page_id(item.page.slug): page(item, graph.nodes[page_id(item.page.slug)]) for item in stated}
    known = [
        edge
        for edge in graph.edges.values()
        if edge.relation != "tagged"
        and not (edge.relation == "contains" and edge.target.startswith("heading:"))
    ]
    others = {name for name in graph.nodes if name.startswith("entity:")}
    for edge in known:
        for end in {edge.source, edge.target} - nodes.keys():
            if edge.relation not in PLAIN_LINKS or graph.nodes[end].kind == "stub":
                others.add(end)
    nodes |= {name: other(graph.nodes[name]) for name in sorted(others)}
    return nodes, [stating(edge) for edge in known if edge.source in nodes and edge.target in nodes]


def page(item: Stated, node: GraphNode) -> KnowledgeNode:
    kind = page_kind(item.page.type, item.page.path)
    if kind == "page":
        kind = str(node.metadata.get("sidecar_kind", kind))
    said = {key: value for key, value in node.metadata.items() if key not in APART | {"type"}}
    provenance = [one for one in texts(node.metadata.get("provenance", ())) if one != "human-authored"]
    return KnowledgeNode(
        node.id,
        item.page.title,
        kind,
        item.page.slug,
        texts(node.metadata.get("aliases", ())),
        item.page.summary,
        {**said, **item.properties},
        ("human-authored", *provenance),
    )


def other(node: GraphNode) -> KnowledgeNode:
    said = node.metadata
    summary = said.get("summary") or said.get("description") or ""
    found = KnowledgeNode(node.id, node.label, node.kind, "", texts(said.get("aliases", ())))
    return replace(
        found,
        summary=summary if isinstance(summary, str) else "",
        properties={key: value for key, value in said.items() if key not in APART},
        provenance=texts(said.get("provenance", ())) or ("human-authored",),
    )


def stating(edge: GraphEdge) -> KnowledgeEdge:
    said = edge.metadata.get("confidence")
    numbers = said if isinstance(said, list) else [] if said is None else [said]
    provenance = texts(edge.metadata.get("provenance", ())) or ("human-authored",)
    confidence = float(max(numbers)) if numbers else None
    return KnowledgeEdge(edge.source, edge.target, edge.relation, provenance, confidence, edge.metadata)


def texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    return (value,) if isinstance(value, str) else tuple(value)
