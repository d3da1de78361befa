"""What a client's hook is told, in one form for all clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wikimcp.errors import WikimcpError


class BadHookInput(WikimcpError):
    """What the client sent is not what its hooks are told to get."""

    code = "hook_input"


@dataclass(frozen=True, slots=True)
class HookEvent:
    """``session`` tells sessions apart; ``again``: brief this session anew, whatever it has had."""

    session: str
    name: str
    prompt: str = ""
    again: bool = False


def text_of(payload: Mapping[str, Any], key: str) -> str:
    """Return a text of the input; empty when it is missing or something else."""
    value = payload.get(key)
    return value.strip() if isinstance(value, str) else ""
