"""Memory and processor time of running processes, read from /proc; None where a system has none."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_PROC = Path("/proc")
_KB = 1024 / 1e6


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes of one process: resident now, resident at most, and its proportional share (PSS)."""

    resident: float
    peak: float
    share: float


def memory_of(pid: int) -> Memory | None:
    """Return a process's memory; None when it is gone or the system does not tell."""
    try:
        status = _sizes(_PROC / str(pid) / "status")
        share = _sizes(_PROC / str(pid) / "smaps_rollup")["Pss"]
        return Memory(status["VmRSS"], status["VmHWM"], share)
    except (OSError, KeyError):
        return None


def _sizes(file: Path) -> dict[str, float]:
    """Return the ``Name:  123 kB`` lines of a file of /proc in megabytes."""
    sizes = {}
    for line in file.read_text("utf-8", errors="replace").splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith(" kB"):
            sizes[name] = int(rest[:-3]) * _KB
    return sizes


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time that a process and its ended children have used."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return sum(int(fields[at]) for at in range(11, 15)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def family(pid: int) -> list[int]:
    """Return a process and all its living descendants."""
    found = [pid]
    for parent in found:
        for listing in _PROC.glob(f"{parent}/task/*/children"):
            try:
                found += [int(child) for child in listing.read_text().split()]
            except OSError:
                continue
    return found


class FamilyWatch:
    """Looks every ``every`` seconds at a process with its children; ``peak`` is the largest sum of shares.

    Counting shares takes a moment of the process's own time: never used in a run that is timed.
    """

    def __init__(self, pid: int, *, every: float = 0.05) -> None:
        self.peak: float | None = None
        self._pid, self._every = pid, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> FamilyWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(self._every):
            shares = [memory.share for pid in family(self._pid) if (memory := memory_of(pid))]
            if shares:
                self.peak = max(self.peak or 0.0, sum(shares))
