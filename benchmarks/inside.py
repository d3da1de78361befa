"""What is measured within the product's own process. Run as a script, one task for each process.

Prints one JSON line for each thing that came to be; whoever started it stamps their arrival.
Imports nothing of the benchmarks, so that it runs by its path alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wikimcp.service import WikiService
    from wikimcp.settings import Settings


_REST = 1.0
"""Seconds in which the threads of a service do what they do once after a start."""


def main(argv: Sequence[str]) -> int:
    """Run one task: words FOLDER, build VAULT STATE EMBEDDER, or queries VAULT STATE EMBEDDER < calls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["words", "build", "queries"])
    parser.add_argument("vault", type=Path)
    parser.add_argument("state", nargs="?", default="")
    parser.add_argument("embedder", nargs="?", default="wordllama")
    given = parser.parse_args(argv)
    if given.task == "words":
        words(given.vault)
    elif given.task == "build":
        build(given.vault, given.state, given.embedder)
    else:
        queries(given.vault, given.state, given.embedder)
    return 0


def words(vault: Path) -> None:
    """Read all pages and count their words in plain Python: what every machine can be compared by."""
    begin = time.perf_counter()
    counts: Counter[str] = Counter()
    for folder, _, names in os.walk(vault):
        for name in names:
            if name.lower().endswith((".md", ".markdown")):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    counts.update(file.read().lower().split())
    tell("words", seconds=time.perf_counter() - begin, words=counts.total(), distinct=len(counts))


def build(vault: Path, state: str, embedder: str) -> None:
    """Index a vault from nothing: ready by words first, then by vectors."""
    settings = _settings(vault, state, embedder)
    from wikimcp.app import build_service

    begin = time.perf_counter()
    service = build_service(settings, background=False)
    try:
        service.wait_ready("none")
        tell("lexical", seconds=time.perf_counter() - begin, peak_mb=peak_mb())
        if embedder != "none":
            service.wait_ready("floor")
            tell("dense", seconds=time.perf_counter() - begin, peak_mb=peak_mb())
            service.wait_ready("all")  # more only for an embedder that grows behind the first
        tell("counts", pages=_pages(service), chunks=_chunks(service))
    finally:
        service.close()


def queries(vault: Path, state: str, embedder: str) -> None:
    """Make the calls that stdin lists by tool, over a warm index, and tell the milliseconds of each."""
    settings = _settings(vault, state, embedder)
    from wikimcp.app import build_service
    from wikimcp.models import Caller

    calls: dict[str, list[dict[str, object]]] = json.load(sys.stdin)
    service = build_service(settings)
    try:
        service.wait_ready("none" if embedder == "none" else "all")
        time.sleep(_REST)
        caller = Caller(name="bench")
        for tool, arguments in calls.items():
            taken = []
            for asked in arguments:
                begin = time.perf_counter()
                service.call(tool, asked, caller)
                taken.append((time.perf_counter() - begin) * 1000)
            tell(tool, milliseconds=[round(value, 4) for value in taken])
    finally:
        service.close()


def tell(event: str, **facts: object) -> None:
    """Print one event as a line."""
    print(json.dumps({"event": event, **facts}), flush=True)


def peak_mb() -> float | None:
    """Return the largest resident size of this process so far, in megabytes; None where it is not told.

    Not from getrusage, whose maximum begins with the size of the process that started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return None


def _settings(vault: Path, state: str, embedder: str) -> Settings:
    """Load the settings; called before the service is imported."""
    from wikimcp.settings import load_settings, one_blas_thread

    one_blas_thread()  # as the command line does, before numpy is imported
    return load_settings({"vault": str(vault), "state_dir": state, "embedder": embedder})


def _pages(service: WikiService) -> int:
    from wikimcp.models import Caller

    return int(service.status(Caller(name="bench"))["index"]["pages"])


def _chunks(service: WikiService) -> int:
    snapshot = service.keeper.store.snapshot
    records = snapshot.records.values() if snapshot else ()
    return sum(page.chunk_count for page in records if page.public)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
