"""A raw JSON-RPC client of one stdio server, in either era: nothing between the clock and the pipe."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from benchmarks.figures import BenchError

Era = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")
_CLIENT = {"name": "wikimcp-bench", "version": "1"}
_LEGACY = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class StdioClient:
    """Starts a server, asks one thing at a time, and ends the server when the block ends.

    ``patience`` bounds, in seconds, how long any one answer may take. ``started`` is the
    ``perf_counter`` time just before the process was made. Of the last request, ``seconds`` is the
    time until its answer had arrived (not yet decoded), ``last_text`` the text of a tool's answer.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        era: Era = "legacy",
        patience: float = 120.0,
    ) -> None:
        self.era: Era = era
        self.patience = patience
        self._number = 0
        self._buffer = b""
        self.seconds = 0.0
        self.last_text = ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=dict(env),
            cwd=cwd,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._writer = self.process.stdin
        self._reader = self.process.stdout.fileno()

    def __enter__(self) -> StdioClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the server's input and wait for its end; kill it when it does not come. Idempotent."""
        if self._stderr.closed:
            return
        with contextlib.suppress(OSError):
            self._writer.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._stderr.close()

    def handshake(self) -> dict[str, Any]:
        """Do what a client of this era does first; returns what the server says of itself."""
        if self.era == "modern":
            return self.ask("server/discover")
        answer = self.ask("initialize", _LEGACY)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send one request and return its result. Raises BenchError for an error or no answer."""
        self._number += 1
        sent = dict(params or {})
        if self.era == "modern":
            sent["_meta"] = _MODERN
        asked = time.perf_counter()
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": sent})
        while True:
            line = self._line()
            self.seconds = time.perf_counter() - asked
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                break
        if "error" in message:
            raise BenchError(f"{method}: {message['error'].get('message', message['error'])}")
        result: dict[str, Any] = message["result"]
        return result

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return its structured content. Raises BenchError for an error result."""
        answer = self.try_call(tool, arguments)
        if answer is None:
            raise BenchError(
                f"{tool} {json.dumps(arguments)[:200]}: the answer is an error: {self.last_text}"
            )
        return answer

    def try_call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Call a tool; None for an error result, whose text is then ``last_text``."""
        result = self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})
        self.last_text = "\n".join(part.get("text", "") for part in result.get("content", ()))
        if result.get("isError"):
            return None
        structured: dict[str, Any] = result.get("structuredContent") or {}
        return structured

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._writer.write(json.dumps(message).encode() + b"\n")
            self._writer.flush()
        except OSError as error:
            raise BenchError(f"the server is gone: {self._complaint()}") from error

    def _line(self) -> bytes:
        deadline = time.monotonic() + self.patience
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._reader], [], [], left)[0]:
                raise BenchError(f"no answer in {self.patience:.0f} s: {self._complaint()}")
            chunk = os.read(self._reader, 1 << 20)
            if not chunk:
                raise BenchError(f"the server ended: {self._complaint()}")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _complaint(self) -> str:
        """Return the end of what the server said on stderr."""
        return self.said()[-600:] or "it said nothing"

    def said(self) -> str:
        """Return what the server has said on stderr, the last of it where that is much; empty once closed."""
        if self._stderr.closed:
            return ""
        descriptor = self._stderr.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, 20_000, max(0, size - 20_000)).decode("utf-8", "replace").strip()
