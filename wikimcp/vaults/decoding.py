"""Bytes of a page file to text: byte order marks, UTF-8 with a few bad bytes, legacy files, binary ones."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from wikimcp.models import Diagnostic

BINARY = "binary"

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = re.compile(
    rb"\x89PNG|%PDF-|PK\x03\x04|GIF8[79]a|\xff\xd8\xff|\x1f\x8b|\x7fELF|RIFF....WEBP|SQLite format 3"
    rb"|7z\xbc\xaf"
)
_CONTROLS = bytes((*range(9), *range(14, 27), *range(28, 32), 127))
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = re.compile(rb"[\x80-\xff]")
# High bytes that make sense in Western text: letters next to a letter, quotes, dashes, signs.
_WESTERN = re.compile(
    rb"(?<=[A-Za-z\xc0-\xfe])[\xc0-\xd6\xd8-\xf6\xf8-\xfe]|[\xc0-\xd6\xd8-\xf6\xf8-\xfe](?=[A-Za-z\xc0-\xfe])"
    rb"|(?<=[0-9A-Za-z])[\x80\x82-\x8b\x91-\x99\x9b\xa0-\xbf]|[\x80\x82-\x8b\x91-\x99\x9b\xa0-\xbf](?=[0-9A-Za-z])"
    rb"|(?<=[ \xa0])\x80(?=[\s.,;:)]|\Z)"  # a price in euros
    rb"|(?<= )[\x96\x97\xc0\xc8\xc9\xe0\xe5\xe6\xe8\xe9\xf2\xf3\xf6](?= )"  # dashes, words of one letter
)
_UNDEFINED_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_SAMPLE = 64 * 1024
_MOST_CONTROLS = 0.02


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text and the encoding it was read as (``binary``: no text at all)."""

    text: str
    encoding: str
    diagnostics: tuple[Diagnostic, ...] = ()


_BINARY = Decoded("", BINARY, (Diagnostic("binary", "this is no text file; it is not served"),))


def decode(data: bytes) -> Decoded:
    """Decode a page file; never raises. A byte order mark stays in the text as its first character."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            return Decoded(text, encoding, _bad_characters(text.count("\ufffd"), encoding))
    if _MAGIC.match(data) or (b"\0" in data and _many_controls(data)):
        return _BINARY
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        if _many_controls(data):
            return _BINARY
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    if data.startswith(codecs.BOM_UTF8) or not _is_legacy(data, bad):
        return Decoded(text, "utf-8", _bad_characters(bad, "utf-8"))
    encoding = "latin-1" if _UNDEFINED_1252.search(data) else "cp1252"
    note = Diagnostic("legacy_encoding", f"not UTF-8; read as {encoding}. Save the file as UTF-8 to be sure")
    return Decoded(data.decode(encoding), encoding, (note,))


def _many_controls(data: bytes) -> bool:
    """Say whether a file's head holds more control characters than a text with a few bad bytes would."""
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(1, _MOST_CONTROLS * len(sample))


def _is_legacy(data: bytes, bad: int) -> bool:
    """Say whether high bytes rather spell a Western text than UTF-8 with a few bytes gone bad."""
    good = len(_MULTIBYTE.findall(data))
    if bad <= good:
        return False
    high = len(_HIGH.findall(data))
    return len(_WESTERN.findall(data)) >= 0.8 * high or high > 0.3 * len(data)


def _bad_characters(count: int, encoding: str) -> tuple[Diagnostic, ...]:
    if not count:
        return ()
    plural = "s are" if count > 1 else " is"
    message = f"{count} bad byte sequence{plural} no {encoding.upper()}; shown as U+FFFD"
    return (Diagnostic("bad_bytes", message),)
