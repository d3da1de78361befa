"""discover_schema: what kinds of nodes, relations and properties the knowledge graph has."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from wikimcp.graph.knowledge import KnowledgeGraph
from wikimcp.index.graph_tables import property_texts
from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.graph_nodes import note_incomplete, open_graph
from wikimcp.tools.page_rows import IncludeDrafts, one_line
from wikimcp.tools.rendering import render_data

_SAMPLES = 3
_LONGEST_SAMPLE = 60


class DiscoverSchemaParams(Params):
    """Nothing but who looks."""

    include_drafts: IncludeDrafts = False


class KindRow(Wire):
    """A kind of node, relation or provenance, and how many there are."""

    type: str
    count: int


class PropertyRow(Wire):
    """A property key, how many nodes have it, and some of its values."""

    key: str
    count: int
    samples: list[str]


class GraphTotals(Wire):
    """How much there is in all; ``edges`` are stated, mentions are found in the text."""

    nodes: int
    edges: int
    mentions: int
    co_mentioned: int


class GraphSchema(Result):
    """The shape of the visible graph, each list by count, then name."""

    totals: GraphTotals
    node_types: list[KindRow]
    relation_types: list[KindRow]
    provenance: list[KindRow]
    properties: list[PropertyRow]

    cuttable: ClassVar[tuple[str, ...]] = ("properties", "relation_types", "node_types")


def run(reading: Reading, params: DiscoverSchemaParams, context: ToolContext) -> GraphSchema:
    """Count what the visible graph is made of."""
    opened = open_graph(reading, context)
    graph, mentions = opened.graph, opened.mentions
    note_incomplete(opened, context)
    found = {"mentions": mentions.mention_edges, "co_mentioned": mentions.co_mention_edges}
    relations = Counter(edge.relation for edge in graph.edges)
    relations.update({relation: count for relation, count in found.items() if count})
    provenance: Counter[str] = Counter(kind for edge in graph.edges for kind in edge.provenance)
    return GraphSchema(
        totals=GraphTotals(nodes=len(graph.nodes), edges=len(graph.edges), **found),
        node_types=_rows(Counter(node.kind for node in graph.nodes.values())),
        relation_types=_rows(relations),
        provenance=_rows(provenance),
        properties=_properties(graph),
    )


def _rows(counts: Counter[str]) -> list[KindRow]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [KindRow(type=one_line(kind) or "", count=count) for kind, count in ranked]


def _properties(graph: KnowledgeGraph) -> list[PropertyRow]:
    counts: Counter[str] = Counter()
    samples: dict[str, dict[str, None]] = {}
    for node in graph.nodes.values():
        for key, value in node.properties.items():
            counts[key] += 1
            shown = samples.setdefault(key, {})
            if len(shown) < _SAMPLES:
                for text in property_texts({key: value})[:1]:
                    shown[one_line(text, _LONGEST_SAMPLE) or ""] = None
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [PropertyRow(key=one_line(key) or "", count=n, samples=list(samples[key])) for key, n in ranked]


TOOL = Tool(
    name="discover_schema",
    title="Graph schema",
    description=(
        "Node types, relation types, property keys and provenance of the knowledge graph, with counts: call "
        "it before query_nodes or traverse to learn which filters exist."
    ),
    params=DiscoverSchemaParams,
    result=GraphSchema,
    run=run,
    render=render_data,
)
