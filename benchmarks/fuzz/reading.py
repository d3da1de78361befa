"""One fuzzed file read by every dialect: failures by what they are, and the time each reading took."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from benchmarks.fuzz.checks import body_faults, page_faults, record_faults
from benchmarks.fuzz.dialects import DialectVault
from benchmarks.fuzz.mutating import FuzzedFile
from wikimcp.index.prepare import prepare
from wikimcp.lexical.tantivy import analysis
from wikimcp.models import ParsedBody

SLOWEST = 1.0
"""Seconds of processor time that one dialect may take for one page."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What did not hold of one page in one dialect; ``kind`` is the sentence without its numbers."""

    dialect: str
    message: str

    @property
    def kind(self) -> str:
        """The failure without what differs from page to page."""
        return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*", "#", self.message)[:160]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What reading one file came to; ``seconds`` is the slowest dialect's processor time."""

    failures: tuple[Failure, ...]
    seconds: float


def read_everywhere(vaults: Iterable[DialectVault], file: FuzzedFile) -> Outcome:
    """Read a file in each vault and check what comes of it. Never raises for what the file holds."""
    failures: list[Failure] = []
    slowest = 0.0
    known: list[ParsedBody] = []
    for vault in vaults:
        seconds, found = _read(vault, file, known)
        if seconds > SLOWEST:  # once more: something else may have had the machine
            seconds = min(seconds, _read(vault, file, [])[0])
        if seconds > SLOWEST:
            found.append(f"reading took {seconds:.2f} s")
        slowest = max(slowest, seconds)
        failures += [Failure(vault.name, message) for message in found]
    return Outcome(tuple(failures), slowest)


def _read(vault: DialectVault, file: FuzzedFile, known: list[ParsedBody]) -> tuple[float, list[str]]:
    """Return the seconds that reading took, and what is wrong with the page.

    A body that equals one of ``known``, as most dialects read it, is not checked once more.
    """
    path = vault.put(file)
    found: list[str] = []
    begun = time.process_time()
    seconds = 0.0
    try:
        content = vault.adapter.read(path)
        page = vault.adapter.parse(content)
        seconds = time.process_time() - begun
        found += _some(page_faults(page, content.text.count("\n") + content.text.count("\r") + 1))
        if page.body not in known:
            known.append(page.body)
            found += _some(body_faults(content.text, page, dialect=vault.dialect))
            begun = time.process_time()
            prepared = prepare(vault.adapter, path, analyze=analysis)
            seconds = max(seconds, time.process_time() - begun)
            found += _some(record_faults(prepared, content))
    except Exception as error:
        seconds = seconds or time.process_time() - begun
        found.append(f"{type(error).__name__} {_place(error)}: {str(error)[:200]}")
    finally:
        vault.remove(file)
    return seconds, found


def _some(messages: Iterator[str], most: int = 5) -> list[str]:
    return list(islice(messages, most))


def _place(error: Exception) -> str:
    """Return the module and function of the product that an error comes from."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "wikimcp" in code.co_filename:
            place = f"in {code.co_filename.rpartition('wikimcp/')[2]}, {code.co_name}"
        trace = trace.tb_next
    return place
