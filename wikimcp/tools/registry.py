"""The 21 tools of the knowledge profile, in plain sight, and which of them can answer now.

Adding a tool is one file ``tools/<name>.py`` with a ``TOOL`` and one line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from wikimcp.tools.contract import AnyTool, Backend

TOOLS: Mapping[str, str] = MappingProxyType(
    {
        # name: the part that it belongs to
        "assemble_bundle": "grounding",
        "get_briefing": "briefing",
        "retrieve_context": "grounding",
        "read_pages": "pages",
        "get_page": "pages",
        "list_pages": "pages",
        "list_metadata_values": "pages",
        "list_clusters": "structure",
        "list_tags": "structure",
        "list_pages_by_filter": "structure",
        "get_page_by_id": "structure",
        "discover_schema": "knowledge graph",
        "query_nodes": "knowledge graph",
        "get_node": "knowledge graph",
        "traverse": "knowledge graph",
        "search_knowledge": "knowledge graph",
        "find_similar": "knowledge graph",
        "get_page_for_agent": "page projection",
        "get_ontology": "triple store",
        "sparql_query": "triple store",
        "list_stale_citations": "citation index",
    }
)

_USUALLY: Mapping[Backend, str] = MappingProxyType(
    {
        "pages": "the wiki has no pages",
        "embedder": "no embedder is on",
        "graph": "the knowledge graph is off",
        "triples": "there is no triple store",
        "citations": "there is no citation index",
    }
)


@dataclass(frozen=True, slots=True)
class Backends:
    """Which backends are present and healthy now; ``reasons`` says why one is not, where that is known."""

    pages: bool = False
    embedder: bool = False
    graph: bool = False
    triples: bool = False
    citations: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)

    def reason_against(self, tool: AnyTool) -> str:
        """Return why ``tool`` cannot answer, or an empty text when it can. Without pages none can."""
        needed: dict[Backend, None] = dict.fromkeys(("pages", *tool.needs))
        absent = next((backend for backend in needed if not getattr(self, backend)), None)
        return "" if absent is None else self.reasons.get(absent) or _USUALLY[absent]


@cache
def load(name: str) -> AnyTool | None:
    """Return the tool of that name; None when its module does not exist yet.

    Raises KeyError for a name that is not in the contract.
    """
    if name not in TOOLS:
        raise KeyError(name)
    module_name = f"{__package__}.{name}"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        return None
    tool: AnyTool = module.TOOL
    return tool


def available(backends: Backends) -> tuple[list[AnyTool], dict[str, str]]:
    """Return the tools that can answer, in the order of the contract, and why each of the others is off."""
    registered: list[AnyTool] = []
    off: dict[str, str] = {}
    for name, part in TOOLS.items():
        tool = load(name)
        if tool is None:
            off[name] = f"not built yet: {part}"
        elif reason := backends.reason_against(tool):
            off[name] = reason
        else:
            registered.append(tool)
    return registered, off
