"""Cursor: the server in `.cursor/mcp.json`, under the key `mcpServers`.

As its documentation has it on the page "Model Context Protocol (MCP)": a project's file, read beside the
user's own; a local server has `type` stdio, `command` and `args`.
"""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.clients.parts import Part
from wikimcp.clients.wiring import Wiring, server_entry

CLIENT = "cursor"


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for Cursor."""
    return (server_entry(".cursor/mcp.json", "mcpServers", wiring, type="stdio"),)
