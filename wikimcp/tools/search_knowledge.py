"""search_knowledge: nodes of the knowledge graph ranked for a question."""

from __future__ import annotations

from string import punctuation
from typing import Annotated, ClassVar, Self

from pydantic import Field

from wikimcp.graph.knowledge import KnowledgeNode
from wikimcp.index.names import fold
from wikimcp.index.view import Reading
from wikimcp.lexical.words import STOP_WORDS
from wikimcp.tools.contract import Params, Result, Tool, ToolContext
from wikimcp.tools.evidence import Question
from wikimcp.tools.filters import unknown_value
from wikimcp.tools.graph_nodes import NodeRow, NodeType, node_facts, open_graph
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import render_data


class SearchKnowledgeParams(Params):
    """What to look for."""

    query: Question
    node_type: NodeType = ""
    limit: Annotated[int, Field(ge=1, le=100, description="Nodes at most")] = 10
    include_drafts: IncludeDrafts = False


class RankedNode(NodeRow):
    """A node with its score."""

    score: float

    @classmethod
    def ranked(cls, node: KnowledgeNode, score: float) -> Self:
        """Make the row of a node that was found."""
        return cls.model_construct(**node_facts(node), score=round(score, 4))


class RankedNodes(Result):
    """The best nodes of ``total`` that hold a word of the question."""

    query: str
    total: int
    nodes: list[RankedNode]

    cuttable: ClassVar[tuple[str, ...]] = ("nodes",)


def run(reading: Reading, params: SearchKnowledgeParams, context: ToolContext) -> RankedNodes:
    """Rank nodes by BM25 over names, aliases, properties and summary."""
    opened = open_graph(reading, context)
    graph = opened.graph
    scores = reading.graphs.search(graph).rank(_terms(reading, params.query))
    if key := fold(params.node_type.strip()):
        kinds = {node.kind for node in graph.nodes.values()}
        if key not in kinds:
            context.note(unknown_value("node_type", params.node_type, kinds))
        scores = {node: score for node, score in scores.items() if graph.nodes[node].kind == key}
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    if not ranked:
        context.note("no node of the graph has these words; retrieve_context searches the texts themselves")
    best = [(graph.nodes[node], score) for node, score in ranked[: params.limit]]
    opened.touch(node for node, _ in best)
    return RankedNodes(
        query=params.query,
        total=len(ranked),
        nodes=[RankedNode.ranked(node, score) for node, score in best],
    )


def _terms(reading: Reading, query: str) -> list[str]:
    """Return the stems of the words that say something; of all words where none does."""
    telling = [word for word in query.split() if word.casefold().strip(punctuation) not in STOP_WORDS]
    return reading.analyze(" ".join(telling) or query)


TOOL = Tool(
    name="search_knowledge",
    title="Search nodes",
    description=(
        "Nodes of the knowledge graph ranked by words in names, aliases, properties and summaries: use it to "
        "find an entity by roughly what it is called. For texts call retrieve_context."
    ),
    params=SearchKnowledgeParams,
    result=RankedNodes,
    run=run,
    render=render_data,
)
