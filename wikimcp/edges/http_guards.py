"""What every HTTP request must pass before a route sees it: Host and Origin, the key, time, size.

Each guard is plain ASGI middleware around the whole app, so that no route can be forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import anyio
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wikimcp.edges.rate_limits import RateLimits, neighbourhood
from wikimcp.errors import SettingsError
from wikimcp.models import Caller

_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?P<port>:[0-9]{1,5})?", re.ASCII)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/?#@]+)", re.ASCII)

READ_SCOPE = "mcp_read"
"""The scope that every route asks for."""

_log = logging.getLogger(__name__)


def error_response(
    status: int, code: str, message: str, *, headers: dict[str, str] | None = None
) -> Response:
    """Return ``{"error": {"code", "message"}}`` with an HTTP status."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers=headers)


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address literal (without brackets) stands for this machine only."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class HostRule:
    """Which Host values are ours: loopback ones, the bound host and those that were allowed.

    ``allowed`` entries are a name or address, with a port (only that one) or without (any). An app bound
    to all addresses takes any address literal too: DNS rebinding needs a name.
    """

    def __init__(self, bound_host: str, allowed: Iterable[str] = ()) -> None:
        bound = _address(bound_host)
        self._any_address = bound is not None and bound.is_unspecified
        self._names = {_bracketed(bound_host.lower()), *(_bracketed(name.lower()) for name in allowed)}

    def accepts(self, authority: str) -> bool:
        """Tell whether a Host header's value, or the part of an Origin after ``://``, is ours."""
        match = _AUTHORITY.fullmatch(authority.lower())
        if match is None:
            return False
        host = match["host"].removesuffix(".")
        bare = host.strip("[]")
        if is_loopback(bare) or (self._any_address and _address(bare) is not None):
            return True
        return host in self._names or f"{host}{match['port'] or ''}" in self._names


def _bracketed(name: str) -> str:
    """Write an IPv6 address as a URL does."""
    address = _address(name)
    return f"[{name}]" if address is not None and address.version == 6 else name


