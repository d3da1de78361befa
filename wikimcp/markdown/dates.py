"""Dates as people write them in properties, read as ISO 8601 where they can mean one day only."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ISO = re.compile(
    r"([12]\d{3})[-/.](\d{1,2})[-/.](\d{1,2})"
    r"(?:(?:[Tt]|,?[ \t]+)(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?[ \t]*(Z|z|[-+]\d{2}(?::?\d{2})?)?)?"
)
_SHORT = re.compile(r"[12]\d{3}(?:-(?:0[1-9]|1[0-2]))?")
_EPOCH = re.compile(r"1\d{9}(?:\d{3})?")
_NAMED = re.compile(
    r"(?:[A-Za-z]{3,9}\.?,?[ \t]+)??(?:(?P<m1>[A-Za-z]{3,9})\.?[ \t]+(?P<d1>\d{1,2})|(?P<d2>\d{1,2})"
    r"(?:st|nd|rd|th)?\.?(?:[ \t]+of)?[ \t]+(?P<m2>[A-Za-z]{3,9})\.?)(?:st|nd|rd|th)?,?[ \t]+(?P<y>[12]\d{3})"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_time(text: str) -> str:
    """Return a date or time as ISO 8601, empty when it is none or could be one of several.

    Taken are ISO forms (also with ``/`` or ``.``, without leading zeros, inside of ``[[ ]]``), a bare year
    or month as written, seconds and milliseconds since 1970, and English names of months.
    """
    if not text:  # most properties that are asked for are not there
        return ""
    text = text.strip().strip("\"'").removeprefix("[[").removesuffix("]]").strip()
    if _SHORT.fullmatch(text):
        return text
    if iso := _ISO.fullmatch(text):
        return _checked(_iso(iso))
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text[:10]), UTC).isoformat()
    named = _NAMED.fullmatch(text)
    month = (named["m1"] or named["m2"])[:3].lower() if named else ""
    if named is None or month not in _MONTHS:
        return ""
    return _checked(f"{named['y']}-{_MONTHS.index(month) + 1:02}-{int(named['d1'] or named['d2']):02}")


def _iso(match: re.Match[str]) -> str:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return date
    time = f"{int(hour):02}:{minute}" + (f":{second}{fraction or ''}" if second else "")
    return f"{date}T{time}{zone.replace('z', 'Z') if zone else ''}"


def _checked(iso: str) -> str:
    try:
        datetime.fromisoformat(iso)
    except ValueError:
        return ""
    return iso
