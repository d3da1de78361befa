"""Shows what a refresh found: in short for people, whole as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wikimcp.cli.show import print_table, print_text
from wikimcp.cli.workspace_options import show_report

MOST_ROWS = 20
"""Rows of one table; how many are left out is said."""


def show_refresh(report: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Print the report of a refresh."""
    if getattr(arguments, "json", False):
        show_report(report, arguments)
        return
    print_text(_first_line(report))
    _rows("changed sources", ["", "source"], _changed(report))
    _rows(
        "affected pages",
        ["page", "sources"],
        ((p["page"], ", ".join(p["sources"])) for p in report["affected"]),
    )
    _rows("pages that link to them", ["page"], ((page,) for page in report["dependents"]))
    _rows(
        "stale pages: their sources changed since they were filed", ["page"], ((p,) for p in report["stale"])
    )
    _rows("anchors", ["page", "line#", "anchor", "drift", "now", ""], map(_anchor, report["anchors"]))
    _rows("contradictions", ["kind", "about", "where"], map(_contradiction, report["contradictions"]))
    _rows(
        "folders without a page",
        ["folder", "files#"],
        ((g["folder"], str(g["files"])) for g in report["gaps"]),
    )
    _rows("odd", ["where", "what"], ((note["where"], note["message"]) for note in report["odd"]))
    show_changes(report["changes"], dry_run=report["dry_run"])


def show_changes(changes: Sequence[Mapping[str, Any]], *, dry_run: bool) -> None:
    """Print which files were written; of a dry run with their diffs."""
    title = "would be written" if dry_run else "written"
    _rows(title, ["", "file"], ((change["action"], change["file"]) for change in changes))
    for change in changes:
        if "diff" in change:
            print_text(change["diff"])


def _first_line(report: Mapping[str, Any]) -> str:
    seconds = sum(report["seconds"].values())
    took = f" in {seconds:.2f} s" if seconds else ""
    counts = (f"{report[what]:,} {what if report[what] != 1 else what[:-1]}" for what in ("sources", "pages"))
    return f"{report['status']}: {', '.join(counts)}{took}"


def _changed(report: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    yield from (("modified", path) for path in report["modified"])
    yield from (("moved", f"{pair['from']} to {pair['to']}") for pair in report["moved"])
    yield from (("deleted", path) for path in report["deleted"])
    yield from (("added", path) for path in report["added"])


def _anchor(drift: Mapping[str, Any]) -> Sequence[str]:
    done = "rewritten" if drift["rewritten"] else drift["why"]
    return drift["page"], str(drift["line"]), drift["anchor"], str(drift["drift"]), drift["now"], done


def _contradiction(item: Mapping[str, Any]) -> Sequence[str]:
    places = (f"{place['page']}:{place['line']}" for place in item["evidence"])
    return item["kind"], item["about"], ", ".join(places)


def _rows(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    listed = list(rows)
    if listed:
        print_text(f"\n{title}")
        print_table(columns, listed[:MOST_ROWS])
    if len(listed) > MOST_ROWS:
        print_text(
            f"{len(listed) - MOST_ROWS:,} more {title.partition(':')[0]} are not shown; --json lists all"
        )
