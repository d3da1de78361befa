"""What an authoring tool is: its parameters, what it runs, and what a client may take for granted of it.

A tool calls one verb of `wikimcp.authoring` and returns that verb's report as JSON, snake_case; the
profile puts it on the wire. Adding one is a file ``authoring_tools/<name>.py`` with a ``TOOL`` and a
line in `registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from wikimcp.authoring.opening import remembered
from wikimcp.authoring.workspace import Workspace
from wikimcp.guide.specs import ToolHints
from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params
from wikimcp.tools.rendering import render_facts

READS = ToolHints()
WRITES = ToolHints(read_only=False, idempotent=True)
"""Adds and updates, and twice is the same as once."""
REPLACES = ToolHints(read_only=False, destructive=True, idempotent=True)
"""Takes the place of what was there, or removes it."""
FETCHES = ToolHints(read_only=False, idempotent=True, open_world=True)
"""Adds, and may reach out of this machine."""

LONGEST_CONTENT = 33_554_432
"""Characters that a text argument may have before it is cut: so many that a verb's own limit comes first."""

DryRun = Annotated[bool, Field(description="Only say what would be written, with a diff")]
AllowSecrets = Annotated[
    bool,
    Field(description="Write even what looks like a secret or personal data; only when the user said so"),
]


class WriteParams(Params):
    """What every tool that writes takes beside its own arguments."""

    dry_run: DryRun = False
    allow_secrets: AllowSecrets = False


@dataclass(frozen=True, slots=True)
class Match:
    """One section that a search over the compiled wiki found: where it stands, and its text."""

    path: str
    title: str
    heading_path: tuple[str, ...]
    lines: tuple[int, int]
    text: str
    handle: str


Search = Callable[[str, str, int], list[Match]]
"""Find sections: the question, ``lexical``, ``dense`` or ``hybrid``, and how many at most."""

VerifyHandles = Callable[[tuple[str, ...]], Mapping[str, str]]
"""Return the status of each citation handle or ``cite://`` uri; ``current`` is the good one."""


Examine = Callable[[Callable[[Reading], Any]], Any]
"""Run a function over the pages of the compiled wiki, proposed ones too; returns what it returns."""


@dataclass(frozen=True, slots=True)
class AuthoringContext:
    """What a tool needs beside its arguments.

    ``file_links``: whether answers may hold ``file://`` addresses of this machine. ``allow_fetch``:
    whether the operator lets sources be fetched from the web. ``remembers``: whether raw roots and profile
    are those of the wiki's manifest, as none are set. ``cap_tokens`` is the size that an answer may have.
    """

    workspace: Workspace
    search: Search
    verify: VerifyHandles
    examine: Examine
    file_links: bool = False
    allow_fetch: bool = False
    remembers: bool = True
    cap_tokens: int = 8_000

    def workspace_for(self, params: WriteParams) -> Workspace:
        """Return the workspace as a call asked for it. Raises WikiError for a manifest that is broken."""
        now = remembered(self.workspace) if self.remembers else self.workspace
        return replace(now, dry_run=params.dry_run, allow_secrets=params.allow_secrets)


P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class AuthoringTool(Generic[P]):
    """One tool. ``run`` returns a report as JSON, snake_case; ``render`` the same facts as text.

    ``render`` is given the report in its wire form, camelCase.
    """

    name: str
    title: str
    description: str
    params: type[P]
    run: Callable[[P, AuthoringContext], Mapping[str, Any]]
    hints: ToolHints
    render: Callable[[Mapping[str, Any]], str] = render_facts


AnyAuthoringTool = AuthoringTool[Any]
