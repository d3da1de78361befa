"""What the verbs around clients take: install, uninstall and hook."""

from __future__ import annotations

import argparse

from wikimcp.cli.parsing import Verbs

CLIENT_VERBS = ("install", "uninstall", "hook")
_CLIENTS = "claude-code, antigravity, cursor, vscode, codex, gemini"


def add_client_verbs(verbs: Verbs) -> None:
    """Add install, uninstall and hook."""
    install = verbs.add(
        "install",
        "wire this wiki into a client",
        prints="Prints what was written into the client's files of the project. Installing twice changes "
        "nothing; uninstalling puts back every byte.",
        examples=[
            "wikimcp install claude-code --vault docs",
            "wikimcp install cursor --project ~/work/shop --dry-run      show the diff, write nothing",
            'wikimcp install codex --command "uvx --from wikimcp-server wikimcp"',
            "wikimcp install antigravity --pin architecture --cluster runbooks",
            "wikimcp install claude-code --uninstall",
        ],
        more=f"clients: {_CLIENTS}",
    )
    _add_place(install)
    install.add_argument("--uninstall", action="store_true", help="take out again what was installed")
    install.add_argument(
        "--command", metavar="COMMAND", help="how the client starts wikimcp (default: this installation)"
    )
    install.add_argument(
        "--with-extractor",
        action="store_true",
        help="write the skill wiki-extractor too, for Claude Code and Antigravity",
    )
    _add_briefed(install)
    uninstall = verbs.add(
        "uninstall",
        "take this wiki out of a client again",
        prints="Prints what was taken out: exactly what `wikimcp install` had written.",
        examples=["wikimcp uninstall claude-code", "wikimcp uninstall vscode --dry-run"],
        more=f"clients: {_CLIENTS}",
    )
    _add_place(uninstall)
    hook = verbs.add(
        "hook",
        "brief a client's session (clients run this)",
        prints="Reads what the client sends on stdin. Prints the briefing as the client takes it, once in a "
        "session, or {}. Exit code 0 whatever happens; the reason goes to stderr.",
        examples=["wikimcp hook claude-code --vault docs < input.json"],
        more="variables: WIKIMCP_BASE_URL (ask a server instead of the local index), WIKIMCP_API_KEY or "
        "WIKIMCP_BASIC_AUTH,\nWIKIMCP_BRIEFING_PINS, _CLUSTERS, _BUDGET, _SCOPE_MODE, WIKIMCP_VAULT",
    )
    hook.add_argument("client", metavar="CLIENT", help="claude-code or antigravity")
    _add_briefed(hook)
    add_installed(hook)


def add_installed(parser: argparse.ArgumentParser) -> None:
    """Let a verb take the mark that `wikimcp install` leaves in the commands it writes."""
    parser.add_argument("--installed", metavar="MARK", help=argparse.SUPPRESS)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help=_CLIENTS)
    parser.add_argument("--project", metavar="DIR", help="the project's folder (default: this one)")
    parser.add_argument("--dry-run", action="store_true", help="show the changes as a diff, write nothing")


def _add_briefed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pin", action="append", metavar="SLUG", help="a page to brief every session with (repeatable)"
    )
    parser.add_argument(
        "--cluster", action="append", metavar="NAME", help="a topic cluster to brief with (repeatable)"
    )
