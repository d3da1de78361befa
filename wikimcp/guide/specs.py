"""What a service tells of its tools, resources and prompts, and how it answers, as plain values for edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from wikimcp.models import Caller


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What a client may take for granted of a tool, as MCP's annotations say it."""

    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One registered tool; the schemas are JSON Schema objects (``output_schema`` None: text only)."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    hints: ToolHints = ToolHints()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's result: ``text`` complete by itself, ``structured`` the same facts (None: text only)."""

    text: str
    structured: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class BriefingAnswer:
    """A briefing: ``markdown`` for agents, ``data`` the same facts as JSON for programs."""

    markdown: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """One readable resource; ``tokens`` is its size (edges add it to the description)."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """One prompt with its arguments, in order."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


class ToolExtension(Protocol):
    """Tools and prompts beside those of the vault, for some callers only."""

    def tools(self, caller: Caller | None) -> list[ToolSpec]:
        """Return what a caller may use; None is nobody in particular."""

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        """Run one of ``tools(caller)``. Raises WikimcpError."""

    def prompts(self, caller: Caller | None) -> list[PromptSpec]:
        """Return the prompts for a caller."""

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of one of ``prompts``. Raises BadArgument."""

    def close(self) -> None:
        """Release what it holds. Idempotent."""
