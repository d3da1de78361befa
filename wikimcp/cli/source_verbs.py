"""The verbs `retire` and `repoint`: sources that are gone for good, and sources that lie elsewhere."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.progress import StageProgress
from wikimcp.cli.refresh_report import show_refresh
from wikimcp.cli.show import print_text
from wikimcp.cli.workspace_options import add_workspace_options, show_report, workspace_of

if TYPE_CHECKING:
    from wikimcp.authoring.sources import SourcesReport


def add(verbs: Verbs) -> None:
    """Describe both verbs."""
    retire = verbs.add(
        "retire",
        "give up sources of the compiled wiki that are gone for good",
        prints="Marks them as retired in the heads of all pages that name them, and refreshes. Prints these "
        "pages: they are to be written anew from what is left.",
        examples=["wikimcp retire src/old.py", "wikimcp retire docs/2019 --dry-run"],
    )
    retire.add_argument(
        "paths", nargs="+", metavar="PATH", help="a source or a folder of them, relative to the project"
    )
    add_workspace_options(retire)
    repoint = verbs.add(
        "repoint",
        "tell the compiled wiki where a source lies now",
        prints="Names it by its new path in the heads of all pages that name it, finds their lines again, "
        "and refreshes. Prints these pages. A file that moved without a change needs no telling.",
        examples=["wikimcp repoint src/auth.py src/auth/tokens.py", "wikimcp repoint docs handbook"],
    )
    repoint.add_argument("old", metavar="OLD", help="a source or a folder of them, as the pages name it")
    repoint.add_argument("new", metavar="NEW", help="where it is now, relative to the project")
    add_workspace_options(repoint)


def run(arguments: argparse.Namespace) -> int:
    """Retire or repoint."""
    from wikimcp.authoring.sources import repoint_sources, retire_sources

    workspace = workspace_of(arguments)
    with StageProgress(quiet=True) as progress:
        if arguments.verb == "retire":
            report = retire_sources(workspace, arguments.paths, progress=progress)
        else:
            report = repoint_sources(workspace, arguments.old, arguments.new, progress=progress)
    _show(report, arguments)
    return 0


def _show(report: SourcesReport, arguments: argparse.Namespace) -> None:
    if getattr(arguments, "json", False):
        show_report(report.to_json(), arguments)
        return
    between = " to " if report.verb == "repointed" else ", "
    print_text(f"{report.verb}: {between.join(report.sources)}")
    for page in report.pages:
        print_text(f"  {page.page}: {', '.join(page.sources)}")
    show_refresh(report.refresh.to_json(), arguments)
