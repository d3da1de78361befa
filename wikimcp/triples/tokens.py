"""SPARQL text as tokens: enough to count brackets, find prefixes and place modifiers, with line and column.

What a query does is decided on its algebra (``gate``), never here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<comment>\#[^\r\n]*)
    | (?P<string>\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*\"\"\" | '''(?:'{0,2}(?:[^'\\]|\\.))*'''
        | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*')
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    | (?P<variable>[?$]\w+)
    | (?P<name>(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?:(?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])
        (?:(?:[\w:.\-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*
        (?:[\w:\-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%]))?)?)
    | (?P<blank>_:[\w.\-]+)
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<mark>\^\^|[{}()\[\].;,*/|^!+=<>&?$\-\\"'@:%~`\#])
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = frozenset("{(["), frozenset("})]")


@dataclass(frozen=True, slots=True)
class Token:
    """One token that is no comment: its kind, text, offset, and the brackets that it stands in."""

    kind: str
    text: str
    start: int
    depth: int

    @property
    def word(self) -> str:
        """The keyword in capitals, empty for what is no word."""
        return self.text.upper() if self.kind == "word" else ""


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a query, also of a broken one; linear in its length."""
    found: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "comment":
            continue
        piece = match[0]
        if kind == "mark" and piece in _CLOSE:
            depth -= 1
        found.append(Token(kind, piece, match.start(), depth))
        if kind == "mark" and piece in _OPEN:
            depth += 1
    return found


def declared_prefixes(tokens: Sequence[Token]) -> dict[str, str]:
    """Return the prefixes that a query declares, with their namespaces."""
    declared: dict[str, str] = {}
    for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.word == "PREFIX" and name.kind == "name" and iri.kind == "iri":
            declared[name.text.partition(":")[0]] = iri.text[1:-1]
    return declared


class Places:
    """Where an offset lies in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def of(self, offset: int) -> str:
        """Return an offset as ``line L, column C``, both from 1."""
        row = bisect_right(self._starts, offset) - 1
        return f"line {row + 1}, column {offset - self._starts[row] + 1}"
