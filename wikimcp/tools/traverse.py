"""traverse: what lies around a node, breadth-first: shape and summaries first, the texts on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wikimcp.graph.knowledge import KnowledgeEdge, KnowledgeNode
from wikimcp.graph.predicates import predicate
from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.filters import unknown_value
from wikimcp.tools.graph_nodes import (
    MENTIONS,
    EdgeRow,
    NodeName,
    OpenGraph,
    mention_edges,
    node_facts,
    note_incomplete,
    open_graph,
)
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import render_data

_MOST_EDGES = 400


class TraverseParams(Params):
    """Where to start, how far to go and along what."""

    start_node: NodeName
    max_depth: Annotated[int, Field(ge=1, le=4, description="Edges from the start")] = 2
    relations: Annotated[
        tuple[str, ...], Field(description="Only these relations; none: all", examples=[["depends_on"]])
    ] = ()
    direction: Annotated[Literal["out", "in", "both"], Field(description="Along edges or against")] = "both"
    max_nodes: Annotated[int, Field(ge=1, le=200, description="Nodes at most")] = 50
    include_mentions: Annotated[bool, Field(description="Also names found in the text")] = False
    include_drafts: IncludeDrafts = False


class ReachedNode(Wire):
    """A node with its distance from the start."""

    id: str
    name: str
    kind: str
    depth: int
    slug: str | None = None
    summary: str | None = None


class Traversal(Result):
    """Nodes by depth, nearest first, and the edges among them, those that led to a node first.

    ``frontier`` counts neighbours that ``max_nodes`` left out, of ``edge_count`` edges some may be cut.
    """

    start: str
    node_count: int
    edge_count: int
    frontier: int
    nodes: list[ReachedNode]
    edges: list[EdgeRow]

    cuttable: ClassVar[tuple[str, ...]] = ("edges", "nodes")


@dataclass(slots=True)
class _Walk:
    depths: dict[str, int]
    led: list[KnowledgeEdge] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)


def run(reading: Reading, params: TraverseParams, context: ToolContext) -> Traversal:
    """Walk from a node. Raises NotFound or Ambiguous for a start that is not one node's name."""
    opened = open_graph(reading, context)
    start = opened.resolve(params.start_node)
    wanted = frozenset(map(predicate, params.relations))
    if params.relations:
        known = {edge.relation for edge in opened.graph.edges} | set(MENTIONS)
        for written in params.relations:
            if predicate(written) not in known:
                context.note(unknown_value("relation", written, known))
    if params.include_mentions:
        note_incomplete(opened, context)
    walk = _walk(opened, start, params, wanted)
    nodes = [opened.graph.nodes[node] for node in walk.depths]
    opened.touch(nodes)
    edges = _edges_among(opened, walk, params, wanted)
    if walk.left_out:
        context.note(
            f"{len(walk.left_out)} more neighbours were left out by max_nodes; raise it, name relations, "
            "or start from one of the nodes"
        )
    return Traversal(
        start=start.id,
        node_count=len(nodes),
        edge_count=len(edges),
        frontier=len(walk.left_out),
        nodes=[_row(node, walk.depths[node.id]) for node in nodes],
        edges=[EdgeRow.of(edge) for edge in edges[:_MOST_EDGES]],
    )


def _walk(opened: OpenGraph, start: KnowledgeNode, params: TraverseParams, wanted: frozenset[str]) -> _Walk:
    walk = _Walk({start.id: 0})
    waiting = deque([start.id])
    while waiting:
        at = waiting.popleft()
        if walk.depths[at] >= params.max_depth:
            continue
        for edge, other in _edges_at(opened, at, params, wanted):
            if other in walk.depths or other in walk.left_out:
                continue
            if len(walk.depths) >= params.max_nodes:
                walk.left_out.add(other)
                continue
            walk.depths[other] = walk.depths[at] + 1
            walk.led.append(edge)
            waiting.append(other)
    return walk


def _edges_at(
    opened: OpenGraph, at: str, params: TraverseParams, wanted: frozenset[str]
) -> Iterator[tuple[KnowledgeEdge, str]]:
    for edge, other in opened.graph.edges_of(at, params.direction):
        if not wanted or edge.relation in wanted:
            yield edge, other
    if params.include_mentions:
        for edge, other in mention_edges(opened, opened.graph.nodes[at], params.direction):
            if not wanted or edge.relation in wanted:
                yield edge, other


def _edges_among(
    opened: OpenGraph, walk: _Walk, params: TraverseParams, wanted: frozenset[str]
) -> list[KnowledgeEdge]:
    """Return the edges between the nodes found, each once, those by which they were found first."""
    found = {(edge.source, edge.target, edge.relation): edge for edge in walk.led}
    depths, graph = walk.depths, opened.graph
    for at in depths:  # a loop of its own: most edges at a node lead elsewhere
        if params.include_mentions:
            edges = [edge for edge, other in _edges_at(opened, at, params, wanted) if other in depths]
        else:
            out = graph.outgoing(at) if params.direction != "in" else ()
            into = graph.incoming(at) if params.direction != "out" else ()
            edges = [edge for edge in out if edge.target in depths]
            edges += [edge for edge in into if edge.source in depths]
        for edge in edges:
            if not wanted or edge.relation in wanted:
                found.setdefault((edge.source, edge.target, edge.relation), edge)
    return list(found.values())


def _row(node: KnowledgeNode, depth: int) -> ReachedNode:
    facts = node_facts(node)
    return ReachedNode(
        id=facts["id"],
        name=facts["name"],
        kind=facts["type"],
        depth=depth,
        slug=facts["slug"],
        summary=facts["summary"],
    )


TOOL = Tool(
    name="traverse",
    title="Traverse the graph",
    description=(
        "Nodes and edges around a page or entity, breadth-first, with summaries instead of texts: use it to "
        "see how things hang together, then read_pages what matters."
    ),
    params=TraverseParams,
    result=Traversal,
    run=run,
    render=render_data,
)
