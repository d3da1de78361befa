"""Everything that a service says to a caller, for comparing what two vaults let one know."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.service.every_route import every_route
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller
from wikimcp.service import WikiService

# How often an index was written, and when, is not what a page says.
_OWN_HISTORY = frozenset(("generation", "ageSeconds", "age_seconds", "nextCursor", "at"))
_GENERATION = re.compile(r"generation=\d+")
Calls = list[tuple[str, dict[str, Any]]]


TRIPLE_CALLS: Calls = [
    ("get_ontology", {}),
    ("get_ontology", {"include_drafts": True}),
    *(
        ("sparql_query", {"query": query})
        for query in (
            "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
            "SELECT ?s ?p ?o { ?s ?p ?o FILTER(!STRSTARTS(STR(?s), STR(wm:)) && ?p != dcterms:modified) }",
            "SELECT ?t { ?s wm:tag/rdfs:label ?t }",
            "SELECT ?s ?to { ?s wm:linksTo ?to }",
            "SELECT ?s ?to { ?s wm:unresolvedLink ?to }",
            "SELECT ?s { ?s wmf:author ?o }",
            "SELECT ?s { ?s wmf:autor ?o }",
            "ASK { page:secret%2Fmerger ?p ?o }",
            "DESCRIBE page:secret%2Fmerger",
            "CONSTRUCT WHERE { ?s wm:inCluster ?o }",
        )
    ),
]
"""What is asked of the triple store."""


def calls_about(words: list[str], names: list[str]) -> Calls:
    """Return calls of all tools that ask for words and for names of pages."""
    calls: Calls = [
        ("list_pages", {"limit": 200}),
        ("list_pages", {"sort": "updated", "limit": 3}),
        ("list_pages_by_filter", {"status": "draft"}),
        ("list_pages_by_filter", {"stale_days": 1}),
        ("list_metadata_values", {}),
        ("list_metadata_values", {"field": "status"}),
        ("list_metadata_values", {"field": "author"}),
        ("list_clusters", {}),
        ("list_tags", {}),
        ("list_stale_citations", {}),
        ("list_stale_citations", {"status": "target_missing", "include_drafts": True}),
        ("discover_schema", {}),
        ("query_nodes", {"limit": 200}),
        ("query_nodes", {"relation": "mentions"}),
        ("query_nodes", {"properties": {"status": "draft"}}),
        *TRIPLE_CALLS,
    ]
    for word in words:
        calls += [
            ("assemble_bundle", {"query": word, "mode": mode}) for mode in ("hybrid", "lexical", "dense")
        ]
        calls += [("retrieve_context", {"query": word}), ("get_briefing", {"prompt": word})]
        calls += [("search_knowledge", {"query": word})]
    for name in names:
        calls += [
            ("get_page", {"slug": name}),
            ("get_page_by_id", {"id": name}),
            ("read_pages", {"slugs": [name]}),
            ("get_page_for_agent", {"slug": name}),
            ("get_page_for_agent", {"canonical_id": name}),
            ("get_briefing", {"pins": [name, "open"], "clusters": [name], "budget": 500}),
            ("get_briefing", {"prompt": "valve", "clusters": ["works", name], "scope_mode": "strict"}),
            ("list_pages", {"cluster": name}),
            ("list_pages", {"tags": [name]}),
            ("list_stale_citations", {"page": name}),
            (
                "list_stale_citations",
                {"verify": [f"{name} @ 1", f"cite://{name}", f"cite://{name}/Merger%20terms"]},
            ),
            ("assemble_bundle", {"query": "valve", "path_prefix": name}),
            ("assemble_bundle", {"query": "valve", "cluster": name}),
            ("get_node", {"node": name}),
            ("traverse", {"start_node": name, "include_mentions": True}),
            ("find_similar", {"node": name}),
            ("query_nodes", {"name": name}),
            ("query_nodes", {"node_type": name}),
            ("query_nodes", {"source_page": name}),
        ]
    return calls


def everything(service: WikiService, caller: Caller, calls: Calls, *, scores: bool = True) -> dict[str, Any]:
    """Return all answers to the calls, and all that lies beside the tools, by what was asked.

    Without ``scores`` numbers that the average length of texts goes into are left out.
    """
    told: dict[str, Any] = {}
    for tool, arguments in calls:
        told[f"{tool} {json.dumps(arguments, sort_keys=True)}"] = _answer(service, caller, tool, arguments)
    told["tools"] = [tool.name for tool in service.tools()]
    told["instructions"] = service.instructions
    resources, cursor = service.resources(caller, None)
    told["resources"] = [(r.uri, r.title, r.description, r.tokens) for r in resources]
    while cursor:
        resources, cursor = service.resources(caller, cursor)
        told["resources"] += [(r.uri, r.title, r.description, r.tokens) for r in resources]
    names = [str(value) for _, arguments in calls for value in arguments.values() if isinstance(value, str)]
    uris = ["wiki://hot", "wiki://index", *(uri for uri, *_ in told["resources"])]
    uris += [f"wiki://{level}/{name}" for level in ("page", "cluster") for name in names]
    for uri in dict.fromkeys(uris):
        told[uri] = _resource(service, caller, uri)
    for argument in ("slug", "pins", "name", "cluster", "clusters", "tag", "tags", "topic"):
        for value in ("", "m", "s", "me"):
            told[f"complete {argument} {value}"] = service.complete("page", argument, value, caller)
    told["graph"] = service.graph(caller)
    told["picture"] = service.picture(caller).html
    for name in (*names, "page:open", "placeholder:secret/merger"):
        told[f"around {name}"] = _around(service, caller, name)
    told["checked sidecar"] = service.check_sidecar(_sidecar(names), caller)
    told["turtle"] = _turtle(service.export_graph(caller, "turtle"))
    told["manifest"] = service.manifest(caller)
    told["status"] = service.status(caller)
    words = [str(arguments["query"]) for tool, arguments in calls if tool == "retrieve_context"]
    pages = [str(arguments["slug"]) for tool, arguments in calls if tool == "get_page"]
    told |= every_route(service, caller, words, pages)
    return {key: _plain(value, scores) for key, value in told.items()}


def _answer(service: WikiService, caller: Caller, tool: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
    try:
        if tool == "get_briefing":
            found = service.briefing(arguments, caller)
            return [_GENERATION.sub("", found.markdown), found.data]
        return service.call(tool, arguments, caller).structured
    except WikimcpError as error:
        return f"{type(error).__name__} {error}"


def _sidecar(names: list[str]) -> bytes:
    """Return a sidecar that asks for names in every way: as ends, as pages of nodes and of evidence."""
    nodes = [{"id": f"n{number}", "path": name} for number, name in enumerate(names)]
    edges = [
        {"from": "open", "to": name, "type": "uses", "source_page": name, "evidence": [name, "terms"]}
        for name in names
    ]
    return json.dumps({"nodes": nodes, "edges": edges}).encode()


def _turtle(text: str) -> list[str]:
    """Return the triples, sorted; how often a page was written is not what it says."""
    left_out = ("dc/terms/modified>", "ns#version>")
    return sorted(line for line in text.splitlines() if not any(name in line for name in left_out))


def _around(service: WikiService, caller: Caller, name: str) -> Any:  # noqa: ANN401
    try:
        return service.neighborhood(name, caller, depth=2)
    except WikimcpError as error:
        return f"{type(error).__name__} {error}"


def _resource(service: WikiService, caller: Caller, uri: str) -> str:
    try:
        return service.read_resource(uri, caller)
    except WikimcpError as error:
        return f"{type(error).__name__} {error}"


def _plain(value: Any, scores: bool) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        left_out = _OWN_HISTORY if scores else _OWN_HISTORY | {"score", "pending"}
        return {key: _plain(item, scores) for key, item in value.items() if key not in left_out}
    if isinstance(value, list | tuple):
        return [_plain(item, scores) for item in value]
    return value
