"""The way in: find the verb, run it, and turn every failure into one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence

from wikimcp.cli import verbs
from wikimcp.cli.arguments import build_parser, check_first
from wikimcp.cli.doctor import doctor
from wikimcp.cli.evaluate import evaluate
from wikimcp.cli.key_verbs import keys
from wikimcp.cli.model_verbs import models
from wikimcp.cli.parsing import UsageError
from wikimcp.errors import SettingsError, VaultError, WikimcpError
from wikimcp.settings import debug_wanted, few_malloc_arenas, one_blas_thread

_VERBS = {
    "serve": verbs.serve,
    "bundle": verbs.bundle,
    "query": verbs.bundle,
    "search": verbs.search,
    "read": verbs.read,
    "page": verbs.page,
    "call": verbs.call,
    "tools": verbs.tools,
    "status": verbs.status,
    "doctor": doctor,
    "manifest": verbs.manifest,
    "index": verbs.index,
    "models": models,
    "eval": evaluate,
    "keys": keys,
}
_WRONG_USE = (UsageError, SettingsError, VaultError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 (the answer is an error), 2 (wrong use) or 130 (stopped)."""
    words = list(sys.argv[1:] if argv is None else argv)
    one_blas_thread()
    few_malloc_arenas()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except SystemExit as leave:  # --help and --version
        return leave.code if isinstance(leave.code, int) else 0
    except BrokenPipeError:
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except WikimcpError as error:
        _complain(str(error))
        return 2 if isinstance(error, _WRONG_USE) else 1
    except Exception as error:  # the last seam: nobody above would say it in one line
        _complain(f"internal: {type(error).__name__}: {error}. Set WIKIMCP_DEBUG=1 to see where.")
        return 1


def _run(words: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # not a text file of its own
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    parser = build_parser()
    if not words:
        parser.print_help()
        return 2
    check_first(words[0], parser)
    arguments = parser.parse_args(words)
    if arguments.verb is None:
        raise UsageError("no verb", hint="`wikimcp --help` lists the verbs.")
    return _VERBS[arguments.verb](arguments)


def _complain(line: str) -> None:
    if debug_wanted():
        traceback.print_exc()
    print(f"wikimcp: {' '.join(line.split())}", file=sys.stderr)


def _drop_output() -> None:
    """Point stdout at nothing, so that its last flush at exit does not complain either."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
