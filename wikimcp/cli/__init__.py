"""The command line: parse, call the service, print. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

__all__ = ["command", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code. Stopped while it is still loading, it goes quietly."""
    try:
        from wikimcp.cli.run import main as run_main
    except KeyboardInterrupt:
        return 130
    return run_main(argv)


def command() -> int:
    """Run the command line as the program itself: at its end the process goes at once.

    What a verb opened is closed by then. Taking down the interpreter with all that was loaded would take a
    tenth of a second more; a server, which may have threads to wait for, goes the long way.
    """
    code = main()
    if sys.argv[1:2] != ["serve"]:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or nobody reads
                stream.flush()
        os._exit(code)
    return code
