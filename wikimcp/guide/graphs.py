"""The graph projection as JSON, whole and around one node, for edges and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wikimcp.errors import BadArgument, NotFound
from wikimcp.graph.projection import GraphProjection
from wikimcp.graph.sidecar import Sidecar
from wikimcp.index.view import Reading

NEIGHBORHOOD_BOUNDS: Mapping[str, int] = {"depth": 4, "limit": 2_000}
"""Whole numbers that a neighbourhood takes, from 1 to these: edges away, nodes at most."""
_MOST_DIAGNOSTICS = 100


def graph_payload(reading: Reading) -> dict[str, Any]:
    """Return all that the audience sees: ``nodes``, ``edges``, ``counts``, ``diagnostics``."""
    graph, sidecar = reading.graphs.projection()
    counts = {"nodes": len(graph.nodes), "edges": len(graph.edges)}
    payload: dict[str, Any] = graph.payload()
    return {**payload, "counts": counts, "diagnostics": sidecar_diagnostics(sidecar)}


def neighborhood_payload(reading: Reading, node: str, *, depth: int = 1, limit: int = 200) -> dict[str, Any]:
    """Return what lies around a node, which is given by its id or as a page is.

    ``left_out`` counts neighbours beyond the limit. Raises BadArgument for a number out of bounds, NotFound
    with the nearest names, Ambiguous with the candidates.
    """
    for name, value in (("depth", depth), ("limit", limit)):
        if not 1 <= value <= NEIGHBORHOOD_BOUNDS[name]:
            raise out_of_bounds(name)
    graph, _ = reading.graphs.projection()
    start = find_node(reading, graph, node)
    nodes, edges, left_out = graph.neighborhood(start, depth=depth, most_nodes=limit)
    for found in nodes:
        if found.id.startswith("page:"):
            reading.page(found.id.removeprefix("page:"))
    payload: dict[str, Any] = graph.payload(nodes, edges)
    return {"start": start, "depth": depth, **payload, "left_out": left_out}


def out_of_bounds(name: str) -> BadArgument:
    """Return the error of a number that a neighbourhood does not take."""
    return BadArgument(
        f"{name} must be a whole number from 1 to {NEIGHBORHOOD_BOUNDS[name]}", hint=f"As in {name}=1."
    )


def find_node(reading: Reading, graph: GraphProjection, name: str) -> str:
    """Return the id of a node, given by the id itself or by any name of a page."""
    wanted = name.strip()
    if wanted in graph.nodes:
        return wanted
    try:
        return f"page:{reading.resolve(wanted.removeprefix('page:')).slug}"
    except NotFound:
        for prefix in ("placeholder:", "tag:", "external:", "source:", "entity:"):
            if f"{prefix}{wanted}" in graph.nodes:
                return f"{prefix}{wanted}"
        raise


def sidecar_diagnostics(sidecar: Sidecar) -> list[dict[str, Any]]:
    """Return what is wrong with the sidecars, row by row and without a word of theirs."""
    return [
        {"path": path, "code": why.code, "message": why.message, "line": why.line}
        for path, why in sidecar.diagnostics[:_MOST_DIAGNOSTICS]
    ]
