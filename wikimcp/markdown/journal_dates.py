"""Dates as an outliner's journal writes them: patterns such as ``MMM do, yyyy`` read and written.

Letters as in Java's ``SimpleDateFormat``, with ``do`` for 1st, 2nd, 3rd; names are English.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

_TOKEN = re.compile(r"'((?:[^']|'')*)'|(do|y+|M+|d+|E+)|(.)", re.DOTALL)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DIGITS = {"yyyy": r"(?P<year>\d{4})", "MM": r"(?P<month>\d{2})", "dd": r"(?P<day>\d{2})"} | {
    "M": r"(?P<month>\d{1,2})",
    "d": r"(?P<day>\d{1,2})",
}

_WRITERS: dict[str, Callable[[date], str]] = {
    "yyyy": lambda day: f"{day.year:04}",
    "yy": lambda day: f"{day.year % 100:02}",
    "MMMM": lambda day: _MONTHS[day.month - 1],
    "MMM": lambda day: _MONTHS[day.month - 1][:3],
    "MM": lambda day: f"{day.month:02}",
    "M": lambda day: str(day.month),
    "dd": lambda day: f"{day.day:02}",
    "d": lambda day: str(day.day),
    "do": lambda day: f"{day.day}{_ordinal(day.day)}",
    "EEEE": lambda day: _DAYS[day.weekday()],
    "EEE": lambda day: _DAYS[day.weekday()][:3],
    "EE": lambda day: _DAYS[day.weekday()][:3],
    "E": lambda day: _DAYS[day.weekday()][:3],
}


def format_day(day: date, pattern: str) -> str:
    """Write a day by a pattern; letters that stand for nothing known stay as they are."""
    parts = []
    for quoted, letters, other in _TOKEN.findall(pattern):
        writer = _WRITERS.get(letters)
        parts.append(writer(day) if writer else letters or other or quoted.replace("''", "'"))
    return "".join(parts)


def read_day(text: str, pattern: str) -> date | None:
    """Read a day written by a pattern of digits (years, months and days); None when it is none."""
    expression = "".join(
        _DIGITS.get(letters) or re.escape(letters or other or quoted)
        for quoted, letters, other in _TOKEN.findall(pattern)
    )
    try:
        match = re.fullmatch(expression, text)
        return date(int(match["year"]), int(match["month"]), int(match["day"])) if match else None
    except (re.error, IndexError, ValueError):
        return None


def _ordinal(number: int) -> str:
    if number in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
