"""The verb `init`: scaffold the compiled wiki of a project."""

from __future__ import annotations

import argparse

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.workspace_options import add_workspace_options, show_report, workspace_of

_PROFILES = ("codebase", "pkm", "hybrid", "auto")


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    init = verbs.add(
        "init",
        "start the compiled wiki of a project",
        prints="Makes .wiki/ with its protocol, indexes, log and hot page, and puts the skills into "
        ".agents/skills and .claude/skills. Prints every file it made; what is there already stays as it is.",
        examples=[
            "wikimcp init",
            "wikimcp init --profile codebase --raw-root src --raw-root docs",
            "wikimcp init --dry-run --json",
        ],
    )
    init.add_argument("--profile", choices=_PROFILES, metavar="NAME", help=f"one of {', '.join(_PROFILES)}")
    init.add_argument("--no-skills", action="store_true", help="leave the skills out")
    add_workspace_options(init)


def run(arguments: argparse.Namespace) -> int:
    """Scaffold in the current folder, or the one that is named."""
    from wikimcp.authoring.init import init_wiki

    workspace = workspace_of(arguments, upwards=False)
    show_report(init_wiki(workspace, deploy=not arguments.no_skills).to_json(), arguments)
    return 0
