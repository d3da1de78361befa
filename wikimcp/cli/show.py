"""Printing: JSON for programs, tables and plain text for people.

Vault text is data: nothing in it is taken for markup, and on a terminal its control characters are
dropped, so that a page cannot move the cursor or change colours.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from wikimcp.errors import WikimcpError

if TYPE_CHECKING:
    from rich.console import Console

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PIPE_WIDTH = 10_000


def print_json(payload: object) -> None:
    """Print one JSON document."""
    print(json.dumps(payload, ensure_ascii=False, indent=2))


def error_value(error: WikimcpError) -> dict[str, str]:
    """Return what a program is told of an error."""
    return {
        "code": error.code,
        "message": " ".join(error.message.split()),
        "hint": " ".join(error.hint.split()),
    }


def print_text(text: str) -> None:
    """Print text as it is, without control characters when a person looks on."""
    text = text.replace("\r\n", "\n")
    print(_CONTROLS.sub("", text) if sys.stdout.isatty() else text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Print a table; columns whose name ends in ``#`` hold numbers and are set to the right.

    In a file or pipe every table is lines whose cells are parted by tabs, as ``cut`` reads them.
    """
    if not sys.stdout.isatty():
        _print_lines([column.removesuffix("#") for column in columns], rows, title=title)
        return
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column.removesuffix("#"), justify="right" if column.endswith("#") else "left")
    for row in rows:
        table.add_row(*(_CONTROLS.sub("", cell) for cell in row))
    console().print(table)


def _print_lines(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str) -> None:
    """Print one line for each row, with the names of the columns above them."""
    if title:
        print(f"\n{title}")
    for row in (columns, *rows):
        print("\t".join(" ".join(_CONTROLS.sub("", cell).split()) for cell in row).rstrip())


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print a mapping: plain values in one table, each list of mappings in a table of its own."""
    plain: list[tuple[str, str]] = []
    lists: list[tuple[str, list[Mapping[str, Any]]]] = []
    for key, value in _leaves(facts):
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            plain.append((key, str(len(value))))
            lists.append((key, value))
        else:
            plain.append((key, brief(value)))
    print_table(["what", "value"], plain)
    for key, items in lists:
        columns = list(dict.fromkeys(name for item in items for name in item))
        print_table(columns, ([brief(item.get(name)) for name in columns] for item in items), title=key)


def brief(value: object) -> str:
    """Say a value in a cell: yes and no, lists by commas, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ", ".join(brief(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {brief(item)}" for key, item in value.items())
    return str(value)


def console(stream: TextIO | None = None) -> Console:
    """Return a rich console that takes text literally; wide when nobody looks on."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width)


def _leaves(facts: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
