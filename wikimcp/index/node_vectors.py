"""One vector for each node of the knowledge graph: the mean of those of the chunks that define or name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wikimcp.graph.knowledge import KnowledgeGraph
from wikimcp.graph.mentions import Mentions
from wikimcp.index.dense_state import ChunkRows
from wikimcp.index.page_record import PageRecord
from wikimcp.ports import Vectors

NodeVectors = tuple[Mapping[str, int], Vectors]


def node_vectors(
    graph: KnowledgeGraph, mentions: Mentions, slugs: Mapping[str, PageRecord], rows: ChunkRows
) -> NodeVectors:
    """Return the row of each node that has a vector, and float32 rows of length 1.

    The vector is the mean of the normalised vectors of the chunks of the node's page and of those that
    name it, each chunk once, brought to length 1.
    """
    dimension = rows.state.matrix.shape[1]
    found: list[Vectors] = []
    at: dict[str, int] = {}
    for node in graph.nodes.values():
        chunks = _chunks(node.slug, mentions.chunks_of(node.id), slugs)
        if not chunks:
            continue
        places = rows.rows_for(np.array(chunks, np.uint64))
        places = places[places >= 0]
        if not len(places):
            continue
        mean = rows.state.matrix[places].mean(axis=0)
        length = float(np.sqrt(np.vecdot(mean, mean)))
        if length > 0:
            at[node.id] = len(found)
            found.append((mean / length).astype(np.float32))
    return at, np.vstack(found) if found else np.zeros((0, dimension), np.float32)


def _chunks(slug: str, named: Sequence[tuple[str, int]], slugs: Mapping[str, PageRecord]) -> list[int]:
    """Return the ids of the chunks that define or name a node, sorted."""
    chunks: set[int] = set()
    if slug and (page := slugs.get(slug)) is not None:
        chunks.update(page.rev << 16 | ordinal for ordinal in range(page.chunk_count))
    for naming, ordinal in named:
        if (page := slugs.get(naming)) is not None:
            chunks.add(page.rev << 16 | ordinal)
    return sorted(chunks)
