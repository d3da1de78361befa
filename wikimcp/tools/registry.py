"""The 21 tools of the knowledge profile, in plain sight, and which of them can answer now.

Adding a tool is one file ``tools/<name>.py`` with a ``TOOL`` and one line here. A tool is loaded when it is
called or described: a command that asks one of them does not wait for all.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Literal

from wikimcp.tools.contract import AnyTool

Backend = Literal["pages", "embedder", "graph", "triples", "citations"]

TOOLS: Mapping[str, tuple[Backend, ...]] = MappingProxyType(
    {
        # name: what it needs beside pages
        "assemble_bundle": (),
        "get_briefing": (),
        "retrieve_context": (),
        "read_pages": (),
        "get_page": (),
        "list_pages": (),
        "list_metadata_values": (),
        "list_clusters": (),
        "list_tags": (),
        "list_pages_by_filter": (),
        "get_page_by_id": (),
        "discover_schema": ("graph",),
        "query_nodes": ("graph",),
        "get_node": ("graph",),
        "traverse": ("graph",),
        "search_knowledge": ("graph",),
        "find_similar": ("embedder", "graph"),
        "get_page_for_agent": (),
        "get_ontology": ("triples",),
        "sparql_query": ("triples",),
        "list_stale_citations": ("citations",),
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

    def reason_against(self, name: str) -> str:
        """Return why a tool cannot answer, or an empty text when it can. Without pages none can."""
        needed: dict[Backend, None] = dict.fromkeys(("pages", *TOOLS[name]))
        absent = next((backend for backend in needed if not getattr(self, backend)), None)
        return "" if absent is None else self.reasons.get(absent) or _USUALLY[absent]


@cache
def load(name: str) -> AnyTool:
    """Return the tool of that name. Raises KeyError for a name that is not in the contract."""
    if name not in TOOLS:
        raise KeyError(name)
    tool: AnyTool = importlib.import_module(f"{__package__}.{name}").TOOL
    return tool


def available(backends: Backends) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the tools that can answer, in the order of the contract, and why each of the others is off."""
    off = {name: reason for name in TOOLS if (reason := backends.reason_against(name))}
    return tuple(name for name in TOOLS if name not in off), off
