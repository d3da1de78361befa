"""Many servers on one vault that an editor works on, killed and started again at random: nobody fails.

Run as ``python -m benchmarks.many_processes --seconds 600 --servers 8``. All servers start at once on a vault
that nothing has indexed. Then they are killed (SIGKILL and SIGTERM) and started again in random order while
questions go on and pages change. From time to time the editor rests, and all servers are asked the same as
a fresh one with an index of its own. Prints what was counted, or the first faults. Needs Linux (/proc).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.answering import Server, answers_of, differences, leader_of, with_ledger_of
from benchmarks.corpus import build_vault
from benchmarks.editor import Editor
from benchmarks.figures import BenchError
from benchmarks.measures.fleet import BuildWatch
from benchmarks.memory import family, memory_of
from benchmarks.processes import CORPUS, ROOT

TAKEOVER_SECONDS = 2.0
MEMORY_SHARE = 0.8  # of so many times one server: what several may need at most
_LONGEST_REST = 2.0  # seconds until a killed server is started again, and between two kills, at most
_SETTLE_SECONDS = 240.0  # within which all must answer of the same, on a machine that is busy as well


@dataclass
class Counts:
    """What happened: told at the end."""

    servers: int
    starts: int = 0
    killed: int = 0
    terminated: int = 0
    calls: int = 0
    waits: int = 0
    checkpoints: int = 0
    compared: int = 0
    edits: dict[str, int] = field(default_factory=dict)
    builds_first: int = 0
    builds_mended: int = 0
    takeovers: list[float] = field(default_factory=list)
    memory_one: float = 0.0
    memory_all: float = 0.0
    faults: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values; of the takeovers number, median and longest."""
        facts = dict(self.__dict__)
        times = sorted(facts.pop("takeovers"))
        if times:
            middle = times[len(times) // 2]
            facts["takeovers"] = {
                "count": len(times),
                "median_s": round(middle, 3),
                "max_s": round(times[-1], 3),
            }
        if self.memory_one:
            facts["memory_times_one"] = round(self.memory_all / self.memory_one, 2)
        return {key: round(value, 1) if isinstance(value, float) else value for key, value in facts.items()}


class Fleet:
    """The servers, by place; a place is empty while its server is killed and not yet started again."""

    def __init__(self, vault: Path, folder: Path, counts: Counts, *, embedder: str, seed: int) -> None:
        self._vault, self._folder = vault, folder
        self._counts = counts
        self._embedder = embedder
        self._chance = random.Random(seed)
        self.state = folder / "state"
        self.state.mkdir()
        self.places: list[Server | None] = [None] * counts.servers

    def start(self, place: int) -> None:
        """Start the server of a place; it is asked from now on."""
        self.places[place] = Server(
            self._vault, self._folder, state=self.state, embedder=self._embedder, seed=self._chance.random()
        )
        self._counts.starts += 1

    def start_missing(self) -> None:
        """Start a server wherever there is none."""
        for place, server in enumerate(self.places):
            if server is None:
                self.start(place)

    def running(self) -> list[Server]:
        """Return the servers that are there."""
        return [server for server in self.places if server is not None]

    def end(self, place: int, *, kill: bool) -> None:
        """End a server abruptly, or by SIGTERM, and take in what it counted."""
        server = self.places[place]
        self.places[place] = None
        if server is None:
            return
        leads = leader_of(self.state) == server.pid
        heirs = [other for other in self.running() if other.settled]
        server.end(kill=kill)
        ended = time.monotonic()
        self._counts.killed += kill
        self._counts.terminated += not kill
        if leads and heirs:
            self._takeover(ended, server.pid)
        self.gather(server)

    def _takeover(self, ended: float, before: int) -> None:
        deadline = ended + 10 * TAKEOVER_SECONDS
        while (now := leader_of(self.state)) in (None, before) and time.monotonic() < deadline:
            time.sleep(0.005)
        taken = time.monotonic() - ended
        self._counts.takeovers.append(taken)
        if now is None or taken > TAKEOVER_SECONDS:
            self._counts.faults.append(f"after {taken:.1f} s the leader was {now or 'nobody'}")

    def gather(self, server: Server) -> None:
        """Take over what a server that ended has seen."""
        self._counts.calls += server.calls
        self._counts.waits += server.waits
        self._counts.faults += server.faults

    def end_all(self) -> None:
        """End every server as a client does, by closing its stdin."""
        for place, server in enumerate(self.places):
            if server is not None:
                self.places[place] = None
                server.close()
                self.gather(server)

    def some_turns(self, until: float) -> None:
        """Kill servers and start them again, in random order, until a moment."""
        while time.monotonic() < until and not self._counts.faults:
            time.sleep(self._chance.uniform(0, _LONGEST_REST))
            full = [place for place, server in enumerate(self.places) if server is not None]
            empty = [place for place, server in enumerate(self.places) if server is None]
            if full and (not empty or self._chance.random() < 0.5):
                most = self._chance.choice((1, 1, 1, 2, len(full)))
                for place in self._chance.sample(full, min(most, len(full))):
                    self.end(place, kill=self._chance.random() < 0.6)
            elif empty:
                self.start(self._chance.choice(empty))


def run(
    vault: Path, folder: Path, *, seconds: float, servers: int, seed: int, embedder: str = "wordllama"
) -> Counts:
    """Let ``servers`` servers and an editor loose on ``vault``; ``folder`` is for states. Returns counts."""
    counts = Counts(servers)
    fleet = Fleet(vault, folder, counts, embedder=embedder, seed=seed)
    checkpoints = max(2, round(seconds / 60))
    with ExitStack() as stack:
        builds = stack.enter_context(BuildWatch(fleet.state))
        editor = stack.enter_context(Editor(vault, seed))
        stack.callback(fleet.end_all)
        fleet.start_missing()
        _all_ready(fleet, counts)
        counts.builds_first = len(builds.seen)
        if counts.builds_first != 1:
            counts.faults.append(f"{counts.builds_first} builds of one cold index")
        begin = time.monotonic()
        for number in range(1, checkpoints + 1):
            if counts.faults:
                break
            editor.order("go")
            fleet.some_turns(begin + seconds * number / checkpoints)
            told = editor.order("pause")
            counts.edits = told["done"]
            fleet.start_missing()
            _checkpoint(vault, folder, fleet, counts, list(told["words"].items()), embedder)
        counts.builds_mended = len(builds.seen) - counts.builds_first
    ended = counts.killed + counts.terminated  # who is asked to end does so in time, whatever it writes
    if counts.builds_mended > ended:
        counts.faults.append(f"{counts.builds_mended} later builds, but {ended} servers were ended")
    return counts


def _all_ready(fleet: Fleet, counts: Counts) -> None:
    _wait(fleet, counts, lambda server: server.settled, "answers from a finished index")


def _wait(fleet: Fleet, counts: Counts, good: Callable[[Server], bool], what: str) -> None:
    deadline = time.monotonic() + _SETTLE_SECONDS
    while not all(good(server) for server in fleet.running()):
        faults = [fault for server in fleet.running() for fault in server.faults]
        if faults or time.monotonic() > deadline:
            counts.faults += faults or [f"not every server {what} within {_SETTLE_SECONDS:.0f} s"]
            return
        time.sleep(0.02)


def _checkpoint(
    vault: Path,
    folder: Path,
    fleet: Fleet,
    counts: Counts,
    words: Sequence[tuple[str, str]],
    embedder: str,
) -> None:
    """Ask all servers and a fresh one the same, for one state of the vault."""
    _wait(fleet, counts, lambda server: server.settled, "answers again")
    if counts.faults:
        return
    fresh_state = with_ledger_of(fleet.state, folder / f"fresh-{counts.checkpoints}")
    asked = fleet.running()
    for server in asked:
        server.rest()
    fresh = Server(vault, folder, state=fresh_state, embedder=embedder, seed=0.0)
    try:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not fresh.settled and not fresh.faults and time.monotonic() < deadline:
            time.sleep(0.02)
        fresh.rest()
        with ThreadPoolExecutor(len(asked) + 1) as everyone:
            right, *all_answers = everyone.map(lambda one: answers_of(one, words), [fresh, *asked])
        for answers in all_answers:
            counts.faults += differences(right, answers)
            counts.compared += len(answers)
        one = memory_of(fresh.pid)
        together = [memory_of(pid) for server in asked for pid in family(server.pid)]
        if one and all(together):
            counts.memory_one = max(counts.memory_one, one.resident)
            counts.memory_all = max(counts.memory_all, sum(memory.share for memory in together if memory))
            if len(asked) > 4 and counts.memory_all > MEMORY_SHARE * len(asked) * counts.memory_one:
                counts.faults.append(
                    f"{counts.memory_all:.0f} MB for all, {counts.memory_one:.0f} MB for one"
                )
    except BenchError as error:
        counts.faults.append(str(error))
    finally:
        fresh.close()
        counts.faults += fresh.faults
        shutil.rmtree(fresh_state, ignore_errors=True)
    counts.checkpoints += 1
    for server in asked:
        server.go()


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 where something did not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, default=CORPUS if CORPUS.is_dir() else ROOT / "sample_vault")
    parser.add_argument("--embedder", default="wordllama")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="wikimcp-many-") as work:
        vault = Path(work) / "vault"
        pages = build_vault(given.corpus, vault)
        counts = run(
            vault,
            Path(work),
            seconds=given.seconds,
            servers=given.servers,
            seed=given.seed,
            embedder=given.embedder,
        )
    print(json.dumps({"pages": pages, "seed": given.seed, **counts.as_json()}, indent=1))
    return 1 if counts.faults else 0


if __name__ == "__main__":
    sys.exit(main())
