"""Starts the processes that are measured: a clean environment, a bounded life, JSON lines that are stamped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.figures import BenchError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
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


@dataclass(slots=True)
class Finished:
    """A process that ended well: its events by name, and its life in seconds."""

    seconds: float = 0.0
    events: dict[str, Event] = field(default_factory=dict)

    def fact(self, event: str, name: str) -> float | None:
        """Return a number that an event told, None when it had none."""
        value = self.events[event].facts.get(name)
        return None if value is None else float(value)


def run(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, patience: float, stdin: str = ""
) -> Finished:
    """Run a process to its end and collect the JSON lines it prints, each with an ``event``.

    Raises BenchError when it fails or takes longer than ``patience`` seconds.
    """
    with started(command, env=env, cwd=cwd, patience=patience, stdin=stdin) as (process, finished):
        collect(process, finished)
    return finished


@contextmanager
def started(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, patience: float, stdin: str = ""
) -> Iterator[tuple[subprocess.Popen[str], Finished]]:
    """Start a process for a block that collects its output; at the end it is waited for or killed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given, tempfile.TemporaryFile("w+") as said:
        given.write(stdin)
        given.seek(0)
        finished = Finished()
        begin = time.perf_counter()
        process = subprocess.Popen(
            list(command), stdin=given, stdout=subprocess.PIPE, stderr=said, text=True, env=dict(env), cwd=cwd
        )
        watchdog = Timer(patience, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            finished.seconds = -begin
            yield process, finished
            status = process.wait()
            finished.seconds += time.perf_counter()
        finally:
            watchdog.cancel()
            process.kill()
            process.communicate()
        if status:
            said.seek(0)
            what = said.read().strip()[-600:] or f"no word within {patience:.0f} s"
            raise BenchError(f"a measured process ended with {status}: {what}")


def collect(process: subprocess.Popen[str], finished: Finished) -> None:
    """Read a process's lines until it closes its output; ``finished`` was made by ``started``."""
    assert process.stdout is not None
    for line in process.stdout:
        at = finished.seconds + time.perf_counter()
        if line.startswith("{"):
            facts = json.loads(line)
            if "event" in facts:
                finished.events[facts["event"]] = Event(at, facts)
