"""The verb `hot`: show the page that a session reads first, or replace it."""

from __future__ import annotations

import argparse

from wikimcp.cli.content import content_of
from wikimcp.cli.parsing import UsageError, Verbs
from wikimcp.cli.show import print_json, print_text
from wikimcp.cli.workspace_options import add_workspace_options, show_report, workspace_of
from wikimcp.errors import NotFound


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    hot = verbs.add(
        "hot",
        "show or replace the page that a session reads first",
        prints="Prints hot.md of the compiled wiki; with --text or --file replaces it and prints the words "
        "before and after. At most 500 words, entries with a date newest first, never fewer words than there "
        "are unless --force.",
        examples=["wikimcp hot", "wikimcp hot --file hot.md", "wikimcp hot --file - --dry-run"],
    )
    source = hot.add_mutually_exclusive_group()
    source.add_argument("--text", metavar="TEXT", help="the new text, in markdown")
    source.add_argument("--file", metavar="FILE", help="a file that holds it; - for stdin")
    hot.add_argument("--force", action="store_true", help="let it hold fewer words than before")
    hot.add_argument("--content-hash", metavar="HASH", help="of the page as you read it")
    hot.add_argument("--author", default="", metavar="NAME", help="name/version, or human:name")
    add_workspace_options(hot)


def run(arguments: argparse.Namespace) -> int:
    """Show or replace; 1 when the page is another one than expected."""
    from wikimcp.authoring.hot import update_hot
    from wikimcp.authoring_tools.profile import conflict_report
    from wikimcp.errors import Conflict

    if arguments.text is None and arguments.file is None:
        return _show(arguments)
    try:
        report = update_hot(
            workspace_of(arguments),
            content_of(arguments.text, arguments.file),
            force=arguments.force,
            content_hash=arguments.content_hash,
            by=arguments.author,
        )
    except Conflict as conflict:
        show_report(conflict_report(conflict), arguments)
        return 1
    show_report(report.to_json(), arguments)
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from wikimcp.authoring.hot import count_words
    from wikimcp.authoring.okf import body_of
    from wikimcp.authoring.pages import HOT, DiskFiles, read_page

    if arguments.force or arguments.dry_run or arguments.content_hash:
        raise UsageError("there is no new text", hint="Give it with --text or --file.")
    workspace = workspace_of(arguments)
    workspace.require_wiki()
    page = read_page(DiskFiles(workspace), HOT)
    if page is None:
        raise NotFound("the wiki has no hot page", hint="`wikimcp hot --file FILE` makes one.")
    body = body_of(page.text).strip()
    if getattr(arguments, "json", False):
        print_json({"text": body, "words": count_words(body), "contentHash": page.content_hash})
    else:
        print_text(body)
    return 0
