"""The verb `graph`: the graph projection in numbers, around one node, or in the form of another program."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import UsageError
from wikimcp.cli.show import print_facts, print_json, print_table, print_text
from wikimcp.cli.sidecar_verbs import sidecar
from wikimcp.cli.verbs import local_caller, opened, settings_of

if TYPE_CHECKING:
    from wikimcp.models import Caller
    from wikimcp.service import WikiService


def graph(arguments: argparse.Namespace) -> int:
    """Print the graph, or what lies around one node."""
    action, node = arguments.action, arguments.node
    if action in ("validate", "import"):
        return sidecar(arguments)
    if (action == "around") is not bool(node):
        hint = "As in `wikimcp graph around runbooks/rollback`."
        raise UsageError("`graph around` takes one node, and only it does", hint=hint)
    if arguments.force and arguments.html is None:
        raise UsageError("--force goes with --html", hint="As in `wikimcp graph --html wiki.html --force`.")
    settings = settings_of(arguments)
    caller = local_caller(settings)
    if arguments.html is not None:
        from wikimcp.cli.picture import write_picture

        return write_picture(arguments, settings, caller)
    with opened(settings, vectors="none") as service:
        if action == "export":
            print_text(service.export_graph(caller, arguments.format).rstrip("\n"))
        elif action == "around":
            _around(service, caller, arguments)
        else:
            _whole(service.graph(caller), as_json=getattr(arguments, "json", False))
    return 0


def _whole(payload: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(payload)
        return
    print_facts(payload["counts"])
    for name, key, rows in (("node", "kind", payload["nodes"]), ("edge", "relation", payload["edges"])):
        counts = Counter(row[key] for row in rows)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        print_table([name, "count#"], ([kind, str(count)] for kind, count in ranked))
    if payload["diagnostics"]:
        rows = [[row["path"], row["code"], row["message"]] for row in payload["diagnostics"]]
        print_table(["file", "code", "what is wrong"], rows)


def _around(service: WikiService, caller: Caller, arguments: argparse.Namespace) -> None:
    payload = service.neighborhood(arguments.node, caller, depth=arguments.depth, limit=arguments.limit)
    if getattr(arguments, "json", False):
        print_json(payload)
        return
    print_table(
        ["node", "kind", "label"], ([row["id"], row["kind"], row["label"]] for row in payload["nodes"])
    )
    edges = ([row["source"], row["relation"], row["target"]] for row in payload["edges"])
    print_table(["source", "relation", "target"], edges)
    if payload["left_out"]:
        print_text(f"{payload['left_out']} more neighbours; raise --limit")
