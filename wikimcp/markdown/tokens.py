"""Measures of text that everyone must share: token counts, span hashes, line numbers.

A citation made by one part is checked by another, so each of these exists once.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff00-\uffef\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
"""One character of a script that is written without blanks: counted as one token."""

_ASCII = bytes(range(128))
_LINE_END = re.compile("\r\n|\n|\r")
_MAX_JUMPS = 8


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per CJK character, one per four of the others, rounded up."""
    size = len(text)
    if text.isascii():
        return (size + 3) // 4
    others = text.encode("utf-8", "surrogatepass").translate(
        None, _ASCII
    )  # a look at each would take longest
    wide = len(CJK.findall(others.decode("utf-8", "surrogatepass")))
    return wide + (size - wide + 3) // 4


def normalise_span(text: str) -> str:
    """Return the form a span is hashed in: NFC, runs of whitespace (line ends too) one blank, trimmed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def span_sha256(text: str) -> str:
    """Return the SHA-256 (64 hex) of a span's normal form."""
    return hashlib.sha256(normalise_span(text).encode("utf-8", "surrogatepass")).hexdigest()


def visible_text(text: str, start: int, end: int, *, hidden: Sequence[tuple[int, int]]) -> str:
    """Return ``text[start:end]`` without the hidden ranges, which are sorted and do not overlap."""
    if not hidden:
        return text[start:end]
    kept, at = [], start
    first = max(bisect_right(hidden, start, key=lambda span: span[0]) - 1, 0)
    for opened, closed in hidden[first:]:
        if opened >= end:
            break
        kept.append(text[at : max(opened, at)])
        at = max(at, closed)
    return "".join((*kept, text[at:end]))


class LineIndex:
    """Character offsets to 1-based line numbers; lines end at LF, CRLF and CR, at nothing else.

    Offsets asked for in rising order cost one walk over the text together; a table is made only for
    who jumps back often. Threads may share one.
    """

    __slots__ = ("_at", "_ends", "_jumps", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        # Where every CR has its LF, counting LF is enough.
        simple = "\r" not in text or text.count("\r") == text.count("\r\n")
        self._ends = None if simple else _line_ends(text)
        self._at = (0, 1)
        self._jumps = 0

    def line(self, offset: int) -> int:
        """Return the line that the character at ``offset`` stands in (its line end belongs to it)."""
        ends = self._ends
        if ends is not None:
            return bisect_right(ends, offset) + 1
        known, line = self._at
        if offset < known:
            known, line = 0, 1
            self._jumps += 1
            if self._jumps > _MAX_JUMPS:
                self._ends = _line_ends(self._text)
        line += self._text.count("\n", known, offset)
        self._at = (offset, line)
        return line


def _line_ends(text: str) -> list[int]:
    return [match.end() for match in _LINE_END.finditer(text)]
