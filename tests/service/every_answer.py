"""Everything that a service says to a caller, for comparing what two vaults let one know."""

from __future__ import annotations

import json
from typing import Any

from tests.service.every_route import every_route
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller
from wikimcp.service import WikiService

# How often an index was written, and when, is not what a page says.
_OWN_HISTORY = frozenset(("generation", "ageSeconds", "age_seconds", "nextCursor"))
Calls = list[tuple[str, dict[str, Any]]]


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
    ]
    for word in words:
        calls += [
            ("assemble_bundle", {"query": word, "mode": mode}) for mode in ("hybrid", "lexical", "dense")
        ]
        calls += [("retrieve_context", {"query": word})]
    for name in names:
        calls += [
            ("get_page", {"slug": name}),
            ("get_page_by_id", {"id": name}),
            ("read_pages", {"slugs": [name]}),
            ("list_pages", {"cluster": name}),
            ("list_pages", {"tags": [name]}),
            ("assemble_bundle", {"query": "valve", "path_prefix": name}),
            ("assemble_bundle", {"query": "valve", "cluster": name}),
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
    told["manifest"] = service.manifest(caller)
    told["status"] = service.status(caller)
    words = [str(arguments["query"]) for tool, arguments in calls if tool == "retrieve_context"]
    pages = [str(arguments["slug"]) for tool, arguments in calls if tool == "get_page"]
    told |= every_route(service, caller, words, pages)
    return {key: _plain(value, scores) for key, value in told.items()}


def _answer(service: WikiService, caller: Caller, tool: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
    try:
        return service.call(tool, arguments, caller).structured
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
