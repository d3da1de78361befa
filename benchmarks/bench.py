"""What every measure is given: one vault, fresh states, the product's processes, and how often to repeat."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.figures import BenchError
from benchmarks.processes import Child, environment, inside, run, serve
from benchmarks.stdio_client import Era, StdioClient


@dataclass(frozen=True, slots=True)
class Effort:
    """How often and how much: ``runs`` fresh processes, ``queries`` questions at most, and so on."""

    runs: int
    queries: int
    pages: int
    edits: int
    patience: float = 1800.0

    @classmethod
    def of(cls, *, quick: bool, runs: int) -> Effort:
        """Return the effort of a full run, or of one that only shows that all works."""
        return cls(1, 6, 4, 1, 120.0) if quick else cls(runs, 200, 100, 10)


@dataclass
class Bench:
    """One vault under measure. ``work`` is a folder of its own for states; ``say`` tells the progress."""

    vault: Path
    work: Path
    name: str
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

    @property
    def question(self) -> str:
        """The first question."""
        return self.questions[0]

    def settled(self, client: StdioClient) -> dict[str, Any]:
        """Ask the first question until the index has been brought in line with the disk."""
        return until(client, self.question, lambda answer: answer["index"]["state"] == "ready")


def until(
    client: StdioClient, query: str, good: Callable[[dict[str, Any]], bool], *, tries: int = 20_000
) -> dict[str, Any]:
    """Ask a question again and again until its bundle is ``good``; an error answer is none.

    There is no pause between two tries: a waiting agent would not pause either, and the time of the
    first good answer is not rounded up. Raises BenchError when it never comes.
    """
    for _ in range(tries):
        answer = client.try_call("assemble_bundle", {"query": query})
        if answer is not None and good(answer):
            return answer
    raise BenchError(f"'{query[:60]}' was never answered as expected; the last answer: {client.last_text[:300]}")
