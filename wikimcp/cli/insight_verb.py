"""The verb `insight`: keep an answer as a proposed page of the compiled wiki."""

from __future__ import annotations

import argparse

from wikimcp.cli.content import content_of
from wikimcp.cli.parsing import Verbs, settings_flags
from wikimcp.cli.workspace_options import add_workspace_options, show_report, workspace_of


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    insight = verbs.add(
        "insight",
        "keep an answer, a decision or an open question",
        prints="Prints the path and content_hash of the page that it wrote into the compiled wiki, proposed "
        "until somebody accepts it. A page that is there is changed only with --content-hash; else its text "
        "is printed, with exit code 1.",
        examples=[
            'wikimcp insight "Tokens live ten minutes" --text "They are checked against ..."',
            'wikimcp insight "Use Ed25519" --file why.md --category decision --evidence src/jwt.py#L4-L9',
            'wikimcp insight "Who owns billing?" --file - --category question',
        ],
    )
    insight.add_argument("title", metavar="TITLE", help="at most 200 characters")
    source = insight.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar="TEXT", help="the content, in markdown")
    source.add_argument("--file", metavar="FILE", help="a file that holds it; - for stdin")
    insight.add_argument(
        "--category", default="concept", help="decision, concept (default), entity, question"
    )
    insight.add_argument("--description", default="", metavar="TEXT", help="one sentence for indexes")
    insight.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag (repeatable)")
    insight.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="CITATION",
        help="a handle, a cite:// uri or lines of a source, verified when it is written (repeatable)",
    )
    insight.add_argument("--content-hash", metavar="HASH", help="of the page as you read it, to change it")
    insight.add_argument("--author", default="", metavar="NAME", help="name/version, or human:name")
    add_workspace_options(insight)


def run(arguments: argparse.Namespace) -> int:
    """Record it; 1 when the page is there and another one."""
    from wikimcp.app import AuthoringSetup, open_wiki_index
    from wikimcp.authoring.insight import record_insight
    from wikimcp.authoring_tools.profile import conflict_report
    from wikimcp.cli.authoring_server import wiki_settings
    from wikimcp.errors import Conflict

    workspace = workspace_of(arguments)
    workspace.require_wiki()
    wiki = wiki_settings(settings_flags(arguments), wiki_root=str(workspace.wiki_root))
    index = open_wiki_index(AuthoringSetup(workspace, wiki))
    try:
        report = record_insight(
            workspace,
            title=arguments.title,
            content=content_of(arguments.text, arguments.file),
            category=arguments.category,
            description=arguments.description,
            tags=arguments.tag,
            evidence=arguments.evidence,
            content_hash=arguments.content_hash,
            verify=index.verify,
            by=arguments.author,
        )
    except Conflict as conflict:
        show_report(conflict_report(conflict), arguments)
        return 1
    finally:
        index.close()
    show_report(report.to_json(), arguments)
    return 0
