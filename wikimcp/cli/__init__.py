"""The command line: parse, call the service, print. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code. Stopped while it is still loading, it goes quietly."""
    try:
        from wikimcp.cli.run import main as run_main
    except KeyboardInterrupt:
        return 130
    return run_main(argv)
