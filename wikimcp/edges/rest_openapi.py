"""The OpenAPI 3.1 document of the REST routes, made of the tools' own schemas.

A route is described while its tool is on, as a tool is listed over MCP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wikimcp.edges.answers import strip_titles
from wikimcp.guide.graphs import NEIGHBORHOOD_BOUNDS
from wikimcp.service import ToolSpec

_ABOUT = (
    "Cited sections and pages of a wiki, for programs; read-only. What a route takes and returns is what the "
    "MCP tool of the same matter takes and returns: numbers out of range are clamped and a note says so, "
    "unknown arguments are errors. Answers to GET carry an ETag."
)
_ERRORS = {
    "400": "The body is no JSON object.",
    "401": "A key is needed and none, or a wrong one, was sent.",
    "403": "The key lacks a scope, or the Origin is foreign.",
    "404": "No visible page has that name.",
    "409": "Several visible pages have that name.",
    "413": "The body, or what was asked for, is too large.",
    "422": "An argument is wrong; the message says what would be right.",
    "429": "Too many requests; Retry-After says how long to wait.",
    "503": "The part that would answer is off or not ready, or the time was up.",
}
_INCLUDED = ("400", "401", "403", "413", "422", "429", "503")
_LOOKUP = (*_INCLUDED, "404", "409")
_ERROR_SCHEMA = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}
_ANY = {"type": "object"}
_Operation = dict[str, Any]


def openapi(
    tools: Iterable[ToolSpec], *, source_refs: ToolSpec, version: str, graph: bool = False
) -> dict[str, Any]:
    """Return the document for the tools that are on."""
    on = {tool.name: tool for tool in tools}
    paths: dict[str, Any] = {}
    if (bundle := on.get("assemble_bundle")) is not None:
        paths["/api/bundle"] = _asking(bundle, "bundle", _json(bundle.output_schema))
    if (briefing := on.get("get_briefing")) is not None:
        paths["/api/briefing"] = _briefing(briefing)
    paths["/api/manifest"] = {"get": _operation("manifest", "What this wiki is.", _json(_ANY))}
    if on:
        paths |= _pages(on)
        paths["/api/source-refs"] = {
            "get": _operation(
                "sourceRefs", source_refs.description, _json(source_refs.output_schema),
                parameters=_query(source_refs), errors=_LOOKUP,
            )
        }  # fmt: skip
    if graph:
        paths |= _graph()
    return {
        "openapi": "3.1.0",
        "info": {"title": "wikimcp", "version": version, "description": _ABOUT},
        "paths": paths,
        "security": [{}, {"bearer": []}, {"basic": []}],
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
            "schemas": {"Error": _ERROR_SCHEMA},
            "responses": {
                status: {
                    "description": text,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
                for status, text in _ERRORS.items()
            },
        },
    }


def _pages(on: Mapping[str, ToolSpec]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    if (listing := on.get("list_pages")) is not None:
        parameters = _query(listing)
        if (by_filter := on.get("list_pages_by_filter")) is not None:
            known = {parameter["name"] for parameter in parameters}
            parameters += [p for p in _query(by_filter) if p["name"] not in known]
        about = (
            f"{listing.description} author and modified_before go with none of status, stale_days, verified."
        )
        paths["/api/pages"] = {
            "get": _operation("pages", about, _json(listing.output_schema), parameters=parameters)
        }
    if (one := on.get("get_page")) is not None and (text := on.get("read_pages")) is not None:
        path = {"name": "slug", "in": "path", "required": True}
        path |= {
            "schema": {"type": "string", "minLength": 1},
            "description": "Slug, path, id, title or alias",
        }
        shape = _choice("format", ("metadata", "markdown", "outline"), "What of the page")
        own = [p for p in _query(one) + _query(text) if p["name"] not in ("slug", "slugs", "format")]
        parameters = [path, shape, *{p["name"]: p for p in own}.values()]
        about = (
            "One page by any of its names: all its metadata, or its exact markdown or outline, part by part."
        )
        paths["/api/pages/{slug}"] = {
            "get": _operation("page", about, _json(_ANY), parameters=parameters, errors=_LOOKUP)
        }
    return paths


def _briefing(tool: ToolSpec) -> dict[str, Any]:
    content = {"text/markdown": {"schema": {"type": "string"}}, **_json(tool.output_schema or _ANY)}
    item = _asking(tool, "briefing", content)
    shape = _choice("format", ("md", "json"), "Markdown or JSON")
    for operation in item.values():
        operation.setdefault("parameters", []).append(shape)
    return item


def _graph() -> dict[str, Any]:
    whole = _operation("graph", "Every visible node and edge of the graph.", _json(_ANY))
    node = {"name": "node", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1}}
    node["description"] = "A node id, or any name of a page"
    bounds = [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": {"type": "integer", "minimum": 1, "maximum": NEIGHBORHOOD_BOUNDS[name]},
            "description": about,
        }
        for name, about in (("depth", "How many edges far"), ("limit", "Most nodes"))
    ]
    around = _operation(
        "neighborhood",
        "The graph around one node.",
        _json(_ANY),
        parameters=[node, *bounds],
        errors=_LOOKUP,
    )
    return {"/api/graph": {"get": whole}, "/api/graph/neighborhood": {"get": around}}


def _asking(tool: ToolSpec, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a route that takes a tool's arguments in the URL or as the JSON object of a POST."""
    post = _operation(f"{name}ByPost", tool.description, content)
    schema = strip_titles(tool.input_schema)
    post["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"get": _operation(name, tool.description, content, parameters=_query(tool)), "post": post}


def _operation(
    name: str,
    about: str,
    content: Mapping[str, Any],
    *,
    parameters: list[dict[str, Any]] | None = None,
    errors: Iterable[str] = _INCLUDED,
) -> _Operation:
    responses: dict[str, Any] = {"200": {"description": "The answer.", "content": dict(content)}}
    responses |= {status: {"$ref": f"#/components/responses/{status}"} for status in sorted(errors)}
    found: _Operation = {"operationId": name, "summary": about.partition(". ")[0], "description": about}
    if parameters:
        found["parameters"] = parameters
    return found | {"responses": responses}


def _json(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"application/json": {"schema": strip_titles(schema or _ANY)}}


def _query(tool: ToolSpec) -> list[dict[str, Any]]:
    """Return a tool's arguments as parameters of a URL; a list is a name that stands there several times."""
    schema = strip_titles(tool.input_schema)
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": facts.get("description", ""),
            "schema": {key: value for key, value in facts.items() if key != "description"},
        }
        for name, facts in schema["properties"].items()
    ]


def _choice(name: str, choices: tuple[str, ...], about: str) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(choices), "default": choices[0]}
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}
