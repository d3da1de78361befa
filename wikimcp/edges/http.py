"""The HTTP app: MCP at /mcp beside the REST routes and health, and the server process around it.

Binds loopback unless told otherwise, and never an open address without a key by accident.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wikimcp.access.key_file import KeyFile
from wikimcp.edges.answers import error_text, internal_error
from wikimcp.edges.api_keys import KeyRing
from wikimcp.edges.fair_shares import FairShare
from wikimcp.edges.health_routes import health_routes
from wikimcp.edges.http_guards import (
    Authenticate,
    BodyLimit,
    Deadlines,
    HostGuard,
    HostRule,
    KeyGuard,
    PostOnly,
    TimeLimit,
    error_response,
    is_loopback,
    single_key,
)
from wikimcp.edges.logs import log_to_stderr
from wikimcp.edges.mcp_server import CALLER_KEY, McpServer
from wikimcp.edges.metrics import CountRequests, Metrics
from wikimcp.edges.rate_limits import RateLimits
from wikimcp.edges.rest_answers import Calls, wiki_error
from wikimcp.edges.rest_routes import RestRoutes
from wikimcp.edges.shutdown import HardExit, leave, stop_signals
from wikimcp.edges.slow_heads import guarded_protocol
from wikimcp.edges.workers import Workers
from wikimcp.errors import SettingsError, Unavailable, WikimcpError
from wikimcp.models import Caller
from wikimcp.service import WikiService

MAX_BODY = 1 << 20
"""Largest request body in bytes."""

DRAIN_SECONDS = 0.7
"""How long requests may still finish after a signal."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What a monitor may ask without a key."""

COUNTED = (
    *(
        "/mcp",
        "/api/bundle",
        "/api/briefing",
        "/api/manifest",
        "/api/pages",
        "/api/source-refs",
        "/api/graph",
    ),
    *("/api/graph/neighborhood", "/api/openapi.json", "/healthz", "/readyz", "/metrics", "/message:send"),
    "/.well-known/agent-card.json",
)
"""The paths that the metrics count by name."""

