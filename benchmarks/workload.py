"""The calls that are timed, by tool: questions, and arguments that the server itself says fit its vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from benchmarks.stdio_client import StdioClient

Calls = Mapping[str, Sequence[Mapping[str, Any]]]
_STALE_DAYS = (1, 30, 90, 180, 365, 730)


def workload(client: StdioClient, questions: Sequence[str], *, queries: int, pages: int) -> Calls:
    """Return the calls of each tool: up to ``queries`` for those that search, ``pages`` for the others.

    A tool with few different arguments gets them again and again, so that a percentile means something.
    """
    slugs = spread(all_slugs(client), pages)
    clusters = [row["name"] for row in client.call("list_clusters", {})["clusters"]]
    tags = [row["tag"] for row in client.call("list_tags", {"min_pages": 2})["tags"]]
    keys = [row["value"] for row in client.call("list_metadata_values", {})["values"]]
    types = [row["value"] for row in client.call("list_metadata_values", {"field": "type"})["values"]]
    asked = [{"query": question} for question in questions[:queries]]
    by_cluster = [{"cluster": name} for name in clusters]
    by_type = [{"type": name} for name in types]
    lists: dict[str, list[Mapping[str, Any]]] = {
        "list_pages": [{}, {"sort": "updated"}, *by_cluster, *({"tags": [tag]} for tag in tags), *by_type],
        "list_metadata_values": [{}, *({"field": key} for key in keys)],
        "list_tags": [{}, {"min_pages": 2}, {"min_pages": 5}],
        "list_clusters": [{}],
        "list_pages_by_filter": [*({"stale_days": days} for days in _STALE_DAYS), *by_cluster, *by_type],
    }
    return {
        "assemble_bundle": asked,
        "retrieve_context": asked,
        "read_pages": [{"slugs": [slug]} for slug in slugs],
        "get_page": [{"slug": slug} for slug in slugs],
        **{tool: list(islice(cycle(spread(calls, pages)), pages)) for tool, calls in lists.items()},
    }


def all_slugs(client: StdioClient) -> list[str]:
    """Return the slugs of all pages."""
    slugs: list[str] = []
    cursor: str | None = None
    while True:
        asked: dict[str, Any] = {"limit": 200} | ({"cursor": cursor} if cursor else {})
        answer = client.call("list_pages", asked)
        slugs += [row["slug"] for row in answer["pages"]]
        cursor = answer.get("nextCursor")
        if cursor is None:
            return slugs


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many items, spread evenly over all."""
    if len(items) <= most:
        return list(items)
    return [items[at * len(items) // most] for at in range(most)]
