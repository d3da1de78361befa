"""Real server processes for the tests: a stdio server to speak raw lines to, and an HTTP server."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 30.0
"""Seconds after which something is taken to hang."""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def environment(**more: str) -> dict[str, str]:
    """Return the variables a server process gets: few, so that nothing of the test run leaks in."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "SYSTEMROOT") if key in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default", **more}


def call(number: int, tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()


def answers(*messages: Mapping[str, Any] | bytes, env: Mapping[str, str] | None = None) -> dict[Any, Any]:
    """Send a handshake and the messages, close, and return the answers by id; each line is checked."""
    parts = [INITIALIZE, INITIALIZED, *messages]
    sent = [
        part if isinstance(part, bytes) else json.dumps(part, ensure_ascii=False).encode() for part in parts
    ]
    done = subprocess.run(
        [sys.executable, str(HERE / "stdio_main.py")],
        input=b"\n".join(sent) + b"\n",
        capture_output=True,
        timeout=PATIENCE,
        env=environment(**(env or {})),
        check=True,
    )
    lines = [json.loads(answer.decode()) for answer in done.stdout.splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in lines)
    found: dict[Any, Any] = {"stderr": done.stderr.decode(), "errors": []}
    for message in lines:
        if message.get("id") is None:
            found["errors"].append(message.get("error"))
        else:
            found[message["id"]] = message
    return found


class StdioServer:
    """A running stdio server; lines of both outputs are collected by threads."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._answers: queue.Queue[bytes] = queue.Queue()
        self.stderr: list[str] = []
        self._threads = [
            threading.Thread(target=self._collect_answers, daemon=True),
            threading.Thread(target=self._collect_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _collect_answers(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line)

    def _collect_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr.append(line.decode().rstrip("\n"))

    def send(self, *messages: Mapping[str, Any]) -> None:
        """Write messages as lines."""
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(line(message) + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message of the server."""
        message: dict[str, Any] = json.loads(self._answers.get(timeout=PATIENCE))
        return message

    def wait(self) -> int:
        """Wait for the end; returns the exit status, with all output collected."""
        status = self.process.wait(timeout=PATIENCE)
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
        return status


@contextmanager
def stdio_server(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[StdioServer]:
    """Start a stdio server and do its handshake; it is killed at the end if it still runs.

    ``arguments`` are those of the interpreter; without, it is the small server of these tests.
    """
    with subprocess.Popen(
        [sys.executable, *(arguments or (str(HERE / "stdio_main.py"),))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment() if env is None else env,
    ) as process:
        try:
            server = StdioServer(process)
            server.send(INITIALIZE, INITIALIZED)
            assert server.receive()["id"] == "init"
            yield server
        finally:
            process.kill()


class HttpServer:
    """A running HTTP server and where it is reached."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url
        self.host, _, port = url.removeprefix("http://").removesuffix("/mcp").rpartition(":")
        self.port = int(port)

    def stop(self) -> tuple[int, str]:
        """Ask it to stop; returns the exit status and what it had to say."""
        self.process.terminate()
        _, stderr = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, stderr


@contextmanager
def http_server(*, host: str = "127.0.0.1", key: str | None = None) -> Iterator[HttpServer]:
    """Start an HTTP server on a free port; it is killed at the end if it still runs."""
    command = [sys.executable, str(HERE / "http_main.py"), host, "0", *([key] if key else [])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("wikimcp: serving http://"), line + process.stderr.read()
            yield HttpServer(process, line.removeprefix("wikimcp: serving ").strip())
        finally:
            process.kill()
