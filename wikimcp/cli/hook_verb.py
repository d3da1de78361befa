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
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import settings_flags
from wikimcp.cli.verbs import local_caller
from wikimcp.errors import StateError, TooLarge, Unavailable, WikimcpError
from wikimcp.settings import HookSettings, debug_wanted, load_hook_settings, load_settings

if TYPE_CHECKING:
    from wikimcp.clients.briefing_hook import BriefingRequest
    from wikimcp.models import Caller
    from wikimcp.service import WikiService

SECONDS = 10.0
INDEX_SECONDS = 8.0
PASSING_SECONDS = 5.0  # for an index that cannot be kept
_MOST_INPUT = 64 * 2**20
_LEAST_BUNDLE = 500  # tokens, of the tool assemble_bundle


class _Output:
    """Standard output, on which one object is written by whoever comes first.

    ``tidy`` is to be called before the process is left in the middle of something.
    """

    def __init__(self) -> None:
        self.tidy: Callable[[], None] = lambda: None
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
        output.tidy()
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
        if given.base_url:
            return _asked_of_server(given, request)
        return _made_here(arguments, given, request, output)

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


def _made_here(
    arguments: argparse.Namespace, given: HookSettings, request: BriefingRequest, output: _Output
) -> str:
    flags = settings_flags(arguments)
    if given.vault:
        flags.setdefault("vault", given.vault)
    settings = load_settings(flags)
    from wikimcp.app import build_service
    from wikimcp.index.history import GLANCE_SECONDS

    service = build_service(settings, background=False)
    state = service.keeper.store.state
    output.tidy = state.close
    # What is made for this one answer and thrown away is not worth the wait for vectors.
    seconds, vectors = (PASSING_SECONDS, "none") if state.temporary else (INDEX_SECONDS, "floor")
    ended = threading.Event()

    def end() -> None:
        ended.set()
        service.close()

    too_long = threading.Timer(seconds, end)  # ends a build in good order
    too_long.daemon = True
    too_long.start()
    try:
        service.wait_ready(vectors, history_seconds=GLANCE_SECONDS)
        if not service.ready():
            raise StateError("the index is still being made")
        return _briefing(service, request, local_caller(settings))
    except StateError as error:
        if not ended.is_set():
            raise
        reason = state.note or "the index is still being made"
        raise Unavailable(reason, hint="`wikimcp index` makes it, where it can be kept.") from error
    finally:
        too_long.cancel()
        too_long.join()  # it may be closing: a folder that is there for a moment has to go
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
