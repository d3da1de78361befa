"""query_nodes: the nodes of the knowledge graph that meet filters, part by part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from wikimcp.graph.knowledge import KnowledgeNode
from wikimcp.graph.predicates import predicate
from wikimcp.index.graph_tables import property_texts
from wikimcp.index.names import fold
from wikimcp.index.view import Reading
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext
from wikimcp.tools.cursors import continue_from, scope_of
from wikimcp.tools.filters import unknown_value
from wikimcp.tools.graph_nodes import MENTIONS, NodeRow, NodeType, OpenGraph, note_incomplete, open_graph
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, page_of
from wikimcp.tools.rendering import render_data

Test = Callable[[KnowledgeNode], bool]


class QueryNodesParams(Params):
    """Filters that a node must meet all of."""

    node_type: NodeType = ""
    name: Annotated[str, Field(description="Part of the name or an alias", examples=["postgres"])] = ""
    source_page: Annotated[str, Field(description="Page that states the node or its relations")] = ""
    relation: Annotated[str, Field(description="Has an edge of this kind", examples=["depends_on"])] = ""
    properties: Annotated[
        Mapping[str, Any], Field(description="Property values", examples=[{"status": "active"}])
    ] = Field(default_factory=dict)
    provenance: Annotated[str, Field(description="human-authored or ai-inferred")] = ""
    limit: Annotated[int, Field(ge=1, le=200, description="Nodes per answer")] = 50
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class NodeList(ListResult):
    """A part of the list of nodes, pages by path first, then the others."""

    nodes: list[NodeRow]

    cuttable: ClassVar[tuple[str, ...]] = ("nodes",)


def run(reading: Reading, params: QueryNodesParams, context: ToolContext) -> NodeList:
    """List the nodes that meet every filter. Raises NotFound or Ambiguous for a wrong ``source_page``."""
    opened = open_graph(reading, context)
    asked = params.model_dump(mode="json", exclude={"cursor", "limit"})
    scope = scope_of(["query_nodes", asked, opened.mark], reading.audience)
    at = continue_from(params.cursor, generation=reading.generation, scope=scope)
    tests = list(_tests(opened, params, context))
    nodes = [node for node in opened.graph.nodes.values() if all(test(node) for test in tests)]
    if not nodes:
        context.note("no node matches; discover_schema shows which types, relations and properties there are")
    part, counts = page_of(nodes, at, params.limit)
    opened.touch(part)
    return NodeList(nodes=[NodeRow.of(node) for node in part], **counts)


def _tests(opened: OpenGraph, params: QueryNodesParams, context: ToolContext) -> Iterable[Test]:
    graph = opened.graph
    if params.node_type.strip():
        kinds = {node.kind for node in graph.nodes.values()}
        yield _among("node_type", params.node_type, kinds, context, lambda node: (node.kind,))
    if key := fold(params.name.strip()):
        yield lambda node: any(key in fold(name) for name in node.names)
    if params.source_page.strip():
        ids = _from_page(opened, params.source_page)
        yield lambda node: node.id in ids
    if params.relation.strip():
        having = _with_relation(opened, params.relation, context)
        yield lambda node: node.id in having
    if params.provenance.strip():
        known = {kind for node in graph.nodes.values() for kind in node.provenance}
        yield _among("provenance", params.provenance, known, context, lambda node: node.provenance)
    for name, value in params.properties.items():
        yield _property_test(opened, name, value, context)


def _among(
    name: str,
    value: str,
    known: Collection[str],
    context: ToolContext,
    values_of: Callable[[KnowledgeNode], Collection[str]],
) -> Test:
    key = fold(value.strip())
    if not any(fold(one) == key for one in known):
        context.note(unknown_value(name, value, known))
    return lambda node: any(fold(one) == key for one in values_of(node))


def _from_page(opened: OpenGraph, name: str) -> set[str]:
    """Return the ids of what a page states: its own node, the ends of its edges, and sidecar rows of it."""
    page = opened.reading.resolve(name)
    own = f"page:{page.slug}"
    found = {own, *(edge.target for edge in opened.graph.outgoing(own))}
    keys = {fold(text) for text in (page.slug, page.path, page.canonical_id, page.title)}
    for edge in opened.graph.edges:
        if _names_page(edge.metadata, keys):
            found |= {edge.source, edge.target}
    found |= {node.id for node in opened.graph.nodes.values() if _names_page(node.properties, keys)}
    return found


def _names_page(facts: Mapping[str, Any], keys: set[str]) -> bool:
    said = facts.get("source_page")
    texts = said if isinstance(said, list) else [said]
    return any(isinstance(text, str) and fold(text) in keys for text in texts)


def _with_relation(opened: OpenGraph, written: str, context: ToolContext) -> set[str]:
    graph, wanted = opened.graph, predicate(written)
    if wanted in MENTIONS:
        note_incomplete(opened, context)
        mentions = opened.mentions
        named = [node for node in graph.nodes if mentions.pages_of(node)]
        if wanted == "co_mentioned":
            return {node for node in graph.nodes if mentions.co_mentioned(node)}
        naming = [f"page:{slug}" for slug in mentions.by_page if mentions.named_by(slug)]
        return {*named, *naming}
    edges = [edge for edge in graph.edges if edge.relation == wanted]
    if not edges:
        context.note(unknown_value("relation", written, {edge.relation for edge in graph.edges}))
    return {end for edge in edges for end in (edge.source, edge.target)}


def _property_test(opened: OpenGraph, name: str, value: object, context: ToolContext) -> Test:
    """Compare folded texts; of a list one element is enough."""
    key = fold(name.strip())
    known = {one for node in opened.graph.nodes.values() for one in node.properties}
    names = {one for one in known if fold(one) == key}
    if not names:
        context.note(unknown_value("property", name, known))
    wanted = {fold(text) for text in property_texts({"value": value})}

    def test(node: KnowledgeNode) -> bool:
        texts = property_texts({one: node.properties[one] for one in names if one in node.properties})
        return not wanted.isdisjoint(map(fold, texts))

    return test


TOOL = Tool(
    name="query_nodes",
    title="Query nodes",
    description=(
        "Nodes of the knowledge graph (entities and pages) by type, name, relation, property, source page or "
        "provenance: use it for 'which X are there'. discover_schema shows the values."
    ),
    params=QueryNodesParams,
    result=NodeList,
    run=run,
    render=render_data,
)
