"""Shares of what all callers use: no key and no kind of call takes all of it, however many it sends.

A share is a number of holders at once by name. Who has its share already waits for its own, in the order
of coming, and in nobody else's way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wikimcp.edges.rate_limits import neighbourhood
from wikimcp.models import Caller

OF_ONE_CALLER = 3
"""Calls of one key, or from one other machine without a key, at once: fewer than of one kind of call, so
that no caller alone takes all that there is of the slowest kind."""


class Shares:
    """Counts holders by name, ``most`` of each at once. Names that nobody waits for are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limiters: dict[str, tuple[anyio.CapacityLimiter, int]] = {}

    def __len__(self) -> int:
        """How many names are held or waited for."""
        return len(self._limiters)

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait for a share of that name and hold it in the block."""
        limiter, users = self._limiters.get(name) or (anyio.CapacityLimiter(self._most), 0)
        self._limiters[name] = (limiter, users + 1)
        try:
            # on behalf of an object of its own: one task may hold several shares of a name
            holder = object()
            await limiter.acquire_on_behalf_of(holder)
            try:
                yield
            finally:
                limiter.release_on_behalf_of(holder)
        finally:
            limiter, users = self._limiters[name]
            if users > 1:
                self._limiters[name] = (limiter, users - 1)
            else:
                del self._limiters[name]


class FairShare:
    """Lets so many requests of one key work at once, the others of that key wait until one has its answer.

    Requests without a key share by the address they come from; those of this machine are not told apart,
    and not held up. A share ends when the answer begins, so that no open stream keeps one.
    """

    def __init__(self, app: ASGIApp, *, caller_key: str, most: int = OF_ONE_CALLER) -> None:
        self._app = app
        self._caller_key = caller_key
        self._shares = Shares(most)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a share, then pass the request on."""
        name = self._name(scope) if scope["type"] == "http" else ""
        if not name:
            await self._app(scope, receive, send)
            return
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._shares.hold(name))

            async def release_and_send(message: Message) -> None:
                await held.aclose()
                await send(message)

            await self._app(scope, receive, release_and_send)

    def _name(self, scope: Scope) -> str:
        caller: Caller | None = scope.get(self._caller_key)
        if caller is not None and any(name == b"authorization" for name, _ in scope["headers"]):
            return f"key {caller.name}"
        host = (scope.get("client") or ("", 0))[0]
        near = neighbourhood(host)
        return "" if not near or near.startswith("127.") or near == "::/64" else f"address {near}"
