"""Ends a serving process in time: the signals that ask for it, and the hard exit when a thread will not stop.

Imports nothing heavy, so that it can be armed before anything else is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 1.5
"""Seconds between a request to stop and the hard exit."""

STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)


def leave() -> None:
    """Exit with status 0 at once; the service is closed, and what was said is out.

    An interpreter that ends by itself waits for calls that hang and takes every module apart, which on a
    busy machine lasts longer than a client waits, and no thread of ours could cut it short any more.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


@contextmanager
def stop_signals(on_stop: Callable[[], None]) -> Iterator[None]:
    """Call ``on_stop`` in the main thread for each signal that asks the process to end.

    Does nothing in another thread, where signals cannot be received.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        on_stop()

    before = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class HardExit:
    """Ends the process with status 0 ``GRACE`` seconds after ``arm``, whatever other threads do.

    A call that hangs in a worker thread would otherwise keep the interpreter alive for ever.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        threading.Thread(target=self._wait, name="wikimcp-exit", daemon=True).start()

    def arm(self) -> None:
        """Start the clock. Takes no lock, so that a signal handler may call it at any moment."""
        os.write(self._writer, b".")

    def _wait(self) -> None:
        os.read(self._reader, 1)
        time.sleep(GRACE)
        os._exit(0)
