"""Workers under watch: one that is silent for too long is ended, its page named, and the rest goes on."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from benchmarks.fuzz.reading import Failure
from benchmarks.fuzz.work import Plan, Report, run

PATIENCE = 300.0
"""Seconds of silence after which a page is taken to hang: its own limit counts processor time."""
_SERVING = 4
"""Times as long a batch of served pages may take."""


@dataclass(slots=True)
class _Worker:
    plan: Plan
    process: Any
    pipe: Connection
    at: int
    heard: float
    patience: float


def watched(plans: list[Plan], *, patience: float = PATIENCE) -> Iterator[Report]:
    """Run a worker for each plan; yield what they report, and a failure for each page that hangs."""
    workers = [_start(plan, patience) for plan in plans if plan.numbers]
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                if worker.pipe in ready:
                    report = _receive(worker, patience)
                    if isinstance(report, Report):
                        yield report
                        continue
                    workers.remove(worker)
                    worker.process.join()
                    if report is not None:
                        yield _ended(worker, report)
                        workers += _after(worker, patience)
                elif time.monotonic() - worker.heard > worker.patience:
                    workers.remove(worker)
                    worker.process.kill()
                    worker.process.join()
                    yield _ended(worker, f"reading does not end within {worker.patience:.0f} s")
                    workers += _after(worker, patience)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


def _start(plan: Plan, patience: float) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(plan, theirs), daemon=False)
    process.start()
    theirs.close()
    return _Worker(plan, process, ours, plan.numbers[0], time.monotonic(), patience)


def _receive(worker: _Worker, patience: float) -> Report | None | str:
    """Return the next report, None at the end, a sentence when the process died."""
    try:
        report: Report | None = worker.pipe.recv()
    except EOFError:
        return "the process reading it died"
    worker.heard = time.monotonic()
    if report is not None:
        worker.at = report.number
        worker.patience = patience * (_SERVING if report.begun and report.what == "serving" else 1)
    return report


def _ended(worker: _Worker, why: str) -> Report:
    return Report(worker.at, failures=(Failure("any", why),))


def _after(worker: _Worker, patience: float) -> list[_Worker]:
    """Start a worker for what is left of a plan."""
    numbers = worker.plan.numbers
    left = numbers[numbers.index(worker.at) + 1 :]
    return [_start(replace(worker.plan, numbers=left), patience)] if left else []