_MCP_HEADERS = ("MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """What shapes the app beside its service.

    ``allowed_hosts`` are Host values beside loopback and the bound one, ``cors_origins`` web pages that
    may ask, ``limits`` how often anybody may, ``max_connections`` how many connections may be open at
    once; ``a2a`` adds the agent-to-agent routes.
    """

    bound_host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    limits: RateLimits | None = None
    time_limit: float = 60.0
    max_connections: int = 500
    a2a: bool = False


def http_app(
    service: WikiService,
    *,
    caller: Caller,
    workers: Workers,
    options: HttpOptions | None = None,
    authenticate: Authenticate | None = None,
) -> Starlette:
    """Return the app over a started service; the end of its lifespan closes the service.

    ``caller`` is who asks when there is no ``authenticate``. ``app.state.drain(seconds)`` ends the open
    event streams and leaves the requests under way that long; call it when the server is to stop.
    """
    options = options or HttpOptions()
    mcp = McpServer(service, workers=workers, caller=caller, time_limit=options.time_limit)
    endpoint, running = mcp.http(max_body=MAX_BODY)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            async with running():
                yield
        finally:
            service.close()

    calls = Calls(workers=workers, caller=caller, caller_key=CALLER_KEY, time_limit=options.time_limit)
    # the call's own limit comes first, as its answer says more
    deadlines = Deadlines(options.time_limit + 5)
    metrics = Metrics(COUNTED, {"/api/pages/": "/api/pages/{slug}"})
    app = Starlette(
        routes=[
            Route("/mcp", PostOnly(endpoint)),
            *RestRoutes(service, calls).routes(),
            *health_routes(service, calls=calls, metrics=metrics),
            *_agent_routes(service, calls, options),
        ],
        middleware=_guards(
            options,
            metrics=metrics,
            deadlines=deadlines,
            authenticate=authenticate or (lambda _: caller),
        ),
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, WikimcpError: wiki_error, Exception: _crash},
    )
    app.router.redirect_slashes = False

    def drain(seconds: float) -> None:
        mcp.end_streams()
        deadlines.hurry(seconds)

    app.state.drain = drain
    return app


def _guards(
    options: HttpOptions,
    *,
    metrics: Metrics,
    deadlines: Deadlines,
    authenticate: Authenticate,
) -> list[Middleware]:
    """Return what a request passes, outermost first."""
    origins = frozenset(origin.lower().rstrip("/") for origin in options.cors_origins)
    guards = [
        Middleware(CountRequests, metrics=metrics),
        Middleware(HostGuard, rule=HostRule(options.bound_host, options.allowed_hosts), origins=origins),
    ]
    if origins:
        guards.append(
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(origins),
                allow_methods=["GET", "HEAD", "POST"],
                allow_headers=["Authorization", "Content-Type", "If-None-Match", *_MCP_HEADERS],
                expose_headers=["ETag", "Retry-After", "WWW-Authenticate"],
            )
        )
    return [
        *guards,
        Middleware(
            KeyGuard,
            authenticate=authenticate,
            caller_key=CALLER_KEY,
            open_paths=OPEN_PATHS,
            limits=options.limits,
        ),
        Middleware(TimeLimit, deadlines=deadlines),
        Middleware(BodyLimit, limit=MAX_BODY),
        Middleware(FairShare, caller_key=CALLER_KEY),
    ]


def _agent_routes(service: WikiService, calls: Calls, options: HttpOptions) -> list[BaseRoute]:
    if not options.a2a:
        return []
    try:
        from wikimcp.edges.agent_to_agent import agent_routes
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"--a2a needs the extra a2a ({error.name} is not installed)",
            hint="Install it: pip install 'wikimcp-server[a2a]'.",
        ) from None
    return agent_routes(service, calls)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes = {404: ("not_found", "There is nothing at this path."), 405: ("bad_method", "Not this method.")}
    code, message = codes.get(error.status_code, ("bad_request", "The request cannot be answered."))
    return error_response(error.status_code, code, message, headers=dict(error.headers or {}))


async def _crash(request: Request, error: Exception) -> Response:
    ours = internal_error(f"{request.method} {request.url.path}", error)
    return error_response(500, ours.code, error_text(ours).removeprefix(f"{ours.code}: "))


def serve_http(
    service: WikiService,
    *,
    host: str,
    port: int,
    caller: Caller | None = None,
    api_key: str | None = None,
    keys: KeyFile | None = None,
    allow_anonymous: bool = False,
    options: HttpOptions | None = None,
    log_level: str = "warning",
) -> int:
    """Serve until a signal asks to stop, then drain for a second; return 0.

    Port 0 takes a free one; one line on stderr names the URL. Who may ask: whoever sends ``api_key``,
    or a key of the file ``keys``; without a key, ``caller`` on this machine's own address until there
    are keys, and with ``allow_anonymous``. Raises SettingsError for an address that is wrong or open to
    others without a key, Unavailable for one in use, StateError for a file of keys that cannot be read.
    """
    log_to_stderr(log_level)
    asker = caller or Caller(name="http")
    workers = Workers()
    try:
        keyed = api_key is not None or (keys is not None and bool(keys.read()))
        listener = bind(host, port, guarded=keyed or allow_anonymous)
        with listener:
            authenticate = None
            if api_key is not None:
                authenticate = single_key(api_key, asker)
            elif keys is not None:
                loopback = is_loopback(str(listener.getsockname()[0]))
                authenticate = KeyRing(
                    keys,
                    anonymous=asker if loopback else replace(asker, may_see_drafts=False),
                    allow_anonymous=allow_anonymous,
                    guarded=not loopback,
                    drafts=asker.may_see_drafts,
                ).authenticate
            options = replace(options or HttpOptions(), bound_host=host.strip("[]"))
            app = http_app(service, caller=asker, workers=workers, options=options, authenticate=authenticate)
            _Server(app, options.max_connections).run(sockets=[listener])
    finally:
        service.close()
    leave()
    return 0


def bind(host: str, port: int, *, guarded: bool) -> socket.socket:
    """Return a socket bound to the address; an open address needs ``guarded``. Raises as serve_http."""
    name = host.strip("[]")
    where = f"{host}:{port}"
    try:
        if not 0 <= port <= 65_535:
            raise OverflowError  # getaddrinfo takes it modulo 65,536
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, OverflowError, UnicodeError):
        raise SettingsError(
            f"{where!r} is no address to serve on", hint="Use HOST:PORT, such as 127.0.0.1:8000."
        ) from None
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    if not guarded and not is_loopback(str(address[0])):
        raise SettingsError(
            f"{where!r} can be reached from other machines and there is no key",
            hint="Make one with `wikimcp keys create NAME`, serve on 127.0.0.1, or pass --allow-anonymous.",
        )
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # there it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"cannot serve on {where!r}: {(error.strerror or 'the address is refused').lower()}",
            hint="Choose another port, or port 0 for a free one.",
        ) from None
    return listener


class _Server(uvicorn.Server):
    """uvicorn that says where it serves, and on a signal drains and exits 0 in time."""

    def __init__(self, app: Starlette, max_connections: int) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=guarded_protocol(max_connections),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._drain = app.state.drain
        self._exit = HardExit()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"wikimcp: serving http://{shown}:{port}/mcp\n")
            sys.stderr.flush()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with stop_signals(self._stop):
            yield

    def _stop(self) -> None:
        if not self.should_exit:
            self._exit.arm()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._drain(DRAIN_SECONDS)
        await super().shutdown(sockets)
