"""What every measure is given: one vault, fresh states, the product's processes, and how often to repeat."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.figures import BenchError
from benchmarks.processes import Child, environment, inside, run, serve
from benchmarks.stdio_client import Era, StdioClient

_PAUSE = 0.01
"""Seconds between two tries: asking without a pause would slow down what is waited for."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How often and how much is measured.

    ``runs`` repetitions in fresh processes, each with at most ``queries`` questions, ``pages`` calls
    of the other tools and ``edits`` pages edited; ``servers`` at once on one vault. A process that
    takes longer than ``patience`` seconds is taken to hang.
    """

    runs: int
    queries: int
    pages: int
    edits: int
    servers: int
    patience: float

    @classmethod
    def of(cls, *, quick: bool, runs: int) -> Effort:
        """Return the effort of a full run, or of one that only shows that all works."""
        if quick:
            return cls(1, queries=6, pages=4, edits=1, servers=2, patience=120.0)
        return cls(runs, queries=200, pages=100, edits=10, servers=4, patience=1800.0)


@dataclass
class Bench:
    """One vault under measure. ``work`` is a folder of its own for states; ``say`` tells the progress.

    ``before`` are the fingerprints of the vault's files before anything ran.
    """

    vault: Path
    work: Path
    before: Mapping[str, tuple[int, int]]
    questions: Sequence[str]
    effort: Effort
    embedder: str
    say: Callable[[str], None]
    _numbers: Iterator[int] = field(default_factory=count)

    @cached_property
    def home(self) -> Path:
        """An empty home folder: no settings, models or caches of the user's are found."""
        folder = self.work / "home"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @cached_property
    def env(self) -> Mapping[str, str]:
        """The variables of measured processes."""
        return environment(self.home)

    def fresh_state(self) -> Path:
        """Return a state directory that nothing has used."""
        folder = self.work / f"state-{next(self._numbers)}"
        folder.mkdir(parents=True)
        return folder

    def drop(self, state: Path) -> None:
        """Remove a state directory."""
        shutil.rmtree(state, ignore_errors=True)

    @cached_property
    def warm_state(self) -> Path:
        """A state directory with a whole index, vectors included; built once for a vault."""
        state = self.fresh_state()
        self.build(state)
        return state

    @cached_property
    def pages(self) -> int:
        """How many pages the product serves of this vault."""
        with self.client(self.warm_state) as client:
            client.handshake()
            return int(self.settled(client)["index"]["pages"])

    def build(self, state: Path) -> Child:
        """Index the vault into a state directory, in a process of its own."""
        return self.run(inside("build", str(self.vault), str(state), self.embedder))

    def run(self, command: Sequence[str]) -> Child:
        """Run a process to its end."""
        return run(command, env=self.env, cwd=self.home, patience=self.effort.patience)

    def child(self, command: Sequence[str], *, stdin: str = "") -> Child:
        """Start a process, for a block that watches it."""
        return Child(command, env=self.env, cwd=self.home, patience=self.effort.patience, stdin=stdin)

    def client(self, state: Path, *, era: Era = "legacy") -> StdioClient:
        """Start a server of the vault."""
        command = serve(self.vault, state=state, embedder=self.embedder)
        return StdioClient(command, env=self.env, cwd=self.home, era=era, patience=self.effort.patience)

    def repeat(self, what: str, times: int | None = None) -> Iterator[int]:
        """Yield the numbers of the repetitions, telling each."""
        times = times or self.effort.runs
        for number in range(times):
            self.say(f"{what} {number + 1}/{times}")
            yield number

    @cached_property
    def question(self) -> str:
        """The first question that finds anything. Raises BenchError when none does."""
        with self.client(self.warm_state) as client:
            client.handshake()
            for question in self.questions[:100]:
                if client.call("assemble_bundle", {"query": question})["sections"]:
                    return question
        raise BenchError("no question finds anything in this vault: name some with --questions")

    def rested(self, client: StdioClient) -> None:
        """Ask until nothing is left to embed."""
        until(client, self.question, lambda answer: answer["index"]["dense"] in ("ready", "off"))

    def settled(self, client: StdioClient) -> dict[str, Any]:
        """Ask until the index has been brought in line with the disk."""
        return until(client, self.question, lambda answer: answer["index"]["state"] == "ready")


def whole(answer: Mapping[str, Any], pages: int) -> bool:
    """Tell whether an answer comes from a finished index of so many pages."""
    return bool(answer["index"]["state"] == "ready" and answer["index"]["pages"] == pages)


def until(
    client: StdioClient, query: str, good: Callable[[dict[str, Any]], bool], *, patience: float | None = None
) -> dict[str, Any]:
    """Ask a question again and again until its bundle is ``good``; an error answer is none.

    Raises BenchError when it does not come within ``patience`` seconds (the client's by default).
    """
    deadline = time.monotonic() + (patience or client.patience)
    while True:
        answer = client.try_call("assemble_bundle", {"query": query})
        if answer is not None and good(answer):
            return answer
        if time.monotonic() > deadline:
            raise BenchError(
                f"'{query[:60]}' is never answered as expected; it says {client.last_text[:300]}"
            )
        time.sleep(_PAUSE)
