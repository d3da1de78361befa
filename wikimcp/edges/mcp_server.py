"""The MCP face of a service: one server object for stdio and HTTP, in both protocol eras.

The only importer of the MCP SDK, which takes most of a start: import this module last. File
descriptors, sockets and signals belong to ``stdio`` and ``http``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.types import ASGIApp

from wikimcp.edges.answers import clean_json, clean_text, error_text, internal_error, strip_titles
from wikimcp.edges.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, Pending, Refused, decode, error_line
from wikimcp.edges.workers import Workers
from wikimcp.errors import (
    Ambiguous,
    BadArgument,
    NotFound,
    QueryRejected,
    TooLarge,
    WikimcpError,
)
from wikimcp.models import Caller
from wikimcp.service import PromptSpec, ResourceSpec, ToolHints, ToolSpec, WikiService

CALLER_KEY = "wikimcp.caller"
"""Where an HTTP request's ASGI scope holds the Caller that its key stands for."""

DRAIN_SECONDS = 0.7
"""How long calls may still finish after the client has closed its end."""

MAX_COMPLETIONS = 100
"""Most values in one completion answer, by the protocol."""

_CALLER_FAULTS = (Ambiguous, BadArgument, NotFound, QueryRejected, TooLarge)
_TOOL_META = {"anthropic/maxResultSizeChars": 200_000}  # the service's own caps are tighter

T = TypeVar("T")


class Announcer:
    """Tells the clients of one run of the server that the tool list changed, each in its era's way.

    A handshake client gets a notification on its connection; a 2026-07-28 client gets it on the
    ``subscriptions/listen`` stream it opened. Changes that come faster than they are sent are merged.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.listen = ListenHandler(self._bus)
        self.sessions: list[ServerSession] = []

    def tools_changed(self) -> None:
        """Note a change; callable from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._changed.set)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._bus.publish(ToolsListChanged())
            for session in self.sessions:
                await session.send_tool_list_changed()


Context = ServerRequestContext[Announcer, Any]


