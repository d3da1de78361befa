"""The graph that an audience sees, made ready to be looked at: pages, what they link to, their relations.

Headings are left out: they are many, and say little in a picture. How the page is written is the matter of
`graph.picture`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from wikimcp.graph.page_rows import INFERRED
from wikimcp.graph.picture import Picture, one_line, picture_html
from wikimcp.guide.status import manifest
from wikimcp.index.view import PageRecord, Reading
from wikimcp.models import GraphEdge, GraphNode

_LONGEST_SUMMARY = 400
_LONGEST_LABEL = 300
_NO_CLUSTER = ""
T = TypeVar("T", bound=Hashable)


def picture(reading: Reading) -> Picture:
    """Return the page with the graph of all that the audience sees.

    The data of the page: ``clusters``, ``types`` (name, whether of pages) and ``relations``, those that
    most have first; ``nodes`` as rows of id, label, type, clusters, summary, path, date; ``edges`` as rows
    of source, target, relation, whether a model alone says so. One names the other by its position.
    """
    graph, _ = reading.graphs.projection()
    pages = {f"page:{page.slug}": page for page in reading.pages}
    nodes = [node for node in graph.nodes.values() if node.kind != "heading"]
    places = {node.id: place for place, node in enumerate(nodes)}
    edges = [edge for edge in graph.edges.values() if edge.source in places and edge.target in places]
    types = _by_count(_type(node, pages.get(node.id)) for node in nodes)
    clusters = _by_count(
        name for page in pages.values() for name in dict.fromkeys(page.clusters or (_NO_CLUSTER,))
    )
    relations = _by_count(edge.relation for edge in edges)
    title = manifest(reading, tools=(), version="")["title"]
    data = {
        "title": title,
        "clusters": [one_line(name) for name in clusters],
        "types": [[one_line(name), of_pages] for name, of_pages in types],
        "relations": list(relations),
        "nodes": [_row(node, pages.get(node.id), types, clusters) for node in nodes],
        "edges": [
            [places[edge.source], places[edge.target], relations[edge.relation], int(_inferred(edge))]
            for edge in edges
        ],
    }
    return Picture(picture_html(title, data), len(nodes), len(edges))


def _row(
    node: GraphNode,
    page: PageRecord | None,
    types: Mapping[tuple[str, bool], int],
    clusters: Mapping[str, int],
) -> Sequence[Any]:
    kind = types[_type(node, page)]
    if page is None:
        said = node.metadata.get("summary") or node.metadata.get("description")
        summary = _clip(said, _LONGEST_SUMMARY) if isinstance(said, str) else ""
        return [node.id, _clip(node.label, _LONGEST_LABEL), kind, [], summary, "", ""]
    groups = [clusters[name] for name in dict.fromkeys(page.clusters or (_NO_CLUSTER,))]
    title, summary = _clip(page.title, _LONGEST_LABEL), _clip(page.summary, _LONGEST_SUMMARY)
    return [node.id, title, kind, groups, summary, page.path, page.updated_at[:10]]


def _type(node: GraphNode, page: PageRecord | None) -> tuple[str, bool]:
    """Return the type of a node as it can be filtered by, and whether it is one of pages."""
    if page is None:
        return node.kind, False
    kind = node.metadata.get("entity_kind")
    return page.type or (kind if isinstance(kind, str) else "page"), True


def _inferred(edge: GraphEdge) -> bool:
    said = edge.metadata.get("provenance", ())
    return said == INFERRED or (isinstance(said, list) and all(one == INFERRED for one in said))


def _by_count(values: Iterable[T]) -> dict[T, int]:
    """Return the position of each value when those that are had most often come first."""
    counts = Counter(values)
    ranked = sorted(counts, key=lambda value: (-counts[value], str(value)))
    return {value: place for place, value in enumerate(ranked)}


def _clip(text: str, longest: int) -> str:
    line = one_line(text)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
