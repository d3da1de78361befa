"""`wikimcp eval`: run the questions over a vault in several modes and embedders, and print tables."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import UsageError
from wikimcp.cli.progress import StageProgress
from wikimcp.cli.show import print_json, print_table
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.errors import BadArgument, nearest
from wikimcp.setting_groups import Urls
from wikimcp.settings import Settings

if TYPE_CHECKING:
    from wikimcp.evaluation.measures import Row
    from wikimcp.evaluation.questions import Question
    from wikimcp.service import WikiService

MODES = ("hybrid", "lexical", "dense")
EMBEDDERS = ("auto", "wordllama", "fastembed", "none")


@dataclass(frozen=True, slots=True)
class Run:
    """One pass over all questions: how it was asked, what came back, which golds were not found."""

    mode: str
    embedder: str
    rows: Sequence[Row]
    unmatched: Sequence[str]


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure retrieval and print one table for each run, and one that sets the runs side by side."""
    from wikimcp.evaluation.measures import by_category
    from wikimcp.evaluation.questions import read_questions

    modes = _several(arguments.mode, MODES, "--mode", every="all")
    budgets = _budgets(arguments.budgets)
    embedders = _several(getattr(arguments, "embedder", None) or "auto", EMBEDDERS, "--embedder")
    try:
        questions = read_questions(Path(arguments.questions))
    except BadArgument as error:
        raise UsageError(error.message, hint=error.hint) from error
    runs: list[Run] = []
    for embedder in embedders:
        arguments.embedder = embedder
        runs += _runs(settings_of(arguments), questions, modes=modes, budgets=budgets)
    if arguments.csv:
        _write_csv(Path(arguments.csv), runs)
    tables = [(run, by_category(run.rows)) for run in runs]
    if getattr(arguments, "json", False):
        print_json(
            {
                "questions": len(questions),
                "runs": [
                    {"mode": r.mode, "embedder": r.embedder, "categories": table} for r, table in tables
                ],
                "unmatched": sorted({name for run in runs for name in run.unmatched}),
            }
        )
        return 0
    for run, table in tables:
        print_table(*_table(table), title=f"{run.mode}, {run.embedder}")
    if len(tables) > 1:
        overall = {f"{run.mode}, {run.embedder}": table["overall"] for run, table in tables}
        print_table(*_table(overall, first="run"), title="side by side")
    print(_LEGEND)
    for name in sorted({name for run in runs for name in run.unmatched}):
        print(f"wikimcp: not in this vault, counted as missed: {name}", file=sys.stderr)
    return 0


def _runs(
    settings: Settings, questions: Sequence[Question], *, modes: Sequence[str], budgets: Sequence[int]
) -> list[Run]:
    """Open the vault once and ask in every mode."""
    from wikimcp.evaluation.runs import Corpus, ask_all

    settings = replace(settings, urls=Urls(file=True))  # to check citations against the files
    if settings.embedder == "none":
        modes = [mode for mode in modes if mode != "dense"]
    if not modes:
        raise UsageError("the mode dense needs an embedder", hint="Leave out --embedder none.")
    with opened(settings, vectors="all", quiet=False) as service:
        ask = _asker(service, settings)
        status = service.status(local_caller(settings))
        embedder = str(status.get("embedders", {}).get("answering") or settings.embedder)
        corpus = Corpus(ask)
        places = {gold: corpus.place(gold) for question in questions for gold in question.golds}
        unmatched = [
            f"line {gold.line}, page {gold.canonical_id}"
            + (f", section '{gold.heading_path}'" if place else "")
            for gold, place in places.items()
            if place is None or place.lines is None
        ]
        runs = []
        with StageProgress(quiet=True) as progress:
            for mode in modes:
                rows: list[Row] = []
                for row in ask_all(questions, ask, corpus=corpus, places=places, mode=mode, budgets=budgets):
                    rows.append(row)
                    progress(mode, len(rows), len(questions))
                runs.append(Run(mode, embedder, rows, unmatched))
    return runs


def _asker(service: WikiService, settings: Settings) -> Any:  # noqa: ANN401 - evaluation.runs.Ask
    from wikimcp.evaluation.runs import Reply

    caller = local_caller(settings)

    def ask(tool: str, arguments: Mapping[str, Any]) -> Reply:
        answer = service.call(tool, arguments, caller)
        return Reply(answer.text, answer.structured or {})

    return ask


