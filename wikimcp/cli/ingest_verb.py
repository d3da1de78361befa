"""The verb `ingest`: put one source from outside into the staging area, and say how to file it."""

from __future__ import annotations

import argparse
import sys

from wikimcp.cli.parsing import UsageError, Verbs, settings_flags
from wikimcp.cli.show import print_json, print_text
from wikimcp.cli.workspace_options import add_workspace_options, workspace_of
from wikimcp.settings import load_authoring

_MOST_TYPED = 33_554_433  # bytes of stdin: one more than a source may have


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    ingest = verbs.add(
        "ingest",
        "put a source into the staging area of the compiled wiki",
        prints="Prints the brief by which an agent files a source, after putting the untouched source, its "
        "text and what is known of it into raw/ingest/. Content that was staged before is reported, not "
        "staged twice.",
        examples=[
            "wikimcp ingest --path inbox/paper.pdf",
            'wikimcp ingest --text "What was said in the meeting ..." --title "Meeting of 3 May"',
            "pbpaste | wikimcp ingest --text - --title Notes",
            "wikimcp ingest --url https://example.org/post --set authoring.allow_fetch=true",
        ],
    )
    source = ingest.add_mutually_exclusive_group(required=True)
    source.add_argument("--path", dest="source_path", metavar="FILE", help="a file inside the workspace")
    source.add_argument("--text", metavar="TEXT", help="the text itself; - for stdin")
    source.add_argument("--url", metavar="URL", help="a public address, where authoring.allow_fetch is set")
    ingest.add_argument("--title", default="", metavar="TITLE", help="what to call it")
    add_workspace_options(ingest)


def run(arguments: argparse.Namespace) -> int:
    """Stage the source."""
    from wikimcp.authoring.ingest import ingest_source
    from wikimcp.authoring_tools.profile import wire_form

    report = ingest_source(
        workspace_of(arguments),
        text=_typed() if arguments.text == "-" else arguments.text,
        path=arguments.source_path,
        url=arguments.url,
        title=arguments.title,
        allow_fetch=load_authoring(settings_flags(arguments)).allow_fetch,
    )
    if getattr(arguments, "json", False):
        print_json(wire_form(report.to_json()))
        return 0
    if report.staged:
        print(f"staged: {report.folder}")
    elif report.dry_run and not report.duplicate:
        print(f"would be staged: {report.folder}")
    print_text(report.brief)
    return 0


def _typed() -> str:
    try:
        return sys.stdin.buffer.read(_MOST_TYPED).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("stdin is not UTF-8", hint="Give the file with --path.") from error
