"""`wikimcp briefing`: what the tool get_briefing gives, as markdown or as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from wikimcp.cli.parsing import Verbs
from wikimcp.cli.show import print_json, print_text
from wikimcp.cli.verbs import local_caller, opened, settings_of

BRIEFING_VERBS = ("briefing", "brief")


def add_briefing(verbs: Verbs) -> None:
    """Add the verb with its options."""
    verb = verbs.add(
        "briefing",
        "what to have read before a task",
        prints="Prints what the tool get_briefing gives an agent at the start of a session: sections for the "
        "prompt, pinned pages whole, then clusters, within a token budget.",
        examples=[
            'wikimcp briefing "make the deploy faster" --pin architecture-rules --cluster operations',
            "wikimcp briefing --pins rules,glossary --budget 3000",
            "wikimcp briefing --cluster operations --json",
            "echo 'fix the deploy' | wikimcp briefing --prompt -",
        ],
        aliases=["brief"],
    )
    verb.add_argument("words", nargs="*", metavar="PROMPT", help="the task, quoted or not")
    verb.add_argument("--prompt", metavar="TEXT", help="the task as an option; - reads it from stdin")
    verb.add_argument("--pin", action="append", metavar="SLUG", help="a page to have whole (repeatable)")
    verb.add_argument("--pins", action="append", metavar="SLUG,SLUG", help="several, separated by commas")
    verb.add_argument("--cluster", action="append", metavar="NAME", help="a cluster to have (repeatable)")
    verb.add_argument("--clusters", action="append", metavar="NAME,NAME", help="several, separated by commas")
    verb.add_argument(
        "--budget", "--token-budget", metavar="N", help="tokens at most (200 to 24000; default 6000)"
    )
    verb.add_argument(
        "--scope-mode",
        "--scope",
        metavar="MODE",
        help="for the prompt: prefer the clusters, or strict: nothing else",
    )
    verb.add_argument("--include-drafts", action="store_true", help="drafts too, with --allow-drafts")


def briefing(arguments: argparse.Namespace) -> int:
    """Print a briefing."""
    settings = settings_of(arguments)
    asked = _asked(arguments)
    with opened(settings, vectors="floor" if "prompt" in asked else "none") as service:
        found = service.briefing(asked, local_caller(settings))
    if getattr(arguments, "json", False):
        print_json(found.data)
    else:
        print_text(found.markdown)
    return 0


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the tool's arguments, those that were given; the tool itself checks them."""
    given = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    values = {
        "prompt": "\n".join(filter(None, (" ".join(arguments.words), given))),
        "pins": [*(arguments.pin or []), *_parted(arguments.pins)],
        "clusters": [*(arguments.cluster or []), *_parted(arguments.clusters)],
        "budget": arguments.budget,
        "scope_mode": arguments.scope_mode,
        "include_drafts": arguments.include_drafts,
    }
    return {name: value for name, value in values.items() if value}


def _parted(lists: Sequence[str] | None) -> list[str]:
    return [name for one in lists or () for part in one.split(",") if (name := part.strip())]
