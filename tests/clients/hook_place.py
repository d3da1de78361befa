"""A place to run hooks in: a vault, a cache, an environment; and a server that can be asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LAMP = "# Lamp\n\n## Trimming\n\nThe lamp is trimmed at dusk.\n\n## Oil\n\nWhale oil, two gallons a week.\n"
PROMPT = {"session_id": "abc-1", "hook_event_name": "UserPromptSubmit", "prompt": "when is the lamp trimmed?"}
RUNNING = {"conversationId": "c-1", "invocationNum": 1, "prompt": "when is the lamp trimmed?"}


@dataclass
class Place:
    """A vault, a cache and an environment to run hooks in."""

    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        own = {
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "WIKIMCP_VAULT": str(self.folder / "wiki"),
            "WIKIMCP_STATE_DIR": str(self.folder / "state"),
            "WIKIMCP_EMBEDDER": "none",
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
        }
        return {name: value for name, value in {**own, **self.more}.items() if value}

    def start(self, client: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "wikimcp", "hook", client, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.folder,
        )

    def run(self, client: str, given: Mapping[str, Any] | bytes, *words: str) -> tuple[dict[str, Any], str]:
        """Run a hook; its output and the reason on stderr. It must leave with 0 and one JSON object."""
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        process = self.start(client, *words)
        out, err = process.communicate(data, timeout=60)
        assert process.returncode == 0
        assert out.count(b"\n") == 1 and b"Traceback" not in err
        reply = json.loads(out)
        assert isinstance(reply, dict)
        return reply, err.decode()

    def states(self) -> list[str]:
        """Tell the kinds of state files that are there."""
        folder = self.folder / "cache" / "wikimcp-briefing"
        return (
            sorted(file.suffix for file in folder.iterdir() if file.suffix != ".lock")
            if folder.exists()
            else []
        )


def make_place(folder: Path) -> Place:
    """Write a small wiki into a folder."""
    (folder / "wiki").mkdir()
    (folder / "wiki" / "lamp.md").write_text(LAMP, "utf-8")
    return Place(folder)


@dataclass
class Asked:
    """What a server was asked, and what it answers."""

    status: int = 200
    body: bytes = b"# Briefing\n\nThe lamp: lamp @ 3.\n"
    seen: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving() -> Iterator[Asked]:
    """Run a server that notes what it is asked."""
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked.seen.append((self.command, self.path, headers, json.loads(body or b"null")))
            self.send_response(asked.status)
            if asked.status == 302:
                self.send_header("Location", f"{asked.url}/elsewhere")
            self.send_header("Content-Length", str(len(asked.body)))
            self.end_headers()
            self.wfile.write(asked.body)

        do_GET = do_POST = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    asked.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield asked
    httpd.shutdown()
    thread.join()
    httpd.server_close()
