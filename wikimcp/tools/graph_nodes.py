"""What the tools of the knowledge graph share: the graph of a call, finding a node by name, rows.

Every name is looked up among what the audience sees: a node of a withheld page is no node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Annotated, Any, Self

from pydantic import Field

from wikimcp.errors import Ambiguous, NotFound, nearest
from wikimcp.graph.knowledge import KnowledgeEdge, KnowledgeGraph, KnowledgeNode
from wikimcp.graph.mentions import Mentions
from wikimcp.graph.page_rows import DERIVED
from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import ToolContext, Wire
from wikimcp.tools.rendering import clip, flatten, plain

NodeName = Annotated[
    str, Field(min_length=1, description="Node: name, alias, page slug or node id", examples=["Ana Ruiz"])
]
NodeType = Annotated[str, Field(description="Node type, as in discover_schema", examples=["person"])]

_LONGEST_NAME = 160
_LONGEST_SUMMARY = 200
_MOST_CANDIDATES = 12
_MOST_COMPARED = 60
_MOST_HOLDING = 3
_MOST_DIAGNOSTICS = 3
MENTIONS = ("mentions", "co_mentioned")


@dataclass(slots=True)
class OpenGraph:
    """The knowledge graph of one call. ``mark`` tells this state of the sidecars from others."""

    reading: Reading
    graph: KnowledgeGraph
    mark: str
    _mentions: Mentions | None = field(default=None)

    @property
    def mentions(self) -> Mentions:
        """Where pages name the nodes; looked for at the first use."""
        if self._mentions is None:
            self._mentions = self.reading.graphs.mentions(self.graph)
        return self._mentions

    def page(self, node: KnowledgeNode) -> PageRecord | None:
        """Return a node's page, noted as one that the answer rests on."""
        return self.reading.page(node.slug) if node.slug else None

    def touch(self, nodes: Iterable[KnowledgeNode]) -> None:
        """Note the pages of nodes that go into the answer."""
        for node in nodes:
            self.page(node)

    def resolve(self, name: str) -> KnowledgeNode:
        """Return the node of a name: an id, a page's name, or the name or alias of another node.

        Raises NotFound with the nearest names, Ambiguous with the candidates.
        """
        wanted = name.strip()
        if (node := self.graph.nodes.get(wanted)) is not None:
            self.page(node)
            return node
        try:
            page = self.reading.resolve(wanted.removeprefix("page:"))
            return self.graph.nodes[f"page:{page.slug}"]
        except NotFound:
            pass
        found = self.graph.names.get(fold(wanted), ())
        if not found and f"entity:{wanted}" in self.graph.nodes:
            return self.graph.nodes[f"entity:{wanted}"]  # as the edges of a sidecar call it
        if not found:
            raise NotFound(f"no node named {wanted[:120]!r}", hint=self._suggest(wanted))
        if len(found) > 1:
            shown = ", ".join(found[:_MOST_CANDIDATES])
            raise Ambiguous(
                f"{wanted[:120]!r} names {len(found)} nodes: {shown}",
                candidates=found,
                hint="Use one of these ids.",
            )
        return self.graph.nodes[found[0]]

    def _suggest(self, name: str) -> str:
        """Return a hint with names that hold the one asked for, else with the nearest.

        Shared trigrams come first: there may be many nodes.
        """
        key = fold(name[:80])
        names = {name for node in self.graph.nodes.values() for name in node.names}
        holding = [name for name in names if len(key) > 2 and key in fold(name)]
        if holding:
            shown = nsmallest(_MOST_HOLDING, holding, key=lambda known: (len(known), known))
            return f"Named alike: {', '.join(clip(flatten(one), 80) for one in shown)}."
        wanted = _trigrams(name[:80])
        shares = ((len(wanted & _trigrams(name)), name) for name in names)
        likely = nlargest(_MOST_COMPARED, [(share, known) for share, known in shares if share])
        close = [clip(flatten(one), 80) for one in nearest(name[:80], [known for _, known in likely])]
        return f"Nearest: {', '.join(close)}." if close else "Search with search_knowledge."