class McpServer:
    """Answers MCP requests from a service; every call runs in a worker thread, for ``time_limit`` seconds.

    ``caller`` is who asks unless the HTTP request's scope names another.
    """

    def __init__(
        self, service: WikiService, *, workers: Workers, caller: Caller, time_limit: float = 60.0
    ) -> None:
        self._service = service
        self._workers = workers
        self._caller = caller
        self._time_limit = time_limit
        self._announcers: tuple[Announcer, ...] = ()
        self.server: Server[Announcer] = Server(
            service.name,
            version=service.version,
            instructions=service.instructions,
            lifespan=self._lifespan,
            get_tool_input_schema=lambda _name: None,  # no argument of ours is repeated in a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_subscriptions_listen=self._listen,
        )
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )
        service.subscribe(self._tools_changed)

    # --- tools ---------------------------------------------------------------------------------

    async def _list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        _refuse_cursor(params)
        caller = self._caller_of(ctx)

        def work() -> types.ListToolsResult:
            return types.ListToolsResult(tools=[_tool(spec) for spec in self._service.tools(caller)])

        return await self._ask("tools/list", work)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = self._caller_of(ctx)

        def work() -> types.CallToolResult:
            answer = self._service.call(params.name, clean_json(params.arguments or {}), caller)
            structured = None if answer.structured is None else clean_json(answer.structured)
            return types.CallToolResult(content=[_text(answer.text)], structured_content=structured)

        try:
            return await self._run(f"tool {params.name!r}", work)
        except WikimcpError as error:
            return types.CallToolResult(content=[_text(error_text(error))], is_error=True)

    # --- resources, prompts, completions -------------------------------------------------------

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        caller = self._caller_of(ctx)
        cursor = params.cursor if params else None

        def work() -> types.ListResourcesResult:
            specs, following = self._service.resources(caller, cursor)
            return types.ListResourcesResult(
                resources=[_resource(spec) for spec in specs], next_cursor=following
            )

        return await self._ask("resources/list", work)

    async def _list_templates(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _refuse_cursor(params)

        def work() -> types.ListResourceTemplatesResult:
            templates = [
                types.ResourceTemplate(
                    uri_template=uri, name=name, description=description, mime_type="text/markdown"
                )
                for uri, name, description in self._service.resource_templates()
            ]
            return types.ListResourceTemplatesResult(resource_templates=templates)

        return await self._ask("resources/templates/list", work)

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller, uri = self._caller_of(ctx), clean_text(str(params.uri))

        def work() -> types.ReadResourceResult:
            text = clean_text(self._service.read_resource(uri, caller))
            contents = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)
            return types.ReadResourceResult(contents=[contents])

        return await self._ask("resources/read", work, data={"uri": uri})

    async def _list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        _refuse_cursor(params)
        caller = self._caller_of(ctx)

        def work() -> types.ListPromptsResult:
            return types.ListPromptsResult(prompts=[_prompt(spec) for spec in self._service.prompts(caller)])

        return await self._ask("prompts/list", work)

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        caller = self._caller_of(ctx)

        def work() -> types.GetPromptResult:
            text = self._service.prompt(params.name, clean_json(params.arguments or {}), caller)
            return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=_text(text))])

        return await self._ask("prompts/get", work)

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        caller, argument = self._caller_of(ctx), params.argument
        kind = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri

        def work() -> types.CompleteResult:
            values = self._service.complete(kind, argument.name, clean_text(argument.value), caller)
            completion = types.Completion(
                values=[clean_text(value) for value in values[:MAX_COMPLETIONS]],
                total=len(values),
                has_more=len(values) > MAX_COMPLETIONS,
            )
            return types.CompleteResult(completion=completion)

        return await self._ask("completion/complete", work)

    # --- running a call ------------------------------------------------------------------------

    def _caller_of(self, ctx: Context) -> Caller:
        if ctx.request is None:
            return self._caller
        caller: Caller = ctx.request.scope.get(CALLER_KEY, self._caller)
        return caller

    async def _run(self, what: str, work: Callable[[], T]) -> T:
        """Return ``work()`` from a worker thread; raises WikimcpError only."""
        return await self._workers.call(what, work, seconds=self._time_limit)

    async def _ask(self, what: str, work: Callable[[], T], *, data: object = None) -> T:
        """Return ``work()`` from a worker thread; an error becomes the JSON-RPC error of its kind."""
        try:
            return await self._run(what, work)
        except WikimcpError as error:
            code = types.INVALID_PARAMS if isinstance(error, _CALLER_FAULTS) else types.INTERNAL_ERROR
            raise MCPError(code=code, message=error_text(error), data=data) from None

    # --- changes of the tool list --------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self, _server: Server[Announcer]) -> AsyncIterator[Announcer]:
        announcer = Announcer()
        self._announcers = (*self._announcers, announcer)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(announcer.run)
                yield announcer
                tasks.cancel_scope.cancel()
        finally:
            self._announcers = tuple(other for other in self._announcers if other is not announcer)

    def _tools_changed(self) -> None:
        for announcer in self._announcers:
            announcer.tools_changed()

    async def _initialized(self, ctx: Context, _params: types.NotificationParams) -> None:
        if ctx.request is None:  # stateless HTTP has no way back to the client
            ctx.lifespan_context.sessions.append(ctx.session)

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await ctx.lifespan_context.listen(ctx, params)

    def end_streams(self) -> None:
        """End all open ``subscriptions/listen`` streams, telling their clients."""
        for announcer in self._announcers:
            announcer.listen.close()

    # --- transports ----------------------------------------------------------------------------

    def http(self, *, max_body: int) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
        """Return the streamable HTTP endpoint (stateless, JSON) and what must be entered around its use.

        Host and Origin are left to the app's own checks. Bodies over ``max_body`` bytes get 413.
        """
        manager = StreamableHTTPSessionManager(
            app=self.server, json_response=True, stateless=True, max_request_body_size=max_body
        )
        return manager.handle_request, manager.run

    async def serve_lines(
        self, lines: AsyncIterator[bytes | None], write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Serve one client until ``lines`` ends; calls under way get ``DRAIN_SECONDS`` to finish.

        ``lines`` yields messages without their newline, None for one that was over the size limit;
        ``write`` takes whole lines and raises OSError when the client is gone.
        """
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
        pending = Pending()

        async def read() -> None:
            async with to_server:
                async for line in lines:
                    if line is not None and not line.strip():
                        continue
                    try:
                        message = decode(line)
                        parsed = types.jsonrpc_message_adapter.validate_python(message, by_name=False)
                    except Refused as refused:
                        await send(refused.reply)
                        continue
                    except ValidationError:
                        await send(error_line(INVALID_REQUEST, "The message is no JSON-RPC 2.0 message."))
                        continue
                    pending.received(message)
                    await to_server.send(SessionMessage(parsed))
                with anyio.move_on_after(DRAIN_SECONDS):
                    await pending.none()

        async def answer() -> None:
            async with from_server:
                async for item in from_server:
                    await send(_encode(item.message))
                    if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                        pending.answered(item.message.id)

        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with anyio.create_task_group() as tasks:

            async def send(line: bytes) -> None:
                try:
                    await write(line)
                except OSError:  # the client is gone
                    tasks.cancel_scope.cancel()

            tasks.start_soon(read)
            tasks.start_soon(answer)
            await self.server.run(incoming, outgoing, options)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=clean_text(text))


def _tool(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=strip_titles(spec.input_schema),
        output_schema=None if spec.output_schema is None else strip_titles(spec.output_schema),
        annotations=_annotations(spec.hints),
        _meta=_TOOL_META,
    )


def _annotations(hints: ToolHints) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        read_only_hint=hints.read_only,
        destructive_hint=None if hints.read_only else hints.destructive,  # says nothing of what only reads
        idempotent_hint=hints.idempotent,
        open_world_hint=hints.open_world,
    )


def _resource(spec: ResourceSpec) -> types.Resource:
    return types.Resource(
        uri=spec.uri,
        name=spec.name,
        title=spec.title,
        description=f"{spec.description} ({spec.tokens:,} tokens)".lstrip(),
        mime_type=spec.mime_type,
    )


def _prompt(spec: PromptSpec) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
        for argument in spec.arguments
    ]
    return types.Prompt(name=spec.name, title=spec.title, description=spec.description, arguments=arguments)


def _refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Refuse a cursor where the whole list is one page, instead of sending that page for ever."""
    if params is not None and params.cursor is not None:
        error = BadArgument("this list has one page and no cursors", hint="Ask without a cursor.")
        raise MCPError(code=types.INVALID_PARAMS, message=error_text(error))


def _encode(message: types.JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError as error:
        text = error_text(internal_error("sending an answer", error))
        return error_line(INTERNAL_ERROR, text, request_id=getattr(message, "id", None))
