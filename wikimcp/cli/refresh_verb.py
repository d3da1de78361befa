"""The verb `refresh`: bring the compiled wiki in line with its sources."""

from __future__ import annotations

import argparse

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.progress import StageProgress
from wikimcp.cli.refresh_report import show_refresh
from wikimcp.cli.workspace_options import add_workspace_options, workspace_of


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    refresh = verbs.add(
        "refresh",
        "bring the compiled wiki in line with its sources",
        prints="Finds what changed in the sources, follows moved lines in the heads of pages, rewrites "
        "generated parts, indexes and log, never prose. Prints changed sources, affected and "
        "stale pages, drifted anchors, contradictions, and folders without a page. Without a "
        "change nothing is written.",
        examples=["wikimcp refresh", "wikimcp refresh --dry-run", "wikimcp refresh --full --json"],
    )
    refresh.add_argument("--full", action="store_true", help="read every source and compile every page again")
    add_workspace_options(refresh)


def run(arguments: argparse.Namespace) -> int:
    """Refresh the wiki of the workspace."""
    from wikimcp.authoring.refresh import refresh_wiki

    workspace = workspace_of(arguments)
    with StageProgress(quiet=True) as progress:
        report = refresh_wiki(workspace, full=arguments.full, progress=progress)
    show_refresh(report.to_json(), arguments)
    return 0