def open_graph(reading: Reading, context: ToolContext) -> OpenGraph:
    """Return the graph that a call reads; what is wrong with a sidecar is noted."""
    tables = reading.graphs.knowledge()
    for path, why in tables.sidecar.diagnostics[:_MOST_DIAGNOSTICS]:
        context.note(f"{path}: {why.message}")
    mark = ";".join(f"{stamp.path} {stamp.mtime_ns} {stamp.size}" for stamp in tables.mark)
    return OpenGraph(reading, tables.graph, mark)


def note_incomplete(graph: OpenGraph, context: ToolContext) -> None:
    """Say so where the texts were too many to look through all of them for mentions."""
    if not graph.mentions.complete:
        context.note("mentions cover the first pages by path only: the wiki is too large for all")


class NodeRow(Wire):
    """A node in a list; ``slug`` is that of its page."""

    id: str
    name: str
    type: str
    slug: str | None = None
    summary: str | None = None
    provenance: str | None = None

    @classmethod
    def of(cls, node: KnowledgeNode) -> Self:
        """Make the row of a node."""
        return cls(**node_facts(node))


def node_facts(node: KnowledgeNode) -> dict[str, Any]:
    """Return the facts that every row of a node begins with."""
    return {
        "id": shown_id(node.id),
        "name": shown_name(node),
        "type": node.kind,
        "slug": plain(node.slug) or None,
        "summary": clip(flatten(node.summary), _LONGEST_SUMMARY) or None,
        "provenance": provenance_text(node.provenance),
    }


def shown_id(node_id: str) -> str:
    """Return a node's id as it may be sent."""
    return plain(node_id)


def shown_name(node: KnowledgeNode) -> str:
    """Return a node's name on one line."""
    return clip(flatten(node.name), _LONGEST_NAME)


@lru_cache(maxsize=256)
def provenance_text(provenance: tuple[str, ...]) -> str:
    """Return kinds of provenance by commas."""
    return clip(flatten(", ".join(provenance)), _LONGEST_NAME)


class EdgeRow(Wire):
    """An edge between two nodes of the answer, by id. ``count``: chunks or places, for mentions."""

    source: str
    target: str
    relation: str
    provenance: str
    confidence: float | None = None
    count: int | None = None

    @classmethod
    def of(cls, edge: KnowledgeEdge) -> Self:
        """Make the row of an edge."""
        return cls(
            source=shown_id(edge.source),
            target=shown_id(edge.target),
            relation=edge.relation,
            provenance=provenance_text(edge.provenance),
            confidence=edge.confidence,
            count=count_of(edge),
        )


def count_of(edge: KnowledgeEdge) -> int | None:
    """Return how often a mention was found; None for an edge that somebody stated, if without a number."""
    count = edge.metadata.get("count") if edge.relation in MENTIONS else None
    return count if isinstance(count, int) else None


def mention_edges(graph: OpenGraph, node: KnowledgeNode, direction: str) -> list[tuple[KnowledgeEdge, str]]:
    """Return the mentions at a node with the id of their other end, most often first."""
    found: list[tuple[KnowledgeEdge, str]] = []
    mentions = graph.mentions

    def edge(source: str, target: str, relation: str, count: int) -> KnowledgeEdge:
        return KnowledgeEdge(source, target, relation, (DERIVED,), None, {"count": count})

    if direction != "in" and node.slug:
        named = mentions.named_by(node.slug)
        found += [(edge(node.id, other, "mentions", count), other) for other, count in named.items()]
    if direction != "out":
        naming = mentions.pages_of(node.id)
        found += [
            (edge(f"page:{slug}", node.id, "mentions", count), f"page:{slug}")
            for slug, count in naming.items()
        ]
    beside = mentions.co_mentioned(node.id)
    for other, count in beside.items():
        first, second = sorted((node.id, other))
        found.append((edge(first, second, "co_mentioned", count), other))
    known = [(one, other) for one, other in found if other in graph.graph.nodes]
    known.sort(key=lambda item: (-item[0].metadata["count"], item[0].relation, item[1]))
    return known


def _trigrams(name: str) -> set[str]:
    padded = f" {name.casefold()} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}