def _table(
    summaries: Mapping[str, Mapping[str, float | int | None]], *, first: str = "category"
) -> tuple[list[str], list[list[str]]]:
    """Lay summaries out: one row each, one column for each measure that some row has."""
    names = list(dict.fromkeys(name for summary in summaries.values() for name in summary))
    names = [name for name in names if any(summary.get(name) is not None for summary in summaries.values())]
    columns = [first, *(f"{_heading(name)}#" for name in names)]
    rows = [[key, *(_cell(name, summary.get(name)) for name in names)] for key, summary in summaries.items()]
    return columns, rows


_LEGEND = """\
R: share of the right sections covered by at least half, by token budget, and by the first 5 sections.
P: share of the right pages among the first 1, 5, 12. MRR: mean of 1 / rank of the first right page.
said: answerable questions called strong or partial; weak: called weak. far, near, none: questions that
the vault does not answer (far off, near misses, all) called weak or unknown. T: tokens returned.
cited: citations returned; true: share whose lines in the file have the cited hash. p50, p95: milliseconds."""
_HEADINGS = {
    "questions": "n",
    "recall_first_5": "R first 5",
    "mrr": "MRR",
    "grounded": "said",
    "called_weak": "weak",
    "negative": "none",
    "citations": "cited",
    "verified": "true",
    "p50_ms": "p50",
    "p95_ms": "p95",
}
_PREFIXES = {"page_recall_": "P ", "recall_": "R ", "tokens_": "T "}


def _heading(name: str) -> str:
    if name in _HEADINGS:
        return _HEADINGS[name]
    for prefix, short in _PREFIXES.items():
        if name.startswith(prefix):
            return short + name.removeprefix(prefix)
    return name


def _cell(name: str, value: float | int | None) -> str:
    if value is None:
        return ""
    if name in ("questions", "citations") or name.startswith("tokens"):
        return f"{value:,.0f}"
    return f"{value:.1f}" if name.endswith("_ms") else f"{value:.3f}"


def _several(text: str, known: Sequence[str], option: str, *, every: str = "") -> list[str]:
    """Read names by comma; ``every`` stands for all of them. Raises UsageError."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if every and every in names:
        return list(known)
    for name in names:
        if name not in known:
            near = nearest(name, known, limit=1)
            hint = f"Did you mean {near[0]}?" if near else f"One of: {', '.join(known)}."
            raise UsageError(f"{option} cannot be '{name[:40]}'", hint=hint)
    if not names:
        raise UsageError(f"{option} names nothing", hint=f"One of: {', '.join(known)}.")
    return names


def _budgets(text: str) -> list[int]:
    try:
        budgets = sorted({int(part) for part in text.split(",")})
    except ValueError as error:
        raise UsageError(
            f"--budgets takes whole numbers by comma, not '{text[:40]}'", hint="As in --budgets 2000,6000."
        ) from error
    if budgets[0] < 500 or budgets[-1] > 24_000:
        raise UsageError("--budgets are 500 to 24,000 tokens", hint="As in --budgets 2000,6000.")
    return budgets


def _write_csv(file: Path, runs: Sequence[Run]) -> None:
    """Write one row for each question of each run."""
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            budgets = list(runs[0].rows[0].recall)
            writer.writerow(
                [
                    *("mode", "embedder", "id", "category", "kind", "question"),
                    *(f"recall_{budget}" for budget in budgets),
                    *("recall_first_5", "reciprocal_rank"),
                    *(f"tokens_{budget}" for budget in budgets),
                    *("confidence", "top_similarity", "sections", "verified", "ms"),
                ]
            )
            for run in runs:
                writer.writerows(_csv_row(run, row) for row in run.rows)
    except OSError as error:
        raise UsageError(
            f"{file.name} cannot be written ({error.strerror})", hint="Check the path."
        ) from error


def _csv_row(run: Run, row: Row) -> list[str | int | float]:
    question = row.question
    return [
        *(run.mode, run.embedder, question.id, question.category, question.kind, question.text),
        *(round(value, 3) for value in row.recall.values()),
        *(round(row.first, 3), round(row.reciprocal_rank, 3)),
        *row.tokens.values(),
        *(
            row.confidence,
            round(row.top_similarity, 3),
            row.cited,
            row.verified,
            round(row.seconds * 1000, 2),
        ),
    ]
