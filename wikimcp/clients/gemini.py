"""Gemini CLI: the server in `.gemini/settings.json`, under the key `mcpServers`.

As its documentation has it on the page "MCP servers with Gemini CLI": `command` and `args` make a local
server. `trust` is left unset, so that the user is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from wikimcp.clients.parts import Part
from wikimcp.clients.wiring import Wiring, server_entry

CLIENT = "gemini"


def parts(wiring: Wiring) -> Sequence[Part]:
    """Return what is written into a project for Gemini CLI."""
    return (server_entry(".gemini/settings.json", "mcpServers", wiring),)
