"""The tokens of a text and their stems, each distinct word stemmed once.

A million words of a vault are some ten thousand different ones, and stemming is the dearest part of
reading them. How a text is cut into tokens, and a token stemmed, is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from wikimcp.lexical.terms import is_content

LONGEST = 60
"""Bytes from which on a token is no word and not indexed."""

_LETTERS_AND_DIGITS = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
Analyze = Callable[[str], list[str]]
_MOST_REMEMBERED = 100_000
_MOST_OF_ANSWERS = 20_000
_MOST_NAMES = 2_000


class Text(NamedTuple):
    """A text as it is indexed: its tokens, and the stems of its content words, blanks between them."""

    tokens: str
    stems: str


class Vocabulary:
    """Remembers stems. ``plain`` cuts a text into tokens, ``stemmed`` into their stems, one for one."""

    def __init__(self, plain: Analyze, stemmed: Analyze) -> None:
        self._plain, self._stemmed = plain, stemmed
        self._stems = _Stems(stemmed)
        self._names: dict[str, Text] = {}

    def text(self, text: str, stops: set[str] | None = None) -> Text:
        """Return a text as it is indexed; the stop words in it are added to ``stops``."""
        tokens = self._plain(text)
        stems = list(map(self._stems.__getitem__, tokens))
        if stops is not None and "" in stems:
            stops.update(self._stems.without.intersection(tokens))
        return Text(" ".join(tokens), " ".join(stems))

    def name(self, text: str) -> Text:
        """Return a title or heading as it is indexed; those of a page come again with each of its chunks."""
        found = self._names.get(text)
        if found is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            found = self._names[text] = self.text(text)
        return found

    def stems_of(self, stops: Iterable[str]) -> str:
        """Return the stems of stop words."""
        return " ".join(self._stemmed(" ".join(stops)))


def ascii_first(plain: Analyze) -> Analyze:
    """Return ``plain`` with a quicker way for texts of ASCII alone: what stands between its non-letters."""

    def tokens(text: str) -> list[str]:
        if not text.isascii():
            return plain(text)
        found = text.translate(_LETTERS_AND_DIGITS).split()
        if max(map(len, found), default=0) >= LONGEST:
            found = [token for token in found if len(token) < LONGEST]
        return found

    return tokens


class StemSets:
    """The distinct stems of texts, stop words' too; those of plain words are remembered."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, text: str, analyze: Analyze) -> set[str]:
        """Return the stems of a text, as many as ``analyze`` finds in the whole of it."""
        odd: list[str] = []
        if not text.isascii():  # a blank parts words in every script
            pieces = text.split()
            odd = [piece for piece in pieces if not piece.isascii()]
            text = " ".join(piece for piece in pieces if piece.isascii())
        tokens = {token for token in text.translate(_LETTERS_AND_DIGITS).split() if len(token) < LONGEST}
        known = self._known
        if len(known) > _MOST_OF_ANSWERS:
            known = self._known = {}
        new = [token for token in tokens if token not in known]
        if new:
            known.update(zip(new, analyze(" ".join(new)), strict=True))
        stems = {known[token] for token in tokens}
        return stems.union(analyze(" ".join(odd))) if odd else stems


class _Stems(dict[str, str]):
    """Stems by token, empty for what is no content word."""

    def __init__(self, stemmed: Analyze) -> None:
        super().__init__()
        self._stemmed = stemmed
        self.without: set[str] = set()  # the tokens that have no stem: few, however much is read

    def __missing__(self, token: str) -> str:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        found = self[token] = " ".join(self._stemmed(token)) if is_content(token) else ""
        if not found:
            self.without.add(token)
        return found
