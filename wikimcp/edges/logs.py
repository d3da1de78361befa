"""Logging of a serving process: every record is one line on stderr, tracebacks and warnings included."""

from __future__ import annotations

import logging
import sys
import threading


class OneLineFormatter(logging.Formatter):
    """Joins the lines of a record, so that a reader of stderr can count on one record a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return ``wikimcp: level: message``, line breaks shown as `` | ``, carets below code left out."""
        lines = super().format(record).splitlines()
        return " | ".join(line.rstrip() for line in lines if line.strip(" ^~"))


def log_to_stderr(level: str = "warning") -> None:
    """Send all logging, warnings and uncaught errors of threads to stderr, one line each.

    ``level`` (debug, info, warning, error) is for our own records; those of libraries are shown from
    warning on, or all of them at debug.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter("wikimcp: %(levelname)s: %(message)s"))
    others = logging.DEBUG if level == "debug" else logging.WARNING
    logging.basicConfig(level=others, handlers=[handler], force=True)
    logging.getLogger("wikimcp").setLevel(level.upper())
    logging.captureWarnings(True)
    threading.excepthook = _log_thread_error


def _log_thread_error(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None:
        return
    name = args.thread.name if args.thread else "unknown"
    error = (args.exc_type, args.exc_value, args.exc_traceback)
    logging.getLogger(__name__).error("thread %s failed", name, exc_info=error)
