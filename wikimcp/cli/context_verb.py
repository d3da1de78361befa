"""The verb `context`: load as little of the wiki as a question needs, or show what lies around a page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import UsageError, Verbs, settings_flags
from wikimcp.cli.show import print_json, print_table, print_text
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.cli.workspace_options import workspace_of
from wikimcp.errors import WikimcpError
from wikimcp.settings import Settings, load_settings

if TYPE_CHECKING:
    from wikimcp.guide.context import LoadedContext
    from wikimcp.guide.link_map import LinkMap
    from wikimcp.index.view import PageRecord, Reading

_KINDS = ("recent", "named", "domain", "depth", "several", "explore")
_LEAST_BUDGET, _MOST_BUDGET = 100, 24_000


def add(verbs: Verbs) -> None:
    """Describe the verb."""
    context = verbs.add(
        "context",
        "load as little of the wiki as a question needs, level by level",
        prints="Prints what the question needs (L0 hot page, L1 index, L2 cluster, L3 page, or the link "
        "graph: decided by its form), with token counts and sources, and what is missing. --graph prints the "
        "pages within two links of one. Without a vault the compiled wiki of the project is read.",
        examples=[
            'wikimcp context "what changed lately?"                500 tokens: L0',
            'wikimcp context "how does the booking-service retry?" 1,000 tokens: L0 and that page',
            'wikimcp context "what do we know about seat holds?"   1,500 tokens: L0, L1, the link graph',
            "wikimcp context --graph glossary --depth 1",
        ],
    )
    context.add_argument("words", nargs="*", metavar="QUESTION", help="the question, quoted or not")
    context.add_argument("--kind", choices=_KINDS, help="take the question as one of this kind")
    context.add_argument("--budget", type=int, metavar="N", help="tokens at most (default: by the kind)")
    context.add_argument("--graph", metavar="PAGE", help="show what lies around a page instead")
    context.add_argument("--depth", type=int, default=2, metavar="N", help="for --graph: links away (1, 2)")
    context.add_argument("--limit", type=int, default=15, metavar="N", help="for --graph: pages (1 to 15)")


def run(arguments: argparse.Namespace) -> int:
    """Load and print."""
    if bool(arguments.words) == bool(arguments.graph):
        raise UsageError("context takes a question, or --graph with a page", hint="One of the two.")
    _check_bounds(arguments)
    as_json = getattr(arguments, "json", False)
    if arguments.graph:
        found = _map(arguments)
        if as_json:
            print_json(map_payload(found))
        else:
            from wikimcp.guide.link_map import map_text

            print_text(map_text(found))
        return 0
    loaded = _loaded(arguments)
    if as_json:
        print_json(context_payload(loaded))
    else:
        _print(loaded)
    return 0


def _check_bounds(arguments: argparse.Namespace) -> None:
    if arguments.budget is not None and not _LEAST_BUDGET <= arguments.budget <= _MOST_BUDGET:
        raise UsageError(f"--budget is {_LEAST_BUDGET} to {_MOST_BUDGET:,} tokens")
    if arguments.depth not in (1, 2):
        raise UsageError("--depth is 1 or 2", hint="See `wikimcp graph around` for more.")
    if not 1 <= arguments.limit <= 15:
        raise UsageError("--limit is 1 to 15 pages", hint="See `wikimcp graph around` for more.")


def _settings(arguments: argparse.Namespace) -> Settings:
    """Load the settings; where no vault is named, the compiled wiki of the project is the one."""
    try:
        workspace = workspace_of(arguments)
    except WikimcpError:  # what is wrong with the books of a wiki is nothing to its reader
        return settings_of(arguments)
    return load_settings(
        settings_flags(arguments), unnamed=workspace.wiki_root if workspace.initialised else None
    )


def _map(arguments: argparse.Namespace) -> LinkMap:
    from wikimcp.guide.link_map import link_map

    def work(reading: Reading) -> LinkMap:
        start = reading.resolve(arguments.graph)
        return link_map(reading, start, depth=arguments.depth, most=arguments.limit)

    settings = _settings(arguments)
    with opened(settings, vectors="none") as service:
        return service.examine(local_caller(settings), work)


def _loaded(arguments: argparse.Namespace) -> LoadedContext:
    from wikimcp.guide.context import Kind, load_context
    from wikimcp.tools.contract import ToolContext
    from wikimcp.tools.retrieve_context import best_pages

    question = " ".join(arguments.words)
    kind = Kind(arguments.kind) if arguments.kind else None

    def ranking(reading: Reading, asked: str) -> list[PageRecord]:
        return best_pages(reading, asked, ToolContext())

    settings = _settings(arguments)
    with opened(settings, vectors="floor") as service:
        return service.examine(
            local_caller(settings),
            lambda reading: load_context(
                reading, question, ranking=ranking, kind=kind, budget=arguments.budget or 0
            ),
        )


def context_payload(loaded: LoadedContext) -> dict[str, Any]:
    """Return what was loaded as a JSON value."""
    from wikimcp.guide.context import LEVELS

    return {
        "question": loaded.question,
        "kind": loaded.kind.value,
        "why": loaded.why,
        "levels": LEVELS[loaded.kind],
        "budget": loaded.budget,
        "tokens": loaded.tokens,
        "stopped": loaded.stopped,
        "loaded": [
            {
                "level": part.level,
                "uri": part.uri,
                "source": part.source,
                "tokens": part.tokens,
                "cut": part.cut,
                "text": part.text,
            }
            for part in loaded.loaded
        ],
        "gaps": list(loaded.gaps),
        **({"graph": map_payload(loaded.map)} if loaded.map is not None else {}),
    }


def map_payload(found: LinkMap) -> dict[str, Any]:
    """Return a map as a JSON value."""
    return {
        "start": found.start,
        "nodes": [
            {
                "slug": node.slug,
                "title": node.title,
                "depth": node.depth,
                "paragraph": node.paragraph,
                "links": list(node.links),
            }
            for node in found.nodes
        ],
        "leftOut": found.left_out,
    }


def _print(loaded: LoadedContext) -> None:
    """Print the parts as markdown, and a table of them behind."""
    from wikimcp.guide.context import LEVELS

    print(f"{loaded.kind.value}: {loaded.why}; {LEVELS[loaded.kind]} within {loaded.budget:,} tokens")
    for part in loaded.loaded:
        print_text(
            f"\n--- {part.level} {part.uri} ({part.tokens} tokens, {part.source})\n{part.text.rstrip()}"
        )
    print()
    rows = [
        (part.level, str(part.tokens), part.source, "in part" if part.cut else "whole", part.uri)
        for part in loaded.loaded
    ]
    print_table(["level", "tokens#", "source", "loaded", "resource"], rows)
    stopped = f"; stopped at {loaded.stopped}, which holds the question's words" if loaded.stopped else ""
    print(f"{loaded.tokens:,} of {loaded.budget:,} tokens{stopped}")
    for gap in loaded.gaps:
        print_text(f"gap: {gap}")
