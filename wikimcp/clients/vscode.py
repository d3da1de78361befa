"""VS Code: the server in `.vscode/mcp.json`, under the key `servers`."""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.clients.parts import Part
from wikimcp.clients.wiring import Wiring, server_entry

CLIENT = "vscode"


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for VS Code."""
    return (server_entry(".vscode/mcp.json", "servers", wiring, type="stdio"),)
