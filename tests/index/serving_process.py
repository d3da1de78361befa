"""Processes that serve a vault, for tests of what several of them do to one another."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 60.0
"""Seconds after which a process is taken to hang."""


class Refused(Exception):
    """The process answered with an error."""


class ServingProcess:
    """One running process; ``ask`` and ``tell`` wait for its answer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def started(self) -> None:
        """Wait until it takes requests."""
        assert "serves" in self._next()

    def _next(self) -> dict[str, Any]:
        line = self._lines.get(timeout=PATIENCE)
        assert line, f"the process ended with {self.process.wait(PATIENCE)}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def send(self, **request: object) -> None:
        """Send a request without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """Return the next answer. Raises Refused for an error."""
        answer = self._next()
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["answer"]

    def ask(self, tool: str, **arguments: object) -> Any:
        """Call a tool."""
        self.send(ask=tool, **{"with": arguments})
        return self.receive()

    def tell(self, name: str) -> Any:
        """Ask for a fact about the process."""
        self.send(tell=name)
        return self.receive()

    def found(self, query: str) -> list[str]:
        """Return the slugs of a bundle's sections, each once, in order."""
        sections = self.ask("assemble_bundle", query=query)["sections"]
        return list(dict.fromkeys(section["slug"] for section in sections))

    def end(self) -> None:
        """Close its stdin and wait for it to end by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        """Kill it as nothing can prevent."""
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def serving(vault: Path, state: Path, **flags: object) -> Iterator[ServingProcess]:
    """Start a process over a vault; it is killed at the end if it still runs."""
    given = {"vault": str(vault), "state_dir": str(state), "embedder": "none", **flags}
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "SYSTEMROOT") if key in os.environ}
    with subprocess.Popen(
        [sys.executable, str(HERE / "serving_main.py"), json.dumps(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**kept, "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            yield ServingProcess(process)
        finally:
            process.kill()
