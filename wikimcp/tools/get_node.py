"""get_node: the profile of one node and its edges both ways, with names."""

from __future__ import annotations

from typing import Any, ClassVar

from wikimcp.graph.knowledge import KnowledgeEdge, KnowledgeNode
from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import visible_text
from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.graph_nodes import (
    NodeName,
    OpenGraph,
    note_incomplete,
    open_graph,
    provenance_text,
    shown_id,
    shown_name,
)
from wikimcp.tools.page_rows import IncludeDrafts, one_line
from wikimcp.tools.rendering import clip, flatten, json_safe, plain, render_data

_LONGEST_SUMMARY = 1_000
_MOST_SOURCES = 3


class GetNodeParams(Params):
    """The node to describe."""

    node: NodeName
    include_drafts: IncludeDrafts = False


class NodeEdge(Wire):
    """An edge as seen from the node: ``direction`` out or in, and the node at its other end."""

    direction: str
    relation: str
    name: str
    id: str
    type: str
    provenance: str
    confidence: float | None = None


class NodeProfile(Result):
    """One node. ``sources`` cite what defines it or names it; ``mentions`` counts places elsewhere."""

    id: str
    name: str
    type: str
    slug: str | None = None
    summary: str | None = None
    aliases: list[str] | None = None
    provenance: str
    mentions: int
    mentioning_pages: int
    edge_count: int
    sources: list[CitationRow]
    properties: dict[str, Any]
    edges: list[NodeEdge]

    cuttable: ClassVar[tuple[str, ...]] = ("edges", "properties", "aliases", "sources")


def run(reading: Reading, params: GetNodeParams, context: ToolContext) -> NodeProfile:
    """Describe a node. Raises NotFound with the nearest names, Ambiguous with the candidates."""
    opened = open_graph(reading, context)
    node = opened.resolve(params.node)
    note_incomplete(opened, context)
    mentions = opened.mentions.pages_of(node.id)
    edges = list(opened.graph.edges_of(node.id))
    rows = [_edge(opened, node, edge, other) for edge, other in edges]
    return NodeProfile(
        id=shown_id(node.id),
        name=shown_name(node),
        type=node.kind,
        slug=plain(node.slug) or None,
        summary=one_line(node.summary, _LONGEST_SUMMARY),
        aliases=[clip(flatten(alias), 160) for alias in node.aliases] or None,
        provenance=provenance_text(node.provenance),
        mentions=mentions.total(),
        mentioning_pages=len(mentions),
        edge_count=len(edges),
        sources=_sources(opened, node),
        properties=json_safe(node.properties),
        edges=rows,
    )


def _edge(opened: OpenGraph, node: KnowledgeNode, edge: KnowledgeEdge, other: str) -> NodeEdge:
    end = opened.graph.nodes[other]
    opened.page(end)
    return NodeEdge.model_construct(
        direction="out" if edge.source == node.id else "in",
        relation=edge.relation,
        name=shown_name(end),
        id=shown_id(end.id),
        type=end.kind,
        provenance=provenance_text(edge.provenance),
        confidence=edge.confidence,
    )


def _sources(opened: OpenGraph, node: KnowledgeNode) -> list[CitationRow]:
    """Cite the first section of the node's page; of a node without one, the pages that speak of it."""
    reading = opened.reading
    page = opened.page(node)
    if page is not None:
        return [_cited(reading, page, 0)]
    found: dict[str, CitationRow] = {}
    for edge, other in opened.graph.edges_of(node.id):
        for name in (edge.metadata.get("source_page"), opened.graph.nodes[other].slug):
            stated = reading.page(name) if isinstance(name, str) and name else None
            if stated is not None and stated.slug not in found and len(found) < _MOST_SOURCES:
                found[stated.slug] = _cited(reading, stated, 0)
    for slug, ordinal in opened.mentions.chunks_of(node.id):
        if len(found) >= _MOST_SOURCES:
            break
        naming = reading.page(slug)
        if naming is not None and slug not in found:
            found[slug] = _cited_chunk(reading, naming, ordinal)
    return list(found.values())


def _cited(reading: Reading, page: PageRecord, ordinal: int) -> CitationRow:
    """Cite a page's first section that has text of its own."""
    text, sections = reading.text(page), reading.sections(page)
    full = [section for section in sections if text[section.own.start : section.own.end].strip()]
    if not full:
        return CitationRow.of(reading.cite(page, text, 0, len(text), ()))
    section = full[ordinal]
    return CitationRow.of(reading.cite(page, text, section.own.start, section.own.end, section.heading_path))


def _cited_chunk(reading: Reading, page: PageRecord, ordinal: int) -> CitationRow:
    """Cite the chunk in which a page names a node."""
    text, body = reading.text(page), reading.body(page)
    chunk = body.chunks[ordinal]
    path = body.sections[chunk.section].heading_path
    if not visible_text(text, chunk.start, chunk.end, hidden=body.hidden).strip():
        return _cited(reading, page, 0)
    return CitationRow.of(reading.cite(page, text, chunk.start, chunk.end, path))


TOOL = Tool(
    name="get_node",
    title="Node profile",
    description=(
        "One node of the knowledge graph: type, aliases, properties, citations, and its relations both ways "
        "with names: use it to learn what an entity is and what it is tied to."
    ),
    params=GetNodeParams,
    result=NodeProfile,
    run=run,
    render=render_data,
)
