"""Claude Code: `.mcp.json`, hooks in `.claude/settings.json`, the skill, and a block in `CLAUDE.md`.

The hook runs on UserPromptSubmit, and on SessionStart after a compaction or `/clear`, which take a
briefing out of the context. What it adds is kept under 10,000 characters: Claude Code puts more
than that into a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wikimcp.clients.hook_events import BadHookInput, HookEvent, text_of
from wikimcp.clients.parts import JsonEntry, Part
from wikimcp.clients.skill_file import skills_in
from wikimcp.clients.text_blocks import TextBlock
from wikimcp.clients.wiring import Wiring, server_entry, standing_instructions

CLIENT = "claude-code"
MOST_CHARACTERS: int | None = 9_900
_SETTINGS = ".claude/settings.json"
_BRIEFED_AGAIN = ("compact", "clear")


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for Claude Code."""
    return (
        server_entry(".mcp.json", "mcpServers", wiring, type="stdio"),
        JsonEntry(
            _SETTINGS,
            ("hooks", "UserPromptSubmit"),
            lambda mark: {"hooks": [wiring.hook(CLIENT, mark)]},
            item=True,
        ),
        JsonEntry(
            _SETTINGS,
            ("hooks", "SessionStart"),
            lambda mark: {"matcher": "|".join(_BRIEFED_AGAIN), "hooks": [wiring.hook(CLIENT, mark)]},
            item=True,
        ),
        *skills_in(".claude/skills", extractor=wiring.extractor),
        TextBlock("CLAUDE.md", lambda _: standing_instructions(wiring)),
    )


def read_event(payload: Mapping[str, Any]) -> HookEvent | None:
    """Read what Claude Code sends; None for an event that is not briefed. Raises BadHookInput."""
    name = text_of(payload, "hook_event_name") or "UserPromptSubmit"
    session = text_of(payload, "session_id")
    if not session:
        raise BadHookInput("the input has no session_id")
    if name == "SessionStart":
        again = payload.get("source") in _BRIEFED_AGAIN
        return HookEvent(session=session, name=name, again=True) if again else None
    if name != "UserPromptSubmit":
        return None
    return HookEvent(session=session, name=name, prompt=text_of(payload, "prompt"))


def reply(event: HookEvent, briefing: str) -> dict[str, Any]:
    """Return what Claude Code reads from the hook."""
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": briefing}}
