"""The real command serving a real vault over HTTP, as a process of its own, and its API keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.edges.processes import PATIENCE, HttpServer, environment
from tests.edges.test_http import JSON_HEADERS, Reply, ask

PAGES = {
    "open.md": "---\nsources: [RFC 9110, minutes]\n---\n# Open\n\nSee [[deed 7]]. The barley is in.\n",
    "valve.md": "---\ntags: [ops]\nsource_refs: RFC 9110\n---\n# Valve\n\nThe valve closes at 40 C. #wet\n",
    "ops/a b.md": "---\ntags: [ops]\ntype: runbook\n---\n# Spaced\n\nThe mill grinds.\n\n## Steps\n\nStop.\n",
    "board/kestrel.md": (
        "---\nvisibility: board\naliases: [deed 7]\ntags: [kestreltag]\nsources: [the kestrel deed]\n---\n"
        "# Kestrel\n\nThe kestrel clause ends in Quillhaven.\n"
    ),
    "draft.md": "---\ndraft: true\nsources: [draft source]\n---\n# Draft\n\nThe osprey memo.\n",
}


class WikiFolder:
    """A vault, a state folder and a file of keys below one folder."""

    def __init__(self, folder: Path) -> None:
        self.vault, self.state, self.keys = folder / "vault", folder / "state", folder / "keys" / "keys.json"
        for path, text in PAGES.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    @property
    def env(self) -> dict[str, str]:
        named = {"WIKIMCP_HTTP_KEYS_FILE": str(self.keys), "WIKIMCP_STATE_DIR": str(self.state)}
        return environment(**named, WIKIMCP_EMBEDDER="none", PYTHONWARNINGS="error")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "wikimcp", *words],
            cwd=self.vault,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def create_key(self, name: str, *options: str) -> str:
        """Return the text of a new key."""
        done = self.run("keys", "create", name, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def served(self, *options: str, host: str = "127.0.0.1") -> Iterator[HttpServer]:
        """Serve the vault; the process is killed at the end if it still runs."""
        command = [sys.executable, "-m", "wikimcp", "serve", str(self.vault), "--http", f"{host}:0", *options]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.vault
        ) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline()
                while line and "serving http://" not in line:
                    line = process.stderr.readline()
                assert line, "the server did not start"
                yield HttpServer(process, line.split("serving ")[1].strip())
            finally:
                process.kill()


def get(server: HttpServer, path: str, key: str = "", **headers: str) -> Reply:
    """Ask with GET; ``key`` goes as a Bearer token."""
    return ask(server, "GET", path, headers={**bearer(key), **headers})


def post(server: HttpServer, path: str, body: object, key: str = "", **headers: str) -> Reply:
    """Send a JSON body."""
    sent = json.dumps(body).encode()
    return ask(server, "POST", path, body=sent, headers={**JSON_HEADERS, **bearer(key), **headers})


def bearer(key: str) -> dict[str, str]:
    """Return the header that carries a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def tool(server: HttpServer, name: str, key: str = "", /, **arguments: object) -> dict[str, Any]:
    """Call a tool over /mcp and return its structured content."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    reply = post(server, "/mcp", message, key)
    assert reply.status == 200, reply.text
    content: dict[str, Any] = reply.body["result"]["structuredContent"]
    return content


def in_path(slug: str) -> str:
    """Return a slug as it stands in a path."""
    return quote(slug)


def mode_of(path: Path) -> int:
    """Return the permission bits of a file."""
    return os.stat(path).st_mode & 0o777
