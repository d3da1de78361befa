"""Config files as people have them, for every client: the bytes matter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

MCP_JSON = b'{\n  "mcpServers": {\n    "github": {\n      "type": "http",\n      "url": "https://example.org/mcp"\n    }\n  }\n}\n'
CLAUDE_SETTINGS = (
    b'{\n\t"permissions": {"allow": ["Bash(make test)"], "deny": []},\n'
    b'\t"hooks": {\n\t\t"UserPromptSubmit": [\n\t\t\t{"hooks": [{"type": "command", "command": "./log.sh"}]}\n\t\t],\n'
    b'\t\t"Stop": []\n\t},\n\t"model": "opus"\n}'
)
CURSOR = b'\xef\xbb\xbf{\r\n    // our own servers\r\n    "mcpServers": {\r\n        "db": { "command": "db-mcp", "args": [], }, // prod\r\n    },\r\n}\r\n'
VSCODE = (
    b'{\n  "inputs": [\n    {"type": "promptString", "id": "key", "password": true}\n  ],\n  "servers": {}\n}'
)
ANTIGRAVITY_HOOKS = (
    b'{"lint": {"PostToolUse": [{"matcher": "run_command", "hooks": [{"command": "./lint.sh"}]}]}}\n'
)
CODEX = (
    b'# my codex\r\nmodel = "o9"   # the good one\r\n\r\n[mcp_servers.db]\r\ncommand = "db-mcp"\r\n'
    b'args = [\r\n  "--ro", # never write\r\n]\r\n[tools]\r\nweb_search = true'
)
GEMINI = b'{"theme":"GitHub","mcpServers":{"a":{"command":"a"}},"ui":{"hideTips":true}}'
CLAUDE_MD = "# Notes for agents\n\nUse tabs.\nRøde grød.".encode()
AGENTS_MD = b"# Agents\r\n\r\n- run `make test`\r\n"

BEFORE: Mapping[str, Mapping[str, bytes]] = {
    "claude-code": {".mcp.json": MCP_JSON, ".claude/settings.json": CLAUDE_SETTINGS, "CLAUDE.md": CLAUDE_MD},
    "antigravity": {
        ".agents/mcp_config.json": b"",
        ".agents/hooks.json": ANTIGRAVITY_HOOKS,
        ".agents/skills/mine/SKILL.md": b"---\nname: mine\n---\n",
        "AGENTS.md": AGENTS_MD,
    },
    "cursor": {".cursor/mcp.json": CURSOR, ".cursor/rules/a.mdc": b"x"},
    "vscode": {".vscode/mcp.json": VSCODE},
    "codex": {".codex/config.toml": CODEX},
    "gemini": {".gemini/settings.json": GEMINI},
}


def put(project: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a project."""
    for name, data in files.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def tree(project: Path) -> dict[str, bytes | str | None]:
    """Everything in a project: bytes of files, targets of links, None for folders."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found
