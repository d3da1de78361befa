"""The way in: find the verb, run it, and turn every failure into one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence

from wikimcp.cli import authoring_verbs, verbs
from wikimcp.cli.arguments import build_parser, check_first
from wikimcp.cli.briefing_verb import BRIEFING_VERBS, briefing
from wikimcp.cli.cite import cite
from wikimcp.cli.client_verbs import install, uninstall
from wikimcp.cli.doctor import doctor
from wikimcp.cli.evaluate import evaluate
from wikimcp.cli.graph_verb import graph
from wikimcp.cli.hook_verb import hook, tell
from wikimcp.cli.key_verbs import keys
from wikimcp.cli.model_verbs import models
from wikimcp.cli.parsing import UsageError
from wikimcp.cli.show import error_value, print_json
from wikimcp.cli.sparql import sparql
from wikimcp.errors import Internal, SettingsError, VaultError, WikimcpError
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
    "cite": cite,
    "doctor": doctor,
    "manifest": verbs.manifest,
    "graph": graph,
    "index": verbs.index,
    "models": models,
    "eval": evaluate,
    **dict.fromkeys(BRIEFING_VERBS, briefing),
    **dict.fromkeys(authoring_verbs.AUTHORING_VERBS, authoring_verbs.run),
    "sparql": sparql,
    "install": install,
    "uninstall": uninstall,
    "hook": hook,
    "keys": keys,
}
_WRONG_USE = (UsageError, SettingsError, VaultError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 (the answer is an error), 2 (wrong use) or 130 (stopped)."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        one_blas_thread()
        few_malloc_arenas()
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
    except Exception as error:
        if words[:1] == ["hook"]:  # a client may take any other exit code for a refusal of the prompt
            print("{}")
            tell(str(error))
            return 0
        return _failed(error, words)


def _failed(error: Exception, words: Sequence[str]) -> int:
    if not isinstance(error, WikimcpError):  # the last seam: nobody above would say it in one line
        error = Internal(f"{type(error).__name__}: {error}", hint="Set WIKIMCP_DEBUG=1 to see where.")
    _complain(str(error), error_value(error) if _wants_json(words) else None)
    return 2 if isinstance(error, _WRONG_USE) else 1


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


def _wants_json(words: Sequence[str]) -> bool:
    """Tell whether a program reads stdout, even of a command line that could not be parsed.

    What ``serve`` writes there is the protocol's alone.
    """
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options and "serve" not in options


def _complain(line: str, value: Mapping[str, object] | None) -> None:
    """Say on stderr what is wrong, and on stdout as JSON where a program reads along."""
    if debug_wanted():
        traceback.print_exc()
    print(f"wikimcp: {' '.join(line.split())}", file=sys.stderr)
    if value is not None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            print_json({"error": value})
            sys.stdout.flush()


def _drop_output() -> None:
    """Point stdout at nothing, so that its last flush at exit does not complain either."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
