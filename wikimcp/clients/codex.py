"""Codex: the server as a table in `.codex/config.toml` (read in projects that the user trusts).

As its documentation has it on the pages "Model Context Protocol" and "Configuration Reference": a table
`mcp_servers.NAME` with `command` and `args`. Its ten seconds for the start of a server are plenty.
"""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.clients.parts import Part
from wikimcp.clients.text_blocks import TomlTable
from wikimcp.clients.wiring import Wiring

CLIENT = "codex"


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for Codex."""
    return (TomlTable(".codex/config.toml", "mcp_servers", wiring.server),)
