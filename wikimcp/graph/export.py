"""Writing a graph in the forms of other programs: node and edge rows as JSON, GraphML for networkx users."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from wikimcp.errors import Unavailable
from wikimcp.graph.projection import GraphProjection

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_json(graph: GraphProjection) -> str:
    """Return the rows of a graph as one JSON document."""
    return json.dumps(graph.payload(), ensure_ascii=False, indent=1)


def to_graphml(graph: GraphProjection) -> str:
    """Return a graph as GraphML: a directed multigraph, lists and mappings of metadata as JSON text."""
    try:
        import networkx
    except ImportError as error:
        hint = "Install the extra: pip install 'wikimcp-server[graph]'."
        raise Unavailable("GraphML needs networkx, which is not installed", hint=hint) from error
    drawn = networkx.MultiDiGraph()
    for node in graph.nodes.values():
        facts = {"label": node.label, "kind": node.kind, "path": node.path, **node.metadata}
        drawn.add_node(_text(node.id))
        drawn.nodes[_text(node.id)].update(_attributes(facts))
    for edge in graph.edges.values():
        ends = _text(edge.source), _text(edge.target)
        key = drawn.add_edge(*ends)  # attributes by themselves: a name of theirs may be a parameter's
        drawn.edges[(*ends, key)].update(_attributes({**edge.metadata, "relation": edge.relation}))
    return "\n".join(networkx.generate_graphml(drawn)) + "\n"


def _attributes(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts as GraphML can hold them: numbers and flags as they are, all else as text."""
    return {_text(key): _attribute(value) for key, value in facts.items() if value is not None}


def _attribute(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**31):
        return value
    return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
