"""The verb `okf`: does a folder conform to the Open Knowledge Format."""

from __future__ import annotations

import argparse
from pathlib import Path

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.show import print_json, print_table, print_text
from wikimcp.cli.workspace_options import add_workspace_options, workspace_of

_VERSIONS = ("0.1", "0.2", "0.3")


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    okf = verbs.add(
        "okf",
        "check a wiki against the Open Knowledge Format",
        prints="Prints whether the folder conforms to versions 0.1 to 0.3, and each finding with file and "
        "line. Errors are what a version requires; the rest is advice. Exit code 1 when it does not conform.",
        examples=[
            "wikimcp okf check",
            "wikimcp okf check docs/wiki --version 0.1",
            "wikimcp okf check --json",
        ],
    )
    okf.add_argument("action", choices=["check"], metavar="check")
    okf.add_argument("folder", nargs="?", metavar="DIR", help="the folder (default: the compiled wiki)")
    okf.add_argument(
        "--version",
        dest="okf_version",
        choices=_VERSIONS,
        metavar="VERSION",
        help="the version that counts (default: the declared one, else 0.2)",
    )
    add_workspace_options(okf, writes=False)


def run(arguments: argparse.Namespace) -> int:
    """Check the folder; 1 when it does not conform."""
    from wikimcp.authoring.okf_check import check_okf
    from wikimcp.authoring_tools.profile import wire_form

    if arguments.folder is not None:
        folder = Path(arguments.folder)
    else:
        workspace = workspace_of(arguments)
        workspace.require_wiki()
        folder = workspace.wiki_root
    report = check_okf(folder, version=arguments.okf_version or "")
    if getattr(arguments, "json", False):
        print_json(wire_form(report.to_json()))
        return 0 if report.ok else 1
    verdicts = ", ".join(f"{v} {'yes' if report.conforms(v) else 'no'}" for v in _VERSIONS)
    print_text(f"{report.pages} pages; declared {report.declared or 'nothing'}; conforms to {verdicts}")
    if report.findings:
        rows = [[f"{item.file}:{item.line}", item.level, item.rule, item.message] for item in report.findings]
        print_table(["where", "level", "rule", "what"], rows)
    return 0 if report.ok else 1
