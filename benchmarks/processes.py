"""Starts what is measured: a clean environment, a bounded life, JSON lines stamped as they arrive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any

from benchmarks.figures import BenchError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "wikantik-pages"
"""The large corpus; it may be absent."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")


def environment(home: Path) -> dict[str, str]:
    """Return the variables a measured process gets: no settings, models or caches of the user's."""
    return {**{name: os.environ[name] for name in _KEPT if name in os.environ}, "HOME": str(home)}


def wikimcp(verb: str, vault: Path, *options: str, state: Path, embedder: str) -> list[str]:
    """Return the command line of a verb of the product over a vault."""
    common = ["--state-dir", str(state), "--embedder", embedder]
    return [sys.executable, "-m", "wikimcp", verb, str(vault), *common, *options]


def serve(vault: Path, *, state: Path, embedder: str) -> list[str]:
    """Return the command line of a stdio server."""
    return wikimcp("serve", vault, "--log-level", "error", state=state, embedder=embedder)


def inside(task: str, *words: str) -> list[str]:
    """Return the command line of a task of ``inside.py``, which measures within its own process."""
    return [sys.executable, str(HERE / "inside.py"), task, *words]


@dataclass(frozen=True, slots=True)
class Event:
    """One JSON line that a process printed, and the seconds since its start when it arrived."""

    at: float
    facts: Mapping[str, Any]


class Child:
    """A process that tells what it measured as JSON lines, each with an ``event``.

    Used as a block: at its end, if not before by ``finish``, the process is waited for; it is killed
    when the block broke off, and after ``patience`` seconds. Then ``seconds`` is how long it lived
    and ``events`` holds what it told, by name. Raises BenchError when it fails.
    """

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, patience: float, stdin: str = ""
    ) -> None:
        self.events: dict[str, Event] = {}
        self.seconds = 0.0
        self._patience = patience
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        with tempfile.TemporaryFile() as given:
            given.write(stdin.encode())
            given.seek(0)
            self._begin = time.perf_counter()
            self.process = subprocess.Popen(
                list(command),
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=dict(env),
                cwd=cwd,
            )
        self._watchdog = Timer(patience, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.finish()
        finally:
            self._watchdog.cancel()
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self._stderr.close()

    def finish(self) -> None:
        """Take in what the process tells until it ends; done already, it does nothing."""
        assert self.process.stdout is not None
        if self.process.returncode is not None:
            return
        for line in self.process.stdout:
            at = time.perf_counter() - self._begin
            if line.startswith(b"{"):
                facts = json.loads(line)
                if "event" in facts:
                    self.events[facts["event"]] = Event(at, facts)
        status = self.process.wait()
        self.seconds = time.perf_counter() - self._begin
        if status:
            self._stderr.seek(0)
            said = self._stderr.read().decode("utf-8", "replace").strip()
            raise BenchError(
                f"a measured process ended with {status}: "
                + (said[-600:] or f"no word (it may take {self._patience:.0f} s)")
            )

    def fact(self, event: str, name: str) -> float | None:
        """Return a number that an event told; None when the machine does not tell it."""
        value = self.events[event].facts[name]
        return None if value is None else float(value)

    def at(self, event: str) -> float:
        """Return the seconds from the start of the process until an event arrived."""
        return self.events[event].at


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, patience: float) -> Child:
    """Run a process to its end. Raises BenchError when it fails or takes too long."""
    with Child(command, env=env, cwd=cwd, patience=patience) as child:
        pass
    return child
