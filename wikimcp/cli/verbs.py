"""What most verbs do: load the settings, ask the service, print. One function for each verb.

`doctor`, `models` and `eval` have modules of their own. The service and all that is heavy are
imported when a verb opens a vault, never before.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import UsageError, settings_flags
from wikimcp.cli.progress import StageProgress
from wikimcp.cli.show import print_facts, print_json, print_table, print_text
from wikimcp.models import Caller
from wikimcp.settings import Settings, load_settings

if TYPE_CHECKING:
    from wikimcp.service import ToolAnswer, WikiService

_FILTERS = ("cluster", "type", "path_prefix", "author", "modified_after", "modified_before", "include_drafts")


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Load the settings for a command line; a vault named as an argument counts as ``--vault``."""
    flags = settings_flags(arguments)
    if path := getattr(arguments, "path", None):
        flags["vault"] = path
    return load_settings(flags)


def local_caller(settings: Settings) -> Caller:
    """Return who asks on this machine's own command line: its operator."""
    return Caller(name="cli", may_see_drafts=settings.drafts.allow, operator=True)


@contextmanager
def opened(
    settings: Settings, *, vectors: str, quiet: bool = True, whole_history: bool = False
) -> Iterator[WikiService]:
    """Open a vault, wait until its index answers, close it at the end.

    ``vectors`` says how far to wait, as in ``WikiService.wait_ready``; ``whole_history`` that git's is read
    however long it is.
    """
    from wikimcp.app import build_service
    from wikimcp.index.history import COMMAND_SECONDS, PASS_SECONDS

    service = build_service(settings, background=False)
    seconds = PASS_SECONDS if whole_history else COMMAND_SECONDS
    try:
        with StageProgress(quiet=quiet) as progress:
            service.wait_ready(vectors, progress, history_seconds=seconds)
        yield service
    finally:
        service.close()


def serve(arguments: argparse.Namespace) -> int:
    """Serve over stdio, or over HTTP with ``--http``."""
    if arguments.profile not in ("knowledge", "authoring"):
        hint = "There are knowledge (the default) and authoring."
        raise UsageError(f"there is no profile '{arguments.profile[:40]}'", hint=hint)
    if arguments.profile == "authoring":
        from wikimcp.cli.authoring_server import authoring_setup

        settings, authoring = authoring_setup(arguments)
    else:
        settings, authoring = settings_of(arguments), None
    http = None if arguments.http is None else http_address(arguments.http, settings)
    if http is None:
        from wikimcp.edges.stdio import claim_stdout

        claim_stdout()  # before anything is imported that might print
    from wikimcp import app

    return app.serve(settings, http=http, authoring=authoring)


