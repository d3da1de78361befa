"""Everything that the REST routes say to a caller, by an app over the service and no network."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import anyio
import httpx

from wikimcp.edges.http import http_app
from wikimcp.edges.workers import Workers
from wikimcp.models import Caller
from wikimcp.service import WikiService

_GAUGES = ("wikimcp_index_pages", "wikimcp_index_pending", "wikimcp_index_skipped", "wikimcp_ready")
_ASKED = (("bundle", "query"), ("briefing", "prompt"), ("source-refs", "contains"))
_NAMED = (
    ("pages", "cluster"),
    ("pages", "tags"),
    ("source-refs", "page"),
    ("briefing", "pins"),
    ("briefing", "clusters"),
    ("graph/neighborhood", "node"),
)


def every_route(service: WikiService, caller: Caller, words: list[str], names: list[str]) -> dict[str, Any]:
    """Return status and body of each route, asked for words and for names of pages, by path."""
    return anyio.run(_every_route, service, caller, words, names)


async def _every_route(
    service: WikiService, caller: Caller, words: list[str], names: list[str]
) -> dict[str, Any]:
    app = http_app(service, caller=caller, workers=Workers())  # its lifespan would close the service
    paths = ["/api/manifest", "/api/openapi.json", "/api/source-refs", "/api/source-refs?include_drafts=1"]
    paths += ["/api/pages?limit=200", "/api/pages?status=draft", "/api/graph", "/api/nowhere"]
    for word in words:
        paths += [f"/api/{route}?{urlencode({key: word})}" for route, key in _ASKED]
    for name in names:
        paths += [f"/api/pages/{quote(name)}{form}" for form in ("", "?format=markdown", "?format=outline")]
        paths += [f"/api/{route}?{urlencode({key: name})}" for route, key in _NAMED]
    told: dict[str, Any] = {}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in paths:
            told[path] = _said(await client.get(path))
        for word in words:
            body = {"query": word, "include_drafts": True}
            told[f"POST /api/bundle {word}"] = _said(await client.post("/api/bundle", json=body))
        lines = (await client.get("/metrics")).text.splitlines()
    told["/metrics"] = [line for line in lines if line.startswith(_GAUGES)]
    return told


def _said(reply: httpx.Response) -> tuple[int, Any]:
    if reply.headers["content-type"].startswith("application/json"):
        return reply.status_code, reply.json()
    lines = [line for line in reply.text.split("\n") if not line.startswith("index: ")]
    return reply.status_code, "\n".join(lines)  # generations and ages are no matter of who may see what
