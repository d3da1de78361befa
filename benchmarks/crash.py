"""Crash safety: killed at any moment, a full disk, damaged files of every kind, a newer index, a vault gone.

Run as ``python -m benchmarks.crash --times 300``. So many times a server that edits and asks is killed (-9)
at a random moment, or right after a random number of writes in its state directory; every fifth time it had
to make the index anew. The next start must answer right from its first answer on, and no version may go
back. Then every kind of file in a state directory is harmed in every way, and the disk and the vault are
taken away. Prints counts, or the faults. Needs ``fork`` and inotify.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harms
from benchmarks.crashing import Fault, StateWatch, Vault, checked, forked, heard, ready_to_fork, work_on

_LONGEST_LIFE = 0.8  # seconds until a kill by the clock, at most
_MOST_EVENTS = 400  # in the state directory until a kill by its events, at most
_REBUILT_EVERY = 5
_PATIENCE = 20.0


def kill_often(vault: Vault, state: Path, *, times: int, seed: int) -> Counter[str]:
    """Kill a server so many times and check the next start each time; returns counts. Raises Fault."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    checked(vault, state)
    for number in range(times):
        if number % _REBUILT_EVERY == _REBUILT_EVERY - 1:
            forget_indexes(state)
            counts["kills of a build"] += 1
        where = kill_once(vault, state, chance)
        counts[f"killed {where}"] += 1
        try:
            checked(vault, state)
        except Fault as fault:
            raise Fault(f"after kill {number + 1}, {where}: {fault}") from None
    counts["versions told"] = sum(vault.told.values())
    return counts


def kill_once(vault: Vault, state: Path, chance: random.Random) -> str:
    """Let a server work on the vault and kill it; returns at what moment."""
    seed, by_events = chance.randrange(2**32), chance.random() < 0.7
    life, events = chance.uniform(0, _LONGEST_LIFE), int(_MOST_EVENTS ** chance.random())
    watch = StateWatch(state)
    child, pipe = forked(lambda say: work_on(vault, state, seed, say))
    try:
        if by_events:
            watch.after(events, _PATIENCE)
        else:
            time.sleep(life)
        os.kill(child, signal.SIGKILL)
    finally:
        watch.close()
    for line in heard(child, pipe):
        vault.hear(line)
    vault.mend()
    if not by_events:
        return "by the clock"
    return f"after a write to {harms.kind_of(Path(watch.last))}"


def forget_indexes(state: Path) -> None:
    """Remove the indexes but neither ledger nor vectors."""
    for place in state.glob("*/index-*"):
        shutil.rmtree(place)
    for pointer in state.glob("*/current-*"):
        pointer.unlink()


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 where something did not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=300, help="kills")
    parser.add_argument("--rounds", type=int, default=2, help="how often each file is harmed in each way")
    parser.add_argument("--pages", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    began, faults = time.monotonic(), []
    told: dict[str, object] = {"seed": given.seed, "pages": given.pages}
    with tempfile.TemporaryDirectory(prefix="wikimcp-crash-") as name:
        work = Path(name)
        vault, state = Vault.make(work / "vault", given.pages), work / "state"
        state.mkdir()
        ready_to_fork(vault.root, work / "another-state")
        try:
            told["kills"] = kill_often(vault, state, times=given.times, seed=given.seed)
        except Fault as fault:
            faults.append(str(fault))
        counts, found = harms.harm_files(vault, state, work, rounds=given.rounds, seed=given.seed)
        told["harms"] = counts
        faults += found
        for what, scene in harms.SCENES.items():
            try:
                told[what] = scene(vault, state, work)
            except Fault as fault:
                faults.append(f"{what}: {fault}")
    told |= {"seconds": round(time.monotonic() - began, 1), "faults": faults}
    print(json.dumps(told, indent=1))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