def http_address(text: str, settings: Settings) -> tuple[str, int]:
    """Read ``HOST:PORT``, ``[V6]:PORT``, ``HOST``, ``PORT`` or nothing; the settings give what is missing."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = ("", text) if text.isdecimal() else (text, "")
    host = host.removeprefix("[").removesuffix("]") or settings.http.host
    if port and not (port.isdecimal() and int(port) < 65_536):
        raise UsageError(f"--http takes HOST:PORT, not '{text[:80]}'", hint="As in --http 127.0.0.1:8808.")
    return host, int(port) if port else settings.http.port


def bundle(arguments: argparse.Namespace) -> int:
    """Print what assemble_bundle gives for a question."""
    asked = _question(arguments) | _given(arguments, "mode", "limit", "token_budget")
    return _ask(arguments, "assemble_bundle", asked, dense=arguments.mode != "lexical")


def search(arguments: argparse.Namespace) -> int:
    """Print what retrieve_context gives for a question."""
    asked = _question(arguments) | _given(arguments, "max_pages", "chunks_per_page")
    return _ask(arguments, "retrieve_context", asked, dense=True)


def read(arguments: argparse.Namespace) -> int:
    """Print what read_pages gives; 1 when a page could not be read."""
    asked = {"slugs": arguments.slugs} | _given(arguments, "heading", "cursor", "include_drafts")
    if arguments.outline:
        asked["format"] = "outline"
    return _ask(arguments, "read_pages", asked)


def page(arguments: argparse.Namespace) -> int:
    """Print what get_page gives."""
    return _ask(arguments, "get_page", {"slug": arguments.slug} | _given(arguments, "include_drafts"))


def call(arguments: argparse.Namespace) -> int:
    """Call any tool with JSON arguments."""
    text = sys.stdin.read() if arguments.arguments == "-" else arguments.arguments
    try:
        asked = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"the arguments are not JSON ({error})", hint="As in '{\"limit\": 5}'.") from error
    if not isinstance(asked, dict):
        raise UsageError("the arguments are JSON but no object", hint="As in '{\"limit\": 5}'.")
    return _ask(arguments, arguments.tool, asked, dense=True)


def tools(arguments: argparse.Namespace) -> int:
    """List the tools on offer, and the others with the reason."""
    with opened(settings_of(arguments), vectors="none") as service:
        on, off = service.tools(), service.off_tools()
    if getattr(arguments, "json", False):
        print_json(
            {
                "tools": [
                    {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
                    for tool in on
                ],
                "off": dict(off),
            }
        )
        return 0
    rows = [(tool.name, "on", _first_sentence(tool.description)) for tool in on]
    print_table(
        ["tool", "state", "what it returns, or why it is off"],
        [*rows, *((n, "off", r) for n, r in off.items())],
    )
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print the state of index and backends."""
    settings = settings_of(arguments)
    with opened(settings, vectors="none") as service:
        return _facts(arguments, service.status(local_caller(settings)))


def manifest(arguments: argparse.Namespace) -> int:
    """Print the manifest of the vault."""
    settings = settings_of(arguments)
    with opened(settings, vectors="none") as service:
        return _facts(arguments, service.manifest(local_caller(settings)))


def index(arguments: argparse.Namespace) -> int:
    """Bring the index up to date, or build it anew, with progress on stderr."""
    from wikimcp.app import build_service
    from wikimcp.index.history import PASS_SECONDS

    settings = settings_of(arguments)
    service = build_service(settings, background=False)
    try:
        with StageProgress() as progress:
            if arguments.rebuild:
                service.rebuild(progress)
            service.wait_ready("none", progress, history_seconds=PASS_SECONDS)
            if not arguments.rebuild:  # which has just read every file
                service.verify(progress)
            service.wait_ready("all", progress)
        whole = getattr(arguments, "json", False)
        status = service.status(local_caller(settings), details=whole)
    finally:
        service.close()
    brief = {name: status[name] for name in ("index", "files", "embedders", "notes") if status.get(name)}
    return _facts(arguments, status if whole else brief)


def _ask(arguments: argparse.Namespace, tool: str, asked: Mapping[str, Any], *, dense: bool = False) -> int:
    """Call one tool and print its answer; 1 when it holds the error of a page."""
    settings = settings_of(arguments)
    with opened(settings, vectors="floor" if dense else "none") as service:
        answer: ToolAnswer = service.call(tool, asked, local_caller(settings))
    if getattr(arguments, "json", False):
        print_json(answer.structured if answer.structured is not None else {"text": answer.text})
    else:
        print_text(answer.text)
    pages = (answer.structured or {}).get("pages")
    failed = isinstance(pages, list) and any(isinstance(item, dict) and "error" in item for item in pages)
    return 1 if failed else 0


def _question(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the query and its filters."""
    asked: dict[str, Any] = {"query": " ".join(arguments.words)} | _given(arguments, *_FILTERS)
    if arguments.tag:
        asked["tags"] = arguments.tag
    return asked


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return those arguments that were given; the tool itself checks their values."""
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value not in (None, False)}


def _facts(arguments: argparse.Namespace, facts: Mapping[str, Any]) -> int:
    if getattr(arguments, "json", False):
        print_json(facts)
    else:
        print_facts(facts)
    return 0


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]
