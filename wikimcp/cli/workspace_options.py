"""What the verbs of the compiled wiki share: the options that name a workspace, and printing reports."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import settings_flags
from wikimcp.cli.show import print_facts, print_json, print_text
from wikimcp.settings import load_authoring

if TYPE_CHECKING:
    from wikimcp.authoring.workspace import Workspace


def add_workspace_options(parser: argparse.ArgumentParser, *, writes: bool = True) -> None:
    """Add the options of every verb that works in a workspace; ``writes``: those of verbs that write."""
    parser.add_argument("--workspace", metavar="DIR", help="the project (default: the nearest with a wiki)")
    parser.add_argument("--wiki-root", metavar="DIR", help="the compiled wiki in it (default: .wiki)")
    parser.add_argument(
        "--raw-root",
        action="append",
        metavar="[NAME=]DIR",
        help="a folder of sources (default: those of the last time, else the whole project)",
    )
    if writes:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be written")
        parser.add_argument(
            "--allow-secrets",
            action="store_true",
            help="write even what looks like a secret",
        )


def workspace_of(arguments: argparse.Namespace, *, upwards: bool = True) -> Workspace:
    """Return the workspace of a command line; without ``upwards`` only the current folder is tried."""
    from wikimcp.authoring.opening import open_workspace

    flags = settings_flags(arguments)
    flags.pop("vault", None)
    if (profile := getattr(arguments, "profile", None)) is not None:
        flags["authoring.profile"] = profile
    return open_workspace(
        load_authoring(flags),
        upwards=upwards,
        dry_run=getattr(arguments, "dry_run", False),
        allow_secrets=getattr(arguments, "allow_secrets", False),
    )


def show_report(report: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Print a report: as it goes on the wire with --json, else as facts with the diffs of a dry run below."""
    from wikimcp.authoring_tools.profile import wire_form

    shown = wire_form(report)
    if getattr(arguments, "json", False):
        print_json(shown)
        return
    current = shown.pop("current", None)
    changes = shown.get("changes") or []
    short = [{"file": change["file"], "action": change["action"]} for change in changes]
    print_facts({**shown, "changes": short} if changes else shown)
    for change in changes:
        if "diff" in change:
            print_text(change["diff"])
    if current is not None:
        print_text(f"\nThe page as it is now:\n\n{current}")
