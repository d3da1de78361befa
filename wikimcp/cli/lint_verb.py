"""`wikimcp lint`: what is wrong with a wiki, for people, for programs and for code hosts.

Exit code 0 when no link is broken and no anchor dead, 1 otherwise; all else it tells is advice.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wikimcp import __version__
from wikimcp.cli.parsing import UsageError, Verbs
from wikimcp.cli.show import print_json
from wikimcp.cli.verbs import local_caller, opened, settings_of

if TYPE_CHECKING:
    from wikimcp.authoring.lint_report import LintReport

_MOST_SHOWN = 20  # findings of one rule in text
FORMATS = ("text", "json", "sarif")


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    lint = verbs.add(
        "lint",
        "find broken links, dead anchors, orphans, old pages and what else is wrong with a wiki",
        prints="Prints each finding with its rule, page and line, and a score of 0 to 100 with what each "
        "rule took from it. Exit code 1 when a link is broken or an anchor dead. Works on any vault.",
        examples=[
            "wikimcp lint --vault docs",
            "wikimcp lint --vault docs --require type,owner --stale-days 90",
            "wikimcp lint --vault docs --format json",
            "wikimcp lint --vault docs --format sarif > lint.sarif",
        ],
    )
    lint.add_argument("path", nargs="?", metavar="VAULT", help="the folder, as --vault")
    lint.add_argument("--format", choices=FORMATS, help="text (shortened), json or sarif (all of it)")
    lint.add_argument(
        "--stale-days", type=int, metavar="N", help="days after which a page is old (default 180; 0: never)"
    )
    lint.add_argument("--require", metavar="FIELDS", help="frontmatter fields that every page must have")
    lint.add_argument("--include-drafts", action="store_true", help="withheld pages too, where allowed")


def run(arguments: argparse.Namespace) -> int:
    """Check the vault and print what was found."""
    days = arguments.stale_days
    if days is not None and days < 0:
        raise UsageError("--stale-days takes a number of days, 0 or more", hint="As in --stale-days 90.")
    settings = settings_of(arguments)
    required = tuple(name for part in (arguments.require or "").split(",") if (name := part.strip()))
    from wikimcp.authoring.lint import STALE_DAYS, LintOptions, lint_pages

    with opened(settings, vectors="none") as service:
        options = LintOptions(
            stale_days=STALE_DAYS if days is None else days,
            required=required,
            sources=service.options.sources,
        )
        report = service.examine(
            local_caller(settings),
            lambda reading: lint_pages(reading, options),
            include_drafts=arguments.include_drafts,
        )
    print_report(report, arguments.format or ("json" if getattr(arguments, "json", False) else "text"))
    return 0 if report.ok else 1


def print_report(report: LintReport, form: str) -> None:
    """Print a report: whole as JSON or SARIF, of each rule the first findings as text."""
    if form == "json":
        print_json(report.to_json())
    elif form == "sarif":
        from wikimcp.authoring.lint_sarif import sarif

        print_json(sarif(report, version=__version__))
    else:
        print_lines(report)


def print_lines(report: LintReport) -> None:
    """Print a report for people: findings as ``page:line:column``, rule by rule, then the score."""
    from wikimcp.authoring.lint_report import RULES

    for rule in RULES:
        found = [finding for finding in report.by_key[rule.key] if finding.rule is rule]
        if not found:
            continue
        print(f"{rule.code} {rule.name} ({rule.level}): {len(found)}. {rule.summary}")
        for finding in found[:_MOST_SHOWN]:
            column = f":{finding.column}" if finding.column else ""
            print(f"  {_clean(finding.page)}:{finding.line}{column}: {_clean(finding.message)}")
        if len(found) > _MOST_SHOWN:
            print(f"  and {len(found) - _MOST_SHOWN} more; --format json tells all")
        print(f"  {rule.hint}")
        print()
    lost = [f"{part.key} -{part.lost:.1f}" for part in report.parts if part.lost >= 0.05]
    print(
        f"{'ok' if report.ok else 'not ok'}: {len(report.findings)} findings on {report.measured.pages} pages"
    )
    print(f"score {report.score} of 100{': ' + ', '.join(lost) if lost else ''}")
    for note in report.notes:
        print(f"note: {note}")


def _clean(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
