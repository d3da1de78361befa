"""Antigravity: `.agents/mcp_config.json`, `.agents/hooks.json`, the skill, and a block in `AGENTS.md`.

The hook runs before each call of the model and is silent after the first success. Antigravity
reads its hooks file as strict JSON and sends no prompt; the first one stands in the transcript.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wikimcp.clients.hook_events import BadHookInput, HookEvent, text_of
from wikimcp.clients.marks import Mark
from wikimcp.clients.parts import JsonEntry, Part
from wikimcp.clients.skill_file import skills_in
from wikimcp.clients.text_blocks import TextBlock
from wikimcp.clients.wiring import Wiring, server_entry, standing_instructions

CLIENT = "antigravity"
MOST_CHARACTERS: int | None = None
_MOST_TRANSCRIPT = 2**20
_REQUEST = re.compile(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for Antigravity."""
    return (
        server_entry(".agents/mcp_config.json", "mcpServers", wiring),
        JsonEntry(
            ".agents/hooks.json",
            ("wikimcp-briefing",),
            lambda mark: {"PreInvocation": _handlers(wiring, mark)},
        ),
        *skills_in(".agents/skills", extractor=wiring.extractor),
        TextBlock("AGENTS.md", lambda _: standing_instructions(wiring)),
    )


def _handlers(wiring: Wiring, mark: Mark) -> list[dict[str, Any]]:
    """Return one handler in both forms that Antigravity has had for this event.

    Versions that group handlers by matcher read `matcher` and `hooks`; versions with a flat list read
    the command beside them. Whichever is read, unknown keys are passed over, and a hook that ran
    twice would be silent the second time.
    """
    handler = wiring.hook(CLIENT, mark)
    return [{"matcher": "*", "hooks": [handler], **handler}]


def read_event(payload: Mapping[str, Any]) -> HookEvent | None:
    """Read what Antigravity sends. Raises BadHookInput when it names no session."""
    transcript = text_of(payload, "transcriptPath") or text_of(payload, "transcript_path")
    session = transcript or text_of(payload, "conversationId")
    if not session:
        raise BadHookInput("the input has neither transcriptPath nor conversationId")
    prompt = text_of(payload, "prompt") or text_of(payload, "userPrompt")
    return HookEvent(session=session, name="PreInvocation", prompt=prompt or _first_request(transcript))


def reply(event: HookEvent, briefing: str) -> dict[str, Any]:
    """Return what Antigravity reads from the hook, in both forms that it has had."""
    return {"injectSteps": [{"ephemeralMessage": briefing}], "additionalContext": briefing}


def _first_request(transcript: str) -> str:
    """Return the user's first message in a transcript (JSON, a line each); empty when it holds none."""
    try:
        path = Path(transcript)
        if not transcript or not path.is_file():
            return ""
        with path.open("rb") as file:
            lines = file.read(_MOST_TRANSCRIPT).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("type") == "USER_INPUT":
            content = text_of(row, "content")
            found = _REQUEST.search(content)
            return found[1] if found else content
    return ""
