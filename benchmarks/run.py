"""`make bench`: measures speed, memory and sizes over a corpus and writes RESULTS.md with plots.

`python -m benchmarks.run --corpus DIR` from the root of a clone; `--quick` shows in a minute that all
works. What is not a whole run is printed, and written only where `--output` says. Everything
measured lives in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Protocol

from benchmarks import report
from benchmarks.bench import Bench, Effort
from benchmarks.corpus import build_vault, fingerprints, titles
from benchmarks.figures import BenchError, Outcome, Recorder
from benchmarks.machine import load_average, machine_facts
from benchmarks.measures import cold, edits, fleet, memory, queries, size, warm
from benchmarks.processes import CORPUS, HERE, ROOT
from benchmarks.results import Results, VaultSet
from wikimcp.errors import WikimcpError
from wikimcp.evaluation.questions import read_questions

QUESTIONS = ROOT.parent / "shared" / "eval" / "questions.csv"
_MOST_COPIES = 999  # each has a word of its own, made of three syllables
MEASURES = {
    "cold": cold,
    "warm": warm,
    "queries": queries,
    "memory": memory,
    "fleet": fleet,
    "size": size,
    "edits": edits,  # the last: it changes files of the vault
}


class Measure(Protocol):
    """What a module of ``measures`` offers."""

    TITLE: str

    def measure(self, bench: Bench, recorder: Recorder) -> None:
        """Take the figures of one vault."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks; returns 0, 1 (a measure broke off), 2 (wrong use) or 130 (stopped)."""
    parser = build_parser()
    given = parser.parse_args(argv)
    corpus = given.corpus or (CORPUS if CORPUS.is_dir() else None)
    if corpus is None or not corpus.is_dir():
        named = f"{corpus} is no folder" if corpus else "no corpus"
        parser.error(f"{named}: give a folder of markdown, --corpus DIR or make bench CORPUS=DIR")
    try:
        asked = _questions(given.questions, corpus)
        results = run(given, corpus, asked)
    except (BenchError, WikimcpError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        return 130
    _put_out(results, given)
    for outcome in results.outcomes:
        if outcome.failure:
            print(f"{outcome.measure} at {outcome.set_name}: {outcome.failure}", file=sys.stderr)
    return 1 if any(outcome.failure for outcome in results.outcomes) else 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    named = os.environ.get("WIKIMCP_BENCH_CORPUS")
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        default=Path(named) if named else None,
        help="a folder of markdown (default: WIKIMCP_BENCH_CORPUS, else the shared corpus where it is there)",
    )
    parser.add_argument("--questions", type=Path, metavar="CSV", help="questions to ask (default: titles)")
    parser.add_argument(
        "--copies", type=_copies, default=(1, 10), metavar="N,N", help="sizes, as copies of the corpus"
    )
    parser.add_argument("--no-varied", action="store_true", help="leave out the vaults of varied copies")
    parser.add_argument("--only", type=_measures, default=tuple(MEASURES), metavar="NAME,NAME", help=_ONLY)
    parser.add_argument("--runs", type=_number, default=3, metavar="N", help="repetitions of each measure")
    parser.add_argument("--embedder", default="wordllama", metavar="NAME", help="the product's --embedder")
    parser.add_argument("--quick", action="store_true", help="one repetition, few calls, one copy")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures as JSON, too")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="where RESULTS.md and plots/ go (default: benchmarks/)"
    )
    return parser


_ONLY = f"some of {', '.join(MEASURES)}"


def _copies(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_number(part, most=_MOST_COPIES) for part in text.split(",")))


def _number(text: str, *, most: int = 99) -> int:
    if not (text.strip().isdecimal() and 1 <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no number from 1 to {most}")
    return int(text)


def _measures(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in MEASURES:
            raise argparse.ArgumentTypeError(f"no measure '{name}'; there are {', '.join(MEASURES)}")
    return tuple(name for name in MEASURES if name in names)


def _questions(file: Path | None, corpus: Path) -> list[str]:
    """Return what is asked: a file's questions, those with an answer first; else titles of pages."""
    if file is None and corpus.resolve() == CORPUS.resolve() and QUESTIONS.is_file():
        file = QUESTIONS
    if file is None:
        return titles(corpus) or ["what is here"]
    questions = sorted(read_questions(file), key=lambda question: not question.answerable)
    return [question.text for question in questions]


def run(given: argparse.Namespace, corpus: Path, questions: Sequence[str]) -> Results:
    """Measure every set of pages with every measure."""
    copies = (1,) if given.quick else given.copies
    plan = [(number, varied) for number in copies for varied in (False, True)]
    plan = [(n, varied) for n, varied in plan if not varied or (n > 1 and not given.no_varied)]
    effort = Effort.of(quick=given.quick, runs=given.runs)
    load_before = load_average()
    sets: list[VaultSet] = []
    outcomes: list[Outcome] = []
    with progress(len(plan) * len(given.only)) as (say, step):
        for number, varied in plan:
            with tempfile.TemporaryDirectory(prefix="wikimcp-bench-") as work:
                say(f"{number} {'varied ' if varied else ''}copies: writing")
                vault = Path(work) / "vault"
                pages = build_vault(corpus, vault, copies=number, varied=varied)
                sets.append(VaultSet(number, varied, pages))
                name = sets[-1].name
                bench = Bench(
                    vault=vault,
                    work=Path(work),
                    before=fingerprints(vault),
                    questions=questions,
                    effort=effort,
                    embedder=given.embedder,
                    say=lambda what, name=name: say(f"{name}: {what}"),  # type: ignore[misc]
                )
                for measure in given.only:
                    outcomes.append(take(measure, MEASURES[measure], bench, name))
                    step()
    options = {
        "embedder": given.embedder,
        "repetitions": effort.runs,
        "questions": len(questions),
        **({"quick": "yes"} if given.quick else {}),
    }
    today = date.today().isoformat()
    return Results(today, machine_facts(), load_before, load_average(), options, sets, outcomes)


def take(name: str, module: Measure, bench: Bench, set_name: str) -> Outcome:
    """Take one measure; one that breaks off keeps what it had found, and says why."""
    recorder = Recorder()
    begin, load, failure = time.perf_counter(), load_average(), ""
    try:
        module.measure(bench, recorder)
    except (BenchError, OSError) as error:
        failure = " ".join(str(error).split()) or type(error).__name__
    seconds = time.perf_counter() - begin
    return Outcome(name, set_name, recorder.figures(), tuple(recorder.remarks), failure, seconds, load)


def _put_out(results: Results, given: argparse.Namespace) -> None:
    """Write the report, and the JSON if asked for.

    One that is not whole (quick, or of some measures) is printed unless it was told where to go.
    """
    names = {name: module.TITLE for name, module in MEASURES.items()}
    if given.json:
        given.json.write_text(json.dumps(results.as_json(), indent=1) + "\n", encoding="utf-8")
    whole = not given.quick and given.only == tuple(MEASURES)
    if given.output is None and not whole:
        print(report.render(results, names))
        return
    folder = given.output or HERE
    folder.mkdir(parents=True, exist_ok=True)
    print(report.write(results, folder, names))


@contextmanager
def progress(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Show on stderr what is done: a bar for a person, else one line for each thing begun."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False, highlight=False)
    if not console.is_terminal:
        yield (lambda what: console.print(what, soft_wrap=True)), (lambda: None)
        return
    columns = (BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield (lambda what: bar.update(task, description=what)), (lambda: bar.advance(task))


if __name__ == "__main__":
    raise SystemExit(main())
