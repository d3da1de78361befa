"""The REST routes under /api: each reads its arguments, asks the service, and answers in JSON or markdown.

The same service, visibility and caps as over MCP; what a route takes is what its tool takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wikimcp.edges.answers import clean_text
from wikimcp.edges.rest_answers import (
    MARKDOWN,
    Calls,
    arguments_of,
    json_answer,
    query_arguments,
    text_answer,
)
from wikimcp.edges.rest_openapi import openapi
from wikimcp.errors import Ambiguous, BadArgument, NotFound, Unavailable, WikimcpError
from wikimcp.guide.graphs import NEIGHBORHOOD_BOUNDS, out_of_bounds
from wikimcp.service import ToolAnswer, WikiService

PAGE_FORMATS = ("metadata", "markdown", "outline")
BRIEFING_FORMATS = ("md", "json")
ONLY_BY_FILTER = frozenset({"status", "updated_since", "stale_days", "verified", "tag"})
"""Arguments of /api/pages that the tool list_pages_by_filter has and list_pages has not."""

_IN_OTHER_WORDS = {"tags": "tag", "modified_after": "updated_since"}
_PAGE_ERRORS: Mapping[str, type[WikimcpError]] = {
    error.code: error for error in (NotFound, Ambiguous, BadArgument, Unavailable)
}

Answering = Callable[[Request], Awaitable[Response]]


class RestRoutes:
    """The routes over one service."""

    def __init__(self, service: WikiService, calls: Calls) -> None:
        self._service = service
        self._calls = calls

    def routes(self) -> list[BaseRoute]:
        """Return the routes, in the order in which they are tried."""
        reading, asking = ["GET"], ["GET", "POST"]
        table: list[tuple[str, Answering, list[str]]] = [
            ("/api/bundle", self.bundle, asking),
            ("/api/briefing", self.briefing, asking),
            ("/api/manifest", self.manifest, reading),
            ("/api/pages", self.pages, reading),
            ("/api/pages/{slug:path}", self.page, reading),
            ("/api/source-refs", self.source_refs, reading),
            ("/api/graph", self.graph, reading),
            ("/api/graph/neighborhood", self.neighborhood, reading),
            ("/api/openapi.json", self.openapi, reading),
        ]
        return [Route(path, endpoint, methods=methods) for path, endpoint, methods in table]

    async def bundle(self, request: Request) -> Response:
        """Answer with cited sections for a question: the tool assemble_bundle."""
        return json_answer(request, await self._tool(request, "assemble_bundle", await arguments_of(request)))

    async def briefing(self, request: Request) -> Response:
        """Answer with what an agent should know before it starts: markdown, or JSON by ``format``."""
        arguments = await arguments_of(request)
        shape = _choice("format", arguments.pop("format", "md"), BRIEFING_FORMATS)
        caller = self._calls.caller_of(request)
        if shape == "json":
            data = await self._calls.run(
                "the briefing", lambda: self._service.briefing_data(arguments, caller)
            )
            return json_answer(request, data)
        answer = await self._calls.run("the briefing", lambda: self._service.briefing(arguments, caller))
        return text_answer(request, clean_text(answer.markdown), MARKDOWN)

    async def manifest(self, request: Request) -> Response:
        """Answer with what this wiki is."""
        _take_none(request)
        caller = self._calls.caller_of(request)
        return json_answer(
            request, await self._calls.run("the manifest", lambda: self._service.manifest(caller))
        )

    async def pages(self, request: Request) -> Response:
        """List pages by filters: list_pages, or list_pages_by_filter where only that has the filter."""
        arguments = query_arguments(request)
        if ONLY_BY_FILTER.isdisjoint(arguments):
            return json_answer(request, await self._tool(request, "list_pages", arguments))
        arguments = {_IN_OTHER_WORDS.get(name, name): value for name, value in arguments.items()}
        return json_answer(request, await self._tool(request, "list_pages_by_filter", arguments))

    async def page(self, request: Request) -> Response:
        """Answer with one page by any of its names: its metadata, or its text or outline by ``format``."""
        arguments = query_arguments(request)
        slug = request.path_params["slug"]
        if "slug" in arguments or "slugs" in arguments:
            raise BadArgument("the page is named by the path alone", hint="Leave slug out of the query.")
        shape = _choice("format", arguments.pop("format", "metadata"), PAGE_FORMATS)
        if shape == "metadata":
            return json_answer(request, await self._tool(request, "get_page", {**arguments, "slug": slug}))
        asked = {**arguments, "slugs": [slug], "format": shape}
        data = await self._tool(request, "read_pages", asked)
        rest = {name: value for name, value in data.items() if name in ("notes", "index")}
        (row,) = data["pages"] or [{}]
        if "error" in row:
            raise _error_of(row["error"])
        return json_answer(request, {**row, **rest})

    async def source_refs(self, request: Request) -> Response:
        """List the sources that pages name."""
        caller, arguments = self._calls.caller_of(request), query_arguments(request)
        answer = await self._calls.run(
            "the source references", lambda: self._service.source_refs(arguments, caller)
        )
        return json_answer(request, answer.structured or {})

    async def graph(self, request: Request) -> Response:
        """Answer with every node and edge of the graph projection."""
        _take_none(request)
        caller = self._calls.caller_of(request)
        return json_answer(request, await self._calls.run("the graph", lambda: self._service.graph(caller)))

    async def neighborhood(self, request: Request) -> Response:
        """Answer with the part of the graph around one node."""
        arguments = query_arguments(request)
        node = arguments.pop("node", "")
        if not isinstance(node, str) or not node.strip():
            raise BadArgument("a node is needed, one", hint="As in node=page:index, or any name of a page.")
        bounds = {
            name: _whole(name, arguments.pop(name), most)
            for name, most in NEIGHBORHOOD_BOUNDS.items()
            if name in arguments
        }
        if arguments:
            raise BadArgument(
                f"there is no argument {next(iter(arguments))[:60]!r} here",
                hint=f"There are: node, {', '.join(NEIGHBORHOOD_BOUNDS)}.",
            )
        caller = self._calls.caller_of(request)
        found = await self._calls.run(
            "the graph", lambda: self._service.neighborhood(clean_text(node), caller, **bounds)
        )
        return json_answer(request, found)

    async def openapi(self, request: Request) -> Response:
        """Answer with the OpenAPI document of what can be asked now."""
        _take_none(request)
        service, caller = self._service, self._calls.caller_of(request)

        def work() -> dict[str, Any]:
            return openapi(
                service.tools(caller),
                source_refs=service.source_refs_spec(),
                version=service.version,
                graph=hasattr(service, "graph"),
            )

        return json_answer(request, await self._calls.run("the OpenAPI document", work))

    async def _answer(self, request: Request, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        caller = self._calls.caller_of(request)
        return await self._calls.run(f"tool {tool!r}", lambda: self._service.call(tool, arguments, caller))

    async def _tool(self, request: Request, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return (await self._answer(request, tool, arguments)).structured or {}


def _choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    if value in choices:
        return str(value)
    raise BadArgument(f"{name} must be one of {', '.join(choices)}", hint=f"As in {name}={choices[0]}.")


def _whole(name: str, value: object, most: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= most:
        return int(value)
    raise out_of_bounds(name)


def _take_none(request: Request) -> None:
    names = sorted(request.query_params)
    if names:
        raise BadArgument(f"there is no argument {names[0][:60]!r} here", hint="Ask without a query.")


def _error_of(text: str) -> WikimcpError:
    """Return the error that a row of read_pages tells as ``code: message``."""
    code, _, message = text.partition(": ")
    kind = _PAGE_ERRORS.get(code)
    return NotFound(text) if kind is None else kind(message)
