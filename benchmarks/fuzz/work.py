"""What one worker process does: page after page made, read and checked, telling before it begins each.

Its parent watches: a page that never comes to an end is known by its number.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.fuzz.dialects import DialectVault, make_vaults
from benchmarks.fuzz.mutating import FuzzedFile, fuzzed_file, seed_pages
from benchmarks.fuzz.reading import Failure, read_everywhere
from benchmarks.fuzz.served import answer_faults
from benchmarks.fuzz.withholding import closed_file

_CLOSED_EVERY = 4
_SERVED_EVERY = 10
_SERVED_TOGETHER = 100
LEAKED = "a page that its frontmatter withholds is public"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which pages to take: ``numbers`` of the run ``seed``, from the pages of some folders."""

    seed: int
    numbers: range
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One page is through. ``begun`` alone says that it is about to be read."""

    number: int
    begun: bool = False
    seconds: float = 0.0
    failures: tuple[Failure, ...] = ()
    what: str = "page"


@dataclass(slots=True)
class _Batch:
    files: list[FuzzedFile] = field(default_factory=list)
    count: int = 0


def page_of(plan: Plan, number: int) -> tuple[FuzzedFile, str]:
    """Make page ``number``, and the line that withholds it where it is one that must be withheld."""
    if number % _CLOSED_EVERY == _CLOSED_EVERY - 1:
        return closed_file(plan.seed, number)
    return fuzzed_file(plan.seed, number, seed_pages(plan.folders)), ""


def check(vaults: Sequence[DialectVault], file: FuzzedFile, line: str) -> tuple[float, tuple[Failure, ...]]:
    """Read a page in every dialect; return the slowest reading and all that is wrong."""
    outcome = read_everywhere(vaults, file)
    leaks = [Failure(name, f"{LEAKED}: {line}") for name in leaking(vaults, file)] if line else []
    return outcome.seconds, (*outcome.failures, *leaks)


def leaking(vaults: Sequence[DialectVault], file: FuzzedFile) -> list[str]:
    """Return the dialects in which everybody may see a page; org knows no frontmatter."""
    found = []
    for vault in vaults:
        if vault.suffix == ".md":
            content = vault.adapter.read(vault.put(file))
            page = vault.adapter.parse(content)
            vault.remove(file)
            if content.encoding != "binary" and not page.withheld and not page.labels:
                found.append(vault.name)
    return found


def reports(plan: Plan) -> Iterator[Report]:
    """Yield a report before each page and one behind it; now and then one of many pages served together."""
    with tempfile.TemporaryDirectory(prefix="wikimcp-fuzz-") as work:
        vaults = make_vaults(Path(work))
        batch = _Batch()
        for number in plan.numbers:
            yield Report(number, begun=True)
            file, line = page_of(plan, number)
            seconds, failures = check(vaults, file, line)
            yield Report(number, seconds=seconds, failures=failures)
            if number % _SERVED_EVERY == 0:
                batch.files.append(file)
            last = number == plan.numbers[-1]
            if len(batch.files) == _SERVED_TOGETHER or (last and batch.files):
                yield Report(number, begun=True, what="serving")
                dialect = vaults[batch.count % len(vaults)].name
                batch.count += 1
                wrong = tuple(Failure(dialect, fault) for fault in answer_faults(dialect, batch.files))
                yield Report(number, failures=wrong[:20], what="serving")
                batch.files.clear()


def run(plan: Plan, parent: Connection) -> None:
    """Send all reports to the parent process."""
    import logging

    logging.disable(logging.CRITICAL)  # what fails is reported; the product's log would say it again
    for report in reports(plan):
        parent.send(report)
    parent.send(None)
