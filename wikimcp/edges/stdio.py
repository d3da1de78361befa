"""MCP over standard input and output: the descriptors, the signals and a clean end within two seconds.

``claim_stdout`` must run before anything that may print is imported, so this module imports nothing
heavy; the MCP SDK is loaded while the service opens its index.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wikimcp.edges.logs import log_to_stderr
from wikimcp.edges.shutdown import HardExit, leave, stop_signals
from wikimcp.errors import Unavailable
from wikimcp.models import Caller

if TYPE_CHECKING:
    from wikimcp.service import WikiService


@dataclass(frozen=True, slots=True)
class Wire:
    """The descriptors that the client holds the other ends of; nobody else knows them."""

    reader: int
    writer: int


@functools.cache
def claim_stdout() -> Wire:
    """Keep the real standard streams for the protocol and give everybody else stderr and no input.

    Afterwards prints, writes to fd 1 and output of child processes land on stderr, and a child that
    reads fd 0 finds it empty. Idempotent. Raises Unavailable when a stream is closed.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        wire = Wire(_duplicate(0), _duplicate(1))
    except OSError:
        raise Unavailable(
            "standard input or output is closed",
            hint="Let an MCP client start this command, or serve over HTTP with --http.",
        ) from None
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed: noise goes nowhere
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    if nothing > 2:
        os.close(nothing)
    if sys.stderr is not None:
        sys.stdout = sys.stderr
    return wire


def _duplicate(descriptor: int) -> int:
    """Duplicate above the standard range, binary, and closed in child processes."""
    if sys.platform == "win32":
        import msvcrt

        copy = os.dup(descriptor)
        msvcrt.setmode(copy, os.O_BINARY)
        return copy
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def serve_stdio(
    service: WikiService,
    wire: Wire | None = None,
    *,
    caller: Caller | None = None,
    time_limit: float = 60.0,
    log_level: str = "warning",
) -> int:
    """Serve one client until it closes its end, goes away, or a signal asks to stop; return 0.

    The service has been started, so that it opens its index while the SDK is imported here; it is
    closed at the end. Belongs to a process of its own: a call that hangs does not keep the process
    alive for longer than ``shutdown.GRACE`` seconds.
    """
    wire = wire or claim_stdout()
    log_to_stderr(log_level)
    if os.isatty(wire.reader):
        sys.stderr.write("wikimcp: waiting for an MCP client on standard input; Ctrl-C ends\n")
    stop = Stop()
    with stop_signals(stop.ask):
        try:
            from wikimcp.edges.sdk_import import load_mcp_server
            from wikimcp.edges.stdio_lines import serve_wire
            from wikimcp.edges.workers import Workers

            workers = Workers()
            mcp_server = load_mcp_server()(
                service, workers=workers, caller=caller or Caller(), time_limit=time_limit
            )
            serve_wire(mcp_server.serve_lines, wire.reader, wire.writer, stop)
        finally:
            service.close()
    leave()
    return 0


class Stop:
    """The request to stop, which may come before there is an event loop to tell."""

    def __init__(self) -> None:
        self._exit = HardExit()
        self._asked = False
        self._tell: Callable[[], object] | None = None

    def ask(self) -> None:
        """Stop serving, and exit in time even if something hangs."""
        self.soon()
        if self._tell is not None:
            self._tell()

    def soon(self) -> None:
        """Exit in time; what is under way may finish."""
        if not self._asked:
            self._asked = True
            self._exit.arm()

    def on_ask(self, tell: Callable[[], object]) -> None:
        """Have ``tell`` called on a request, at once if there has been one."""
        self._tell = tell
        if self._asked:
            tell()
