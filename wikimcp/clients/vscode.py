"""VS Code: the server in `.vscode/mcp.json`, under the key `servers`.

As its documentation has it on the page "MCP configuration reference": `type` stdio and `command` are
required. Sessions of other agents in VS Code are handed the servers of this file, as nothing in it asks for
input.
"""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.clients.parts import Part
from wikimcp.clients.wiring import Wiring, server_entry

CLIENT = "vscode"


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for VS Code."""
    return (server_entry(".vscode/mcp.json", "servers", wiring, type="stdio"),)
