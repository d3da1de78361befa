"""The wiki's log: what each verb did, under the day it did it, the newest first.

Entries are only ever added; all else of the file stays byte for byte.
"""

from __future__ import annotations

import re
from datetime import date

from wikimcp.authoring.writing import Transaction

LOG = "log.md"
_HEADING = re.compile(r"^## (\d{4}-\d{2}-\d{2})[ \t]*(\r\n|\n|\r|\Z)", re.MULTILINE)
_FIRST = "# Log\n"


def add_entry(change: Transaction, verb: str, message: str) -> None:
    """Plan an entry of today in the wiki's log."""
    today = change.workspace.clock().date()
    change.write(LOG, prepended(change.read_text(LOG) or "", day=today, verb=verb, message=message))


def prepended(text: str, *, day: date, verb: str, message: str) -> str:
    """Return the log with one entry more: first of its day, the day before all older ones."""
    newline = "\r\n" if "\r\n" in text else "\n"
    entry = f"* **{one_line(verb)}**: {one_line(message)}{newline}"
    text = text or _FIRST
    headings = list(_HEADING.finditer(text))
    for heading in headings:
        if heading[1] == day.isoformat():
            at = heading.end()
            gap = "" if heading[2] else newline
            blank = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*").match(text, at)
            at = blank.end() if blank else at
            return text[:at] + gap + entry + text[at:]
    older = next((heading for heading in headings if heading[1] < day.isoformat()), None)
    block = f"## {day.isoformat()}{newline}{newline}{entry}"
    if older is not None:
        return text[: older.start()] + block + newline + text[older.start() :]
    return text.rstrip() + newline * 2 + block


def one_line(text: str) -> str:
    """Return a text without control characters and line breaks, blanks run together."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
