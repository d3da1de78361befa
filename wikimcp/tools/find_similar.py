"""find_similar: the nodes whose texts mean nearly the same as those of a node."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Result, Tool, ToolContext
from wikimcp.tools.graph_nodes import NodeName, NodeRow, OpenGraph, node_facts, note_incomplete, open_graph
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import plain, render_data

_MOST_PAGES = 3


class FindSimilarParams(Params):
    """The node to compare with."""

    node: NodeName
    limit: Annotated[int, Field(ge=1, le=100, description="Nodes at most")] = 10
    include_drafts: IncludeDrafts = False


class SimilarNode(NodeRow):
    """A node with its cosine, and the pages that define or name it most."""

    similarity: float
    pages: list[str]


class SimilarNodes(Result):
    """The nearest of ``compared`` nodes that have vectors, the node itself left out."""

    node: str
    compared: int
    nodes: list[SimilarNode]

    cuttable: ClassVar[tuple[str, ...]] = ("nodes",)


def run(reading: Reading, params: FindSimilarParams, context: ToolContext) -> SimilarNodes:
    """Rank nodes by cosine. Raises NotFound or Ambiguous for a name that is not one node's."""
    opened = open_graph(reading, context)
    node = opened.resolve(params.node)
    note_incomplete(opened, context)
    ids, vectors = reading.node_vectors(opened.graph)
    if node.id not in ids:
        why = (
            "has no text of its own and is named in none"
            if reading.dense is not None
            else "has no vector yet"
        )
        context.note(f"this node {why}, so nothing can be compared; traverse shows its neighbours")
        return SimilarNodes(node=node.id, compared=0, nodes=[])
    own = ids[node.id]
    cosines = np.vecdot(vectors, vectors[own])
    names = list(ids)
    order = sorted(range(len(names)), key=lambda at: (-float(cosines[at]), names[at]))
    best = [at for at in order if at != own][: params.limit]
    return SimilarNodes(
        node=node.id,
        compared=len(names) - 1,
        nodes=[_row(opened, names[at], float(cosines[at])) for at in best],
    )


def _row(opened: OpenGraph, node_id: str, cosine: float) -> SimilarNode:
    node = opened.graph.nodes[node_id]
    opened.page(node)
    naming = [slug for slug, _ in opened.mentions.pages_of(node_id).most_common(_MOST_PAGES)]
    pages = list(dict.fromkeys([node.slug, *naming] if node.slug else naming))[:_MOST_PAGES]
    return SimilarNode.model_construct(
        **node_facts(node), similarity=round(cosine, 4), pages=[plain(slug) for slug in pages]
    )


TOOL = Tool(
    name="find_similar",
    title="Similar nodes",
    description=(
        "Nodes whose texts are nearest in meaning to those of a node, with the pages behind each: use it to "
        "find related or duplicate entities that nobody linked."
    ),
    params=FindSimilarParams,
    result=SimilarNodes,
    run=run,
    render=render_data,
)
