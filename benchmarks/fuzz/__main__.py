"""`python -m benchmarks.fuzz`: mutated pages through every dialect; failures are shrunk and kept."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.fuzz.dialects import make_vaults
from benchmarks.fuzz.failures import read_failure, shrunk, write_failure
from benchmarks.fuzz.reading import Failure
from benchmarks.fuzz.watching import PATIENCE, watched
from benchmarks.fuzz.work import Plan, check, page_of
from benchmarks.processes import CORPUS, ROOT

_KEPT_OF_A_KIND = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the fuzzer; returns 0, 1 (something failed), 2 (wrong use) or 130 (stopped)."""
    parser = _parser()
    given = parser.parse_args(argv)
    if given.corpus is not None and not given.corpus.is_dir():
        parser.error(f"{given.corpus} is no folder")
    if given.pages < 1 or given.jobs < 1:
        parser.error("--pages and --jobs take a number from 1")
    try:
        if given.replay is not None:
            return _replay(given.replay, as_json=given.json)
        facts = fuzz(given)
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        return 130
    _print(facts, as_json=given.json)
    return 1 if facts["failures"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, metavar="N", help="pages to read (20000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another seed, other pages (1)")
    corpus = CORPUS if CORPUS.is_dir() else None
    parser.add_argument("--corpus", type=Path, default=corpus, metavar="DIR", help="pages to begin from")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at once (2)")
    parser.add_argument(
        "--output", type=Path, default=Path("fuzz-failures"), metavar="DIR", help="where failures are kept"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="read one kept page again, nothing else")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def fuzz(given: argparse.Namespace, *, patience: float = PATIENCE) -> dict[str, Any]:
    """Read all pages; return how many there were, the slowest, and each failure kept."""
    folders: tuple[Path, ...] = (ROOT / "tests" / "vaults" / "fixtures", ROOT / "sample_vault")
    if given.corpus is not None:
        folders = (*folders, given.corpus)
    numbers = range(given.pages)
    plans = [Plan(given.seed, numbers[job :: given.jobs], folders) for job in range(given.jobs)]
    begun = time.monotonic()
    kinds: dict[tuple[str, str], list[int]] = {}
    kept: list[dict[str, Any]] = []
    slowest, done, served = (0.0, -1), 0, 0
    with _progress(given.pages) as step, suppress(KeyboardInterrupt):  # what was found is still told
        for report in watched(plans, patience=patience):
            if report.begun:
                continue
            if report.what == "page":
                done += 1
                step()
            else:
                served += 1
            slowest = max(slowest, (report.seconds, report.number))
            fresh = []
            for failure in report.failures:
                seen = kinds.setdefault((failure.dialect, failure.kind), [])
                seen.append(report.number)
                if len(seen) <= _KEPT_OF_A_KIND:
                    fresh.append(failure)
            if fresh:
                kept.append(_keep(given.output, plans[0], report.number, fresh, page=report.what == "page"))
    return {
        "pages": done,
        "served_vaults": served,
        "seed": given.seed,
        "seconds": round(time.monotonic() - begun, 1),
        "slowest": {"seconds": round(slowest[0], 3), "number": slowest[1]},
        "failures": sum(map(len, kinds.values())),
        "kinds": [
            {"dialect": dialect, "kind": kind, "times": len(seen), "numbers": seen[:5]}
            for (dialect, kind), seen in kinds.items()
        ],
        "kept": kept,
    }


def _keep(folder: Path, plan: Plan, number: int, failures: list[Failure], *, page: bool) -> dict[str, Any]:
    """Write the page of a failure, shrunk where that is quick; return where it lies and what it says."""
    file, line = page_of(plan, number)
    hangs = any(failure.dialect == "any" for failure in failures)
    wanted = {(failure.dialect, failure.kind) for failure in failures}
    if page and not hangs and not line and not any("reading took" in failure.message for failure in failures):
        with tempfile.TemporaryDirectory(prefix="wikimcp-fuzz-") as work:
            vaults = [
                vault for vault in make_vaults(Path(work)) if vault.name in {name for name, _ in wanted}
            ]
            file = shrunk(
                file, lambda f: bool(wanted & {(x.dialect, x.kind) for x in check(vaults, f, "")[1]})
            )
    written = write_failure(folder, f"{plan.seed}-{number}{'' if page else '-served'}", file, failures)
    return {
        "file": written.as_posix(),
        "failures": [{"dialect": failure.dialect, "message": failure.message} for failure in failures],
    }


def _replay(page: Path, *, as_json: bool) -> int:
    """Read one page in every dialect and say what is wrong with it."""
    file = read_failure(page)
    with tempfile.TemporaryDirectory(prefix="wikimcp-fuzz-") as work:
        seconds, failures = check(make_vaults(Path(work)), file, "")
    found = [{"dialect": failure.dialect, "message": failure.message} for failure in failures]
    facts = {"pages": 1, "slowest": {"seconds": round(seconds, 3), "number": 0}, "failures": len(found)}
    facts["kept"] = [{"file": page.as_posix(), "failures": found}] if found else []
    _print(facts, as_json=as_json)
    return 1 if failures else 0


def _print(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    for one in facts["kept"]:
        for failure in one["failures"]:
            print(f"{one['file']}: {failure['dialect']}: {failure['message']}")
    slowest = facts["slowest"]["seconds"]
    print(f"{facts['pages']:,} pages, {facts['failures']:,} failures, the slowest took {slowest:.2f} s")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show on stderr how far the run is: a bar for a person, a line for each tenth otherwise."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("pages", total=total)
            yield lambda: bar.advance(task)
        return
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if done % max(total // 10, 1) == 0:
            print(f"pages: {done:,}/{total:,}", file=sys.stderr)

    yield step


if __name__ == "__main__":
    raise SystemExit(main())
