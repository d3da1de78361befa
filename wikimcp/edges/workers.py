"""Worker threads for service calls, so that no call blocks the event loop or another client."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from wikimcp.edges.answers import internal_error
from wikimcp.edges.fair_shares import Shares
from wikimcp.errors import TimedOut, Unavailable, WikimcpError

PLACES = 8
"""Calls that run at once: enough for waiting ones, few enough not to fight over the interpreter lock."""

OF_ONE_KIND = PLACES // 2
"""Calls of one kind that run at once, so that the slowest leave places to the others."""

CEILING = 64
"""Most threads, those of abandoned calls included."""

T = TypeVar("T")


class Workers:
    """Runs blocking work in threads: ``limit`` at a time, never more than ``ceiling`` threads.

    A caller that gives up (cancelled, out of time) frees its place at once, though its thread goes on
    to its end: work that hangs does not take the place of work that does not. Such leftovers count
    towards ``ceiling``, above which new work is refused.
    """

    def __init__(self, limit: int = PLACES, *, ceiling: int = CEILING) -> None:
        self._ceiling = ceiling
        self._places = anyio.CapacityLimiter(limit)
        self._threads = anyio.CapacityLimiter(math.inf)
        self._running = 0
        self._lock = threading.Lock()
        self._kinds = Shares(max(1, min(OF_ONE_KIND, limit // 2)))

    @property
    def running(self) -> int:
        """How many calls run now, abandoned ones included."""
        return self._running

    async def run(self, work: Callable[[], T]) -> T:
        """Return ``work()`` from a thread, or raise what it raised.

        Raises Unavailable when too many abandoned calls are still running.
        """
        async with self._places:
            if self._running >= self._ceiling:
                raise Unavailable(
                    f"{self._running} earlier calls have not ended",
                    hint="Ask again in a moment; restart the server if this stays.",
                )
            return await anyio.to_thread.run_sync(
                self._count, work, abandon_on_cancel=True, limiter=self._threads
            )

    async def call(self, what: str, work: Callable[[], T], *, seconds: float) -> T:
        """Return ``work()`` from a thread within so many seconds. Raises WikimcpError only.

        ``what`` says what kind of call it is: at most half of the places are for one kind.
        """
        try:
            with anyio.move_on_after(seconds):
                async with self._kinds.hold(what):
                    return await self.run(work)
        except WikimcpError:
            raise
        except Exception as error:
            raise internal_error(what, error) from None
        raise TimedOut(
            f"the call took over {seconds:g} seconds and was given up", hint="Ask for less at once."
        )

    def _count(self, work: Callable[[], T]) -> T:
        with self._lock:
            self._running += 1
        try:
            return work()
        except Exception:
            raise
        except BaseException as error:  # SystemExit and its like would end the event loop
            raise RuntimeError(f"a call ended with {type(error).__name__}") from error
        finally:
            with self._lock:
                self._running -= 1
