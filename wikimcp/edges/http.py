"""The HTTP app: MCP at /mcp beside health and readiness, and the server process around it.

Binds loopback unless told otherwise, and never an open address without a key by accident.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from wikimcp.edges.answers import error_text, internal_error
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
from wikimcp.edges.shutdown import HardExit, exit_if_hung, stop_signals
from wikimcp.edges.workers import Workers
from wikimcp.errors import SettingsError, Unavailable
from wikimcp.models import Caller
from wikimcp.service import WikiService

MAX_BODY = 1 << 20
"""Largest request body in bytes."""

DRAIN_SECONDS = 0.7
"""How long requests may still finish after a signal."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What a monitor may ask without a key."""


def http_app(
    service: WikiService,
    *,
    caller: Caller,
    workers: Workers,
    bound_host: str = "127.0.0.1",
    allowed_hosts: Iterable[str] = (),
    authenticate: Authenticate | None = None,
    time_limit: float = 60.0,
) -> Starlette:
    """Return the app over a started service; the end of its lifespan closes the service.

    ``caller`` is who asks when there is no ``authenticate``. ``app.state.drain(seconds)`` ends the open
    event streams and leaves the requests under way that long; call it when the server is to stop.
    """
    mcp = McpServer(service, workers=workers, caller=caller, time_limit=time_limit)
    endpoint, running = mcp.http(max_body=MAX_BODY)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            async with running():
                yield
        finally:
            service.close()

    middleware = [Middleware(HostGuard, rule=HostRule(bound_host, allowed_hosts))]
    if authenticate is not None:
        middleware.append(
            Middleware(KeyGuard, authenticate=authenticate, caller_key=CALLER_KEY, open_paths=OPEN_PATHS)
        )
    # the call's own limit comes first, as its answer says more
    deadlines = Deadlines(time_limit + 5)
    middleware += [Middleware(TimeLimit, deadlines=deadlines), Middleware(BodyLimit, limit=MAX_BODY)]
    app = Starlette(
        routes=[Route("/mcp", PostOnly(endpoint)), *_health(service)],
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _crash},
    )

    def drain(seconds: float) -> None:
        mcp.end_streams()
        deadlines.hurry(seconds)

    app.state.drain = drain
    return app


def _health(service: WikiService) -> list[BaseRoute]:
    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok", "name": service.name, "version": service.version})

    async def readyz(_request: Request) -> Response:
        if service.ready():
            return JSONResponse({"status": "ready"})
        message = "The first index is being built; calls answer from what there is."
        return error_response(503, "starting", message, headers={"Retry-After": "1"})

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


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
    allow_anonymous: bool = False,
    allowed_hosts: Iterable[str] = (),
    time_limit: float = 60.0,
    log_level: str = "warning",
) -> int:
    """Serve until a signal asks to stop, then drain for a second; return 0.

    Port 0 takes a free one; one line on stderr names the URL. Raises SettingsError for an address that
    is wrong or open to others without ``api_key`` or ``allow_anonymous``, Unavailable for one in use.
    """
    log_to_stderr(log_level)
    asker = caller or Caller(name="http")
    workers = Workers()
    try:
        listener = bind(host, port, guarded=api_key is not None or allow_anonymous)
        app = http_app(
            service,
            caller=asker,
            workers=workers,
            bound_host=host.strip("[]"),
            allowed_hosts=allowed_hosts,
            authenticate=single_key(api_key, asker) if api_key is not None else None,
            time_limit=time_limit,
        )
        with listener:
            _Server(app).run(sockets=[listener])
    finally:
        service.close()
    exit_if_hung(workers.running)
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
            hint="Set an API key, serve on 127.0.0.1, or pass --allow-anonymous.",
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

    def __init__(self, app: Starlette) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
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
