"""The command line: parse, call the service, print. Nothing heavy is imported before a verb needs it."""

from wikimcp.cli.run import main

__all__ = ["main"]
