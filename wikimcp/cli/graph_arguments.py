"""What the verb `graph` takes; what it does stands in `graph_verb`."""

from __future__ import annotations

from wikimcp.cli.parsing import Verbs

ACTIONS = ("show", "around", "export", "validate", "import")
FORMS = ("json", "graphml", "turtle")


def add_graph(verbs: Verbs) -> None:
    """Describe the verb."""
    graph = verbs.add(
        "graph",
        "the graph of pages, headings, tags, links and sidecars",
        prints="Prints how many nodes and edges of each kind there are (--json: all of them, as rows). "
        "`around` prints what lies about one node, `export` the whole graph in the form of another program. "
        "`validate` prints what is wrong with a sidecar (exit code 1: something is), `import` writes one "
        "that is valid into graph/graph.json of the vault. "
        "--html writes it as one page to look at in a browser; that page needs no network.",
        examples=[
            "wikimcp graph",
            "wikimcp graph --json > graph.json",
            "wikimcp graph around runbooks/rollback --depth 2",
            "wikimcp graph around tag:deploy",
            "wikimcp graph export --format graphml > wiki.graphml",
            "wikimcp graph validate extracted.json",
            "wikimcp graph import extracted.json --dry-run",
            "wikimcp graph --html wiki.html",
        ],
    )
    graph.add_argument("action", nargs="?", default="show", choices=ACTIONS, metavar="|".join(ACTIONS))
    graph.add_argument(
        "node", nargs="?", metavar="NODE", help="for around: a page or node; for validate, import: a file"
    )
    graph.add_argument("--depth", type=int, default=1, metavar="N", help="for around: edges away (1 to 4)")
    graph.add_argument("--limit", type=int, default=200, metavar="N", help="for around: nodes at most")
    graph.add_argument("--format", default="json", choices=FORMS, help="for export: json, graphml or turtle")
    graph.add_argument("--dry-run", action="store_true", help="for import: show what would change")
    graph.add_argument("--html", metavar="FILE", help="write the graph as one page to look at; - for stdout")
    graph.add_argument("--force", action="store_true", help="for --html: replace a file that is no such page")
