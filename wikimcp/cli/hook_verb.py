"""`wikimcp hook`: brief a client's session, and never be in its way.

Whatever happens (bad input, a dead server, no vault, no state folder, ten seconds over), it prints
one JSON object and leaves with exit code 0: a client may take any other for a refusal of the prompt.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import settings_flags
from wikimcp.cli.verbs import local_caller
from wikimcp.errors import TooLarge, Unavailable, WikimcpError
from wikimcp.settings import HookSettings, debug_wanted, load_hook_settings, load_settings

if TYPE_CHECKING:
    from wikimcp.clients.briefing_hook import BriefingRequest
    from wikimcp.models import Caller
    from wikimcp.service import WikiService

SECONDS = 10.0
INDEX_SECONDS = 8.0
_MOST_INPUT = 64 * 2**20
_LEAST_BUNDLE = 500  # tokens, of the tool assemble_bundle


class _Output:
    """Standard output, on which one object is written by whoever comes first."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._written = False

    def emit(self, reply: Mapping[str, Any]) -> bool:
        """Write the object; False when one was written before."""
        with self._mutex:
            if self._written:
                return False
            self._written = True
            sys.stdout.write(json.dumps(reply) + "\n")  # ASCII alone: any locale can write it
            sys.stdout.flush()
            return True


def hook(arguments: argparse.Namespace) -> int:
    """Brief the session that stdin tells of; returns 0."""
    gc.disable()  # a process of half a second: looking for garbage is a tenth of its work
    output = _Output()
    worker = threading.Thread(target=_work, args=(arguments, output), daemon=True)
    worker.start()
    worker.join(SECONDS)
    late = worker.is_alive()
    if late:
        tell(f"no briefing within {SECONDS:.0f} seconds")
    output.emit({})
    if late:
        os._exit(0)  # whatever the thread waits for, nobody waits for it
    return 0


def tell(reason: str) -> None:
    """Say on stderr, in one line, why there is no briefing."""
    line = " ".join(reason.split())
    sys.stderr.write(f"wikimcp hook: {line[:500].encode('ascii', 'backslashreplace').decode('ascii')}\n")


def _work(arguments: argparse.Namespace, output: _Output) -> None:
    try:
        _brief(arguments, output)
    except WikimcpError as error:
        tell(str(error))
    except OSError as error:
        tell(f"{type(error).__name__}: {error.strerror or 'no state can be kept'}")
    except BaseException as error:  # the last seam: nothing may reach the client
        if debug_wanted():
            raise
        tell(f"{type(error).__name__}")


def _brief(arguments: argparse.Namespace, output: _Output) -> None:
    from wikimcp.clients.briefing_hook import HOOKED, BriefingRequest, Hook
    from wikimcp.clients.hook_events import BadHookInput

    client = HOOKED.get(arguments.client)
    if client is None:
        raise BadHookInput(
            f"'{arguments.client[:80]}' is no client with a hook", hint=f"There are: {', '.join(HOOKED)}."
        )
    data = _input()
    given = load_hook_settings()
    for note in given.notes:
        tell(note)
    wanted = BriefingRequest(
        pins=tuple(arguments.pin or given.pins),
        clusters=tuple(arguments.cluster or given.clusters),
        budget=given.budget,
        scope_mode=given.scope_mode,
    )

    def brief(request: BriefingRequest) -> str:
        return _asked_of_server(given, request) if given.base_url else _made_here(arguments, given, request)

    Hook(client, given.state_folder, wanted, brief, output.emit, tell).run(data)


def _input() -> bytes:
    """Read all of stdin, so that the client can write it; a monstrous one is read but not kept."""
    data = sys.stdin.buffer.read(_MOST_INPUT)
    if not sys.stdin.buffer.read(1):
        return data
    while sys.stdin.buffer.read(2**20):
        pass
    raise TooLarge("the input is over 64 MiB")


def _asked_of_server(given: HookSettings, request: BriefingRequest) -> str:
    from wikimcp.clients.rest_briefing import ask_server

    return ask_server(given.base_url, request, api_key=given.api_key, basic_auth=given.basic_auth)


def _made_here(arguments: argparse.Namespace, given: HookSettings, request: BriefingRequest) -> str:
    flags = settings_flags(arguments)
    if given.vault:
        flags.setdefault("vault", given.vault)
    settings = load_settings(flags)
    from wikimcp.app import build_service
    from wikimcp.index.history import GLANCE_SECONDS

    service = build_service(settings, background=False)
    too_long = threading.Timer(INDEX_SECONDS, service.close)  # ends a build in good order
    too_long.daemon = True
    too_long.start()
    try:
        service.wait_ready("floor", history_seconds=GLANCE_SECONDS)
        if not service.ready():
            raise Unavailable("the index is still being made", hint="`wikimcp index` makes it now.")
        return _briefing(service, request, local_caller(settings))
    finally:
        too_long.cancel()
        service.close()


def _briefing(service: WikiService, request: BriefingRequest, caller: Caller) -> str:
    """Return what get_briefing says; where that tool is not there, a bundle for the prompt."""
    if "get_briefing" not in service.off_tools():
        return service.call("get_briefing", request.arguments(), caller).text
    if not request.prompt:
        return ""
    asked = {"query": request.prompt, "token_budget": max(request.budget, _LEAST_BUNDLE)}
    answer = service.call("assemble_bundle", asked, caller)
    return answer.text if (answer.structured or {}).get("sections") else ""
