"""Nobody takes all places: not one key by many requests, not one kind of call by its slowness."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.edges.processes import PATIENCE
from wikimcp.edges.fair_shares import OF_ONE_CALLER, FairShare, Shares
from wikimcp.edges.workers import OF_ONE_KIND, PLACES, Workers
from wikimcp.models import Caller

pytestmark = pytest.mark.anyio


async def until(true: Callable[[], bool]) -> None:
    """Let others run until a condition holds."""
    with anyio.fail_after(PATIENCE):
        while not true():
            await anyio.lowlevel.checkpoint()


async def settled() -> None:
    """Let everybody run who can."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


class Waiting:
    """An app whose answers begin when they are let go; it knows who is being worked for."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.go = anyio.Event()
        self.streams = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside.append(scope["path"])
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.streams.wait()
        await send({"type": "http.response.body", "body": b""})


async def _ignore(_message: Message) -> None:
    return None


def _asker(guard: FairShare) -> Callable[..., Coroutine[Any, Any, None]]:
    async def ask(path: str, key: str = "", client: str = "127.0.0.1") -> None:
        headers = [(b"authorization", b"Bearer x")] if key else []
        scope = {
            "type": "http",
            "path": path,
            "client": (client, 1),
            "headers": headers,
            "who": Caller(name=key),
        }

        async def receive() -> Message:
            return {"type": "http.request"}

        await guard(scope, receive, _ignore)

    return ask


async def test_one_key_waits_for_itself_and_keeps_nobody_else_waiting() -> None:
    app = Waiting()
    ask = _asker(FairShare(app, caller_key="who"))
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(ask, f"busy {number}", "busy")
        await until(lambda: len(app.inside) == OF_ONE_CALLER)
        await settled()
        assert len(app.inside) == OF_ONE_CALLER
        tasks.start_soon(ask, "other", "other")
        await until(lambda: "other" in app.inside)
        app.go.set()
        await until(lambda: len(app.inside) == 21)  # a stream that stays open keeps no share
        app.streams.set()


async def test_without_a_key_another_machine_shares_by_its_address_and_this_one_does_not() -> None:
    app = Waiting()
    ask = _asker(FairShare(app, caller_key="who"))
    async with anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(ask, "far", "", "2001:db8::" + str(number))  # one host has a whole /64
            tasks.start_soon(ask, "near", "", "127.0.0.1")
            tasks.start_soon(ask, "near", "", "::1")
        await until(lambda: app.inside.count("near") == 18)
        await settled()
        assert app.inside.count("far") == OF_ONE_CALLER
        app.go.set()
        app.streams.set()


async def test_a_request_that_is_given_up_while_it_waits_gives_its_share_to_the_next() -> None:
    shares = Shares(1)
    passed: list[str] = []

    async def hold(name: str) -> None:
        async with shares.hold("key"):
            passed.append(name)

    async with shares.hold("key"):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, "given up")
            await settled()
            tasks.cancel_scope.cancel()
        assert passed == []
    with anyio.fail_after(PATIENCE):
        await hold("next")
    assert passed == ["next"]
    assert len(shares) == 0, "names do not pile up"


async def test_the_slowest_kind_of_call_leaves_places_to_the_others() -> None:
    workers, going = Workers(), threading.Event()
    running: list[int] = []

    async def slow() -> None:
        await workers.call("tool 'slow'", lambda: (running.append(1), going.wait(PATIENCE)), seconds=PATIENCE)

    async with anyio.create_task_group() as tasks:
        for _ in range(3 * PLACES):
            tasks.start_soon(slow)
        await until(lambda: len(running) == OF_ONE_KIND)
        assert await workers.call("tool 'quick'", lambda: "done", seconds=PATIENCE) == "done"
        assert len(running) == OF_ONE_KIND < PLACES
        going.set()
    assert len(running) == 3 * PLACES
    assert workers.running == 0
