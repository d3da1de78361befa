"""`wikimcp lint`: what is wrong with a wiki, for people, for programs and for code hosts.

Exit code 0 when no link is broken and no anchor dead, 1 otherwise; all else it tells is advice.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wikimcp import __version__
from wikimcp.cli.parsing import UsageError, Verbs, settings_flags
from wikimcp.cli.show import print_json, print_text
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.cli.workspace_options import add_workspace_options, workspace_of

if TYPE_CHECKING:
    from wikimcp.authoring.lint import LintOptions
    from wikimcp.authoring.lint_fixes import FixReport
    from wikimcp.authoring.lint_report import LintReport
    from wikimcp.authoring.workspace import Workspace
    from wikimcp.citations.anchors import SourceRoots
_MOST_SHOWN = 20  # findings of one rule in text
FORMATS = ("text", "json", "sarif")


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    lint = verbs.add(
        "lint",
        "find broken links, dead anchors, orphans, old pages and what else is wrong with a wiki",
        prints="Prints each finding with its rule, page and line, and a score of 0 to 100 with what each "
        "rule took from it. Exit code 1 when a link is broken or an anchor dead. Checks the vault that is "
        "named, of whatever dialect; without one the compiled wiki of the project, by rules of its own too.",
        examples=[
            "wikimcp lint --vault docs",
            "wikimcp lint --vault docs --require type,owner --stale-days 90",
            "wikimcp lint --vault docs --format sarif > lint.sarif",
            "wikimcp lint                               the compiled wiki in .wiki",
            "wikimcp lint --fix --dry-run               what would be repaired there",
        ],
    )
    lint.add_argument("path", nargs="?", metavar="VAULT", help="the folder, as --vault")
    lint.add_argument("--format", choices=FORMATS, help="text (shortened), json or sarif (all of it)")
    lint.add_argument(
        "--stale-days", type=int, metavar="N", help="days after which a page is old (default 180; 0: never)"
    )
    lint.add_argument("--require", metavar="FIELDS", help="frontmatter fields that every page must have")
    lint.add_argument("--include-drafts", action="store_true", help="withheld pages too, where allowed")
    lint.add_argument(
        "--fix",
        action="store_true",
        help="repair what is safe in the compiled wiki: moved anchors, drifted indexes, leftover wikilinks",
    )
    add_workspace_options(lint)


def run(arguments: argparse.Namespace) -> int:
    """Check the vault, or the compiled wiki, and print what was found."""
    if arguments.stale_days is not None and arguments.stale_days < 0:
        raise UsageError("--stale-days takes a number of days, 0 or more", hint="As in --stale-days 90.")
    if arguments.dry_run and not arguments.fix:
        raise UsageError("--dry-run goes with --fix", hint="Without --fix nothing is written anyway.")
    workspace = None if _names_vault(arguments) else workspace_of(arguments)
    form = arguments.format or ("json" if getattr(arguments, "json", False) else "text")
    if workspace is not None and (workspace.initialised or arguments.workspace or arguments.wiki_root):
        report, fixed = _of_wiki(workspace, arguments)
    elif arguments.fix:
        raise UsageError(
            "--fix repairs a compiled wiki, and none is here",
            hint="A vault of yours is never written to. `wikimcp init` starts a compiled wiki.",
        )
    else:
        report, fixed = _of_vault(arguments), None
    print_report(report, form, fixed)
    return 0 if report.ok else 1


def _names_vault(arguments: argparse.Namespace) -> bool:
    return bool(arguments.path or getattr(arguments, "vault", None))


def _options(arguments: argparse.Namespace, sources: SourceRoots | None = None) -> LintOptions:
    from wikimcp.authoring.lint import STALE_DAYS, LintOptions

    fields = (arguments.require or "").split(",")
    return LintOptions(
        stale_days=STALE_DAYS if arguments.stale_days is None else arguments.stale_days,
        required=tuple(name for part in fields if (name := part.strip())),
        sources=sources,
    )


def _of_vault(arguments: argparse.Namespace) -> LintReport:
    from wikimcp.authoring.lint import lint_pages

    settings = settings_of(arguments)
    with opened(settings, vectors="none") as service:
        options = _options(arguments, service.options.sources)
        report: LintReport = service.examine(
            local_caller(settings),
            lambda reading: lint_pages(reading, options),
            include_drafts=arguments.include_drafts,
        )
    return report


def _of_wiki(workspace: Workspace, arguments: argparse.Namespace) -> tuple[LintReport, FixReport | None]:
    """Check a compiled wiki, after repairing what is safe if that is asked for."""
    from wikimcp.app import AuthoringSetup, open_wiki_index
    from wikimcp.authoring.lint import lint_wiki
    from wikimcp.authoring.lint_fixes import fix_wiki
    from wikimcp.cli.authoring_server import wiki_settings

    workspace.require_wiki()
    wiki = wiki_settings(settings_flags(arguments), wiki_root=str(workspace.wiki_root))
    index = open_wiki_index(AuthoringSetup(workspace, wiki))
    try:
        fixed = fix_wiki(workspace, index.examine) if arguments.fix else None
        return lint_wiki(workspace, index.examine, _options(arguments)), fixed
    finally:
        index.close()


def print_report(report: LintReport, form: str, fixed: FixReport | None = None) -> None:
    """Print a report: whole as JSON or SARIF, of each rule the first findings as text."""
    if form == "json":
        print_json({**report.to_json(), **({"fixed": fixed.to_json()} if fixed else {})})
    elif form == "sarif":
        from wikimcp.authoring.lint_sarif import sarif

        print_json(sarif(report, version=__version__))
    else:
        if fixed is not None:
            print_fixed(fixed)
        print_lines(report)


def print_fixed(fixed: FixReport) -> None:
    """Print what was repaired, or with its diffs what would be."""
    would = "would be " if fixed.dry_run else ""
    where = "in these files:" if fixed.changes else "so no file is written."
    print(f"{would}repaired: {fixed.links} wikilinks, {fixed.anchors} anchors, {where}")
    for change in fixed.changes:
        print(f"  {change.file}")
        if change.diff:
            print_text(change.diff)
    if fixed.waiting:
        print("these keep their wikilinks until their sources are read and they are filed again:")
    for page in fixed.waiting:
        print(f"  {_clean(page)}")
    print()


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
        for hint in dict.fromkeys(finding.hint or rule.hint for finding in found):
            print(f"  {hint}")
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
