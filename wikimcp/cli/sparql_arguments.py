"""What `wikimcp sparql` takes on the command line."""

from __future__ import annotations

from wikimcp.cli.parsing import Verbs


def add_sparql(verbs: Verbs) -> None:
    """Describe the verb."""
    verb = verbs.add(
        "sparql",
        "ask the vault as RDF",
        prints="Prints what the tool sparql_query gives for a SPARQL query: a table of rows, JSON, or the "
        "Turtle of a CONSTRUCT or DESCRIBE. `wikimcp call get_ontology` lists classes and properties.",
        examples=[
            "wikimcp sparql 'SELECT ?slug { ?page wm:inCluster cluster:runbooks ; wm:slug ?slug }'",
            "wikimcp sparql --file orphans.rq --format json",
            "echo 'DESCRIBE page:glossary' | wikimcp sparql - --format turtle",
        ],
    )
    verb.add_argument("query", nargs="?", metavar="QUERY", help="the query, or - for stdin")
    verb.add_argument("--file", metavar="FILE", help="read the query from a file")
    verb.add_argument("--format", metavar="FORMAT", help="table, json or turtle (default: what fits)")
    verb.add_argument("--limit", metavar="N", help="rows at most (1 to 1000)")
    verb.add_argument("--include-drafts", action="store_true", help="drafts too, with --allow-drafts")
