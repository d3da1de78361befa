"""A client's hook from its input to its output: whether to brief, what to ask for, how much to hand over.

Who makes the briefing is given as a callable. The hook is never in the way: whoever runs it turns
every failure into an empty output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from wikimcp.clients import antigravity, claude_code
from wikimcp.clients.hook_events import BadHookInput, HookEvent
from wikimcp.clients.session_gate import SessionGate

MOST_PROMPT = 20_000
USUAL_BUDGET = 6_000
_CHARACTERS_PER_TOKEN = 4
_ROOM_FOR_NOTES = 500
_CUT = "\n\n(The briefing was cut here: the client takes no more.)\n"


@dataclass(frozen=True, slots=True)
class BriefingRequest:
    """What is asked for, as the tool get_briefing takes it; ``budget`` in tokens."""

    pins: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    prompt: str = ""
    budget: int = USUAL_BUDGET
    scope_mode: str = "prefer"

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        return not (self.pins or self.clusters or self.prompt)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of get_briefing, without those that are empty."""
        given = {"pins": list(self.pins), "clusters": list(self.clusters), "prompt": self.prompt}
        rest = {"budget": self.budget, "scope_mode": self.scope_mode}
        return {name: value for name, value in given.items() if value} | rest


class Client(Protocol):
    """What a client's module says of its hook."""

    CLIENT: str
    MOST_CHARACTERS: int | None

    def read_event(self, payload: Mapping[str, Any]) -> HookEvent | None:
        """Read the input; None when there is nothing to do. Raises BadHookInput."""
        ...

    def reply(self, event: HookEvent, briefing: str) -> dict[str, Any]:
        """Return the output."""
        ...


HOOKED: Mapping[str, Client] = {
    claude_code.CLIENT: claude_code,
    antigravity.CLIENT: antigravity,
}
"""The clients that can be briefed by a hook."""


@dataclass(frozen=True, slots=True)
class Hook:
    """``brief`` makes the briefing, ``emit`` hands the output over (False: too late), ``tell`` logs."""

    client: Client
    folder: Path
    wanted: BriefingRequest
    brief: Callable[[BriefingRequest], str]
    emit: Callable[[Mapping[str, Any]], bool]
    tell: Callable[[str], None]

    def run(self, data: bytes) -> None:
        """Read the input and emit a briefing where one is due. Raises what goes wrong."""
        event = self.client.read_event(payload_of(data))
        if event is None:
            return
        gate = SessionGate(self.folder, self.client.CLIENT, event.session)
        with gate.entered(again=event.again) as shut:
            if shut:
                self.tell(shut)
                return
            gate.sweep()
            request, note = self._request(event)
            if request.empty:
                return
            gate.begin()
            briefing = self.brief(request).strip()
            if not briefing:
                self.tell("the wiki has nothing to say to this")
                return
            text = fitted(f"{note}{briefing}\n", self.client.MOST_CHARACTERS)
            if self.emit(self.client.reply(event, text)):
                gate.succeed()

    def _request(self, event: HookEvent) -> tuple[BriefingRequest, str]:
        """Return what to ask for, and a note where the client takes less than the budget."""
        prompt = event.prompt[:MOST_PROMPT].encode("utf-8", "replace").decode("utf-8")  # no half pairs
        asked = replace(self.wanted, prompt=prompt)
        most = self.client.MOST_CHARACTERS
        if most is None:
            return asked, ""
        fits = (most - _ROOM_FOR_NOTES) // _CHARACTERS_PER_TOKEN
        if asked.budget <= fits:
            return asked, ""
        note = (
            f"(Briefing budget: {fits:,} tokens instead of {asked.budget:,}, for this client takes under "
            f"{most + 100:,} characters from a hook. Call get_briefing for more.)\n\n"
        )
        return replace(asked, budget=fits), note


def payload_of(data: bytes) -> Mapping[str, Any]:
    """Read the input of a hook. Raises BadHookInput when it is not a JSON object."""
    try:
        payload = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadHookInput("the input is not JSON") from error
    if not isinstance(payload, dict):
        raise BadHookInput("the input is JSON but no object")
    return payload


def fitted(text: str, most: int | None) -> str:
    """Cut a text at a line end so that it stays within ``most`` UTF-16 units (None: no limit)."""
    if most is None or _units(text) <= most:
        return text
    room = most - len(_CUT)
    while _units(text) > room:
        text = text[: max(len(text) - max((_units(text) - room) // 2, 1), 0)]
    line = text.rfind("\n")
    return (text[:line] if line > 0 else text) + _CUT


def _units(text: str) -> int:
    """Count as JavaScript does, which is what the clients are written in."""
    return len(text) + sum(character > "\uffff" for character in text)