class HostGuard:
    """Refuses a foreign Host (421) or Origin (403), as DNS rebinding and foreign web pages send them.

    A missing Origin is fine: only browsers send one. ``origins`` are foreign ones that may ask, in lower
    case. The log names what was refused, once per value,
    so that a proxy's name is easy to allow.
    """

    def __init__(self, app: ASGIApp, rule: HostRule, *, origins: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._rule = rule
        self._origins = origins
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the headers, then pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = _header(scope, b"host")
        if len(hosts) != 1 or not self._rule.accepts(hosts[0]):
            self._note("Host", ", ".join(hosts))
            response = error_response(421, "bad_host", "This server does not answer for that Host.")
        elif not all(self._is_ours(origin) for origin in _header(scope, b"origin")):
            self._note("Origin", ", ".join(_header(scope, b"origin")))
            response = error_response(403, "bad_origin", "This server does not answer pages of that Origin.")
        else:
            await self._app(scope, receive, send)
            return
        await response(scope, receive, send)

    def _is_ours(self, origin: str) -> bool:
        if origin.lower() in self._origins:
            return True
        match = _ORIGIN.fullmatch(origin.lower())
        return match is not None and self._rule.accepts(match["authority"])

    def _note(self, header: str, value: str) -> None:
        entry = f"{header} {value[:200]!r}"
        if entry not in self._logged and len(self._logged) < 100:
            self._logged.add(entry)
            _log.warning("refused %s; if it is a name of this server, allow it as an extra host", entry)


Authenticate = Callable[[str | None], Caller | None]
"""From the Authorization header's value (None: absent) to who is calling, None when nobody known is."""


def single_key(key: str, caller: Caller) -> Authenticate:
    """Return the check for one static key: ``Bearer KEY`` makes a request the caller's.

    Raises SettingsError for an empty key.
    """
    if not key.strip():
        raise SettingsError("the API key is empty", hint="Set one of 32 or more random characters.")
    wanted = _digest(key.strip().encode())

    def authenticate(header: str | None) -> Caller | None:
        scheme, _, token = (header or "").partition(" ")
        given = _digest(token.strip().encode("latin-1"))
        return caller if hmac.compare_digest(given, wanted) and scheme.lower() == "bearer" else None

    return authenticate


def _digest(key: bytes) -> bytes:
    """Return what is compared instead of a key: of one length, whatever was sent."""
    return hashlib.sha256(key).digest()


class KeyGuard:
    """Lets in whose key is known and may read, so often as the limits say, and notes whose request it is.

    Answers 401 without a known key, 403 for a key without the scope ``mcp_read``, 429 with Retry-After
    above the limits: those of a key, or of an address where no key is known. Paths in ``open_paths``
    need no key and count towards nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        authenticate: Authenticate,
        *,
        caller_key: str,
        open_paths: frozenset[str],
        limits: RateLimits | None = None,
    ) -> None:
        self._app = app
        self._authenticate = authenticate
        self._caller_key = caller_key
        self._open_paths = open_paths
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the key, then pass the request on."""
        if scope["type"] == "http" and scope["path"] not in self._open_paths:
            given = _header(scope, b"authorization")
            caller = self._authenticate(given[0] if given else None) if len(given) < 2 else None
            refusal = self._limited(scope, caller if given else None) or _barred(caller)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            scope[self._caller_key] = caller
        await self._app(scope, receive, send)

    def _limited(self, scope: Scope, known: Caller | None) -> Response | None:
        if self._limits is None:
            return None
        host = (scope.get("client") or ("unknown", 0))[0]
        wait = self._limits.take(f"key {known.name}" if known else f"address {neighbourhood(host)}")
        if not wait:
            return None
        message = "There were too many requests. Wait for as long as Retry-After says."
        return error_response(429, "rate_limited", message, headers={"Retry-After": str(math.ceil(wait))})


def _barred(caller: Caller | None) -> Response | None:
    """Return the refusal of a caller that is not known or may not read."""
    if caller is None:
        message = "A key is needed: send it as 'Authorization: Bearer KEY'."
        return error_response(
            401, "unauthorized", message, headers={"WWW-Authenticate": 'Bearer realm="wikimcp"'}
        )
    if READ_SCOPE not in caller.scopes:
        return error_response(403, "forbidden", f"This key lacks the scope {READ_SCOPE}.")
    return None


class Deadlines:
    """The time that requests have: ``seconds`` each, less for all once ``hurry`` is called."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._open: set[anyio.CancelScope] = set()

    @contextmanager
    def limit(self) -> Iterator[anyio.CancelScope]:
        """Cancel the body of the with statement when its time is up."""
        with anyio.move_on_after(self.seconds) as scope:
            self._open.add(scope)
            try:
                yield scope
            finally:
                self._open.discard(scope)

    def hurry(self, seconds: float) -> None:
        """Leave every open request, event streams included, at most ``seconds``."""
        latest = anyio.current_time() + seconds
        for scope in self._open:
            scope.deadline = min(scope.deadline, latest)


class TimeLimit:
    """Ends a request, its slow sending included, with 503 when its time is up; event streams may stay."""

    def __init__(self, app: ASGIApp, deadlines: Deadlines) -> None:
        self._app = app
        self._deadlines = deadlines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and watch the clock."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                if any(value.startswith(b"text/event-stream") for _, value in message["headers"]):
                    limit.deadline = math.inf
            await send(message)

        with self._deadlines.limit() as limit:
            await self._app(scope, receive, watch)
        if limit.cancelled_caught and not started:
            message = "The request took too long, or the server is stopping."
            response = error_response(503, "timeout", message, headers={"Connection": "close"})
            await response(scope, receive, send)


class BodyLimit:
    """Reads the request's body before a route does, and answers 413 when it is over ``limit`` bytes.

    The rest of such a body is read and dropped, up to ``DRAIN`` times the limit: a client that is
    still sending when the connection closes never sees the answer.
    """

    DRAIN = 16

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then pass the request on with it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parts: list[bytes] = []
        size = 0
        more = True
        while more and size <= self._limit * self.DRAIN:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            part = message.get("body", b"")
            size += len(part)
            more = message.get("more_body", False)
            if size <= self._limit:
                parts.append(part)
        if size > self._limit:
            text = f"The body is over {self._limit:,} bytes."
            response = error_response(413, "too_large", text, headers={"Connection": "close"})
            await response(scope, receive, send)
            return
        body: Message | None = {"type": "http.request", "body": b"".join(parts), "more_body": False}

        async def replay() -> Message:
            nonlocal body
            message, body = body, None
            return await receive() if message is None else message

        await self._app(scope, replay, send)


class PostOnly:
    """Answers 405 to all methods but POST: a stateless server has no stream to GET, nothing to DELETE."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a POST on."""
        if scope["method"] == "POST":
            await self._app(scope, receive, send)
            return
        response = error_response(405, "bad_method", "Only POST works here.", headers={"Allow": "POST"})
        await response(scope, receive, send)


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
