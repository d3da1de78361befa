"""`wikimcp sparql`: one query over the vault as RDF, printed as a table, as JSON or as Turtle."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wikimcp.cli.parsing import UsageError
from wikimcp.cli.show import print_json, print_table, print_text
from wikimcp.cli.verbs import local_caller, opened, settings_of


def sparql(arguments: argparse.Namespace) -> int:
    """Print what sparql_query gives for a query."""
    wanted = arguments.format or ("json" if getattr(arguments, "json", False) else "")
    if wanted not in ("", "table", "json", "turtle"):
        raise UsageError(f"--format is table, json or turtle, not '{wanted[:40]}'")
    asked: dict[str, object] = {"query": _query(arguments), "format": "json" if wanted == "json" else "table"}
    if arguments.limit is not None:
        asked["limit"] = arguments.limit
    if arguments.include_drafts:
        asked["include_drafts"] = True
    settings = settings_of(arguments)
    with opened(settings, vectors="none") as service:
        answer = service.call("sparql_query", asked, local_caller(settings)).structured or {}
    if wanted == "turtle" and "turtle" not in answer:
        raise UsageError(
            "only CONSTRUCT and DESCRIBE give Turtle", hint="Leave --format out for the rows of a SELECT."
        )
    if wanted == "json":
        print_json(answer)
        return 0
    if "turtle" in answer:
        print_text("\n".join(answer["turtle"]))
    elif "boolean" in answer:
        print_text("yes" if answer["boolean"] else "no")
    else:
        rows = [["" if cell is None else str(cell) for cell in row] for row in answer["rows"]]
        print_table(answer["columns"], rows)
    for note in answer.get("notes", ()):
        print(f"wikimcp: {note}", file=sys.stderr)
    return 0


def _query(arguments: argparse.Namespace) -> str:
    """Return the text of the query from the argument, a file or stdin. Raises UsageError."""
    if (arguments.query is None) == (arguments.file is None):
        raise UsageError("one query, please: as an argument, with --file, or - for stdin")
    if arguments.query == "-":
        return sys.stdin.read()
    if arguments.file is None:
        return str(arguments.query)
    try:
        return Path(arguments.file).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UsageError(f"the file {arguments.file[:120]} cannot be read: {reason}") from error
