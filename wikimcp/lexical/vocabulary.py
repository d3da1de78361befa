"""The tokens of a text, their stems and the identifiers, each distinct word stemmed once.

A million words of a vault are some ten thousand different ones, and stemming is the dearest part of
reading them. How a text is cut into tokens, and a token stemmed, is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakSet

from wikimcp.lexical.identifiers import Identifiers
from wikimcp.lexical.terms import is_content

LONGEST = 60
"""Bytes from which on a token is no word and not indexed."""

_LETTERS_AND_DIGITS = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_TOO_LONG = "\0"  # in place of the stem of what may be no word; no token holds it
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
        self.identifiers = Identifiers()
        self._plain = plain
        self._flat = Flat(plain)
        self._stems = _Stems(stemmed)
        self._stop_stems: dict[str, str] = {}
        self._stemmed = stemmed
        self._names: dict[str, Text] = {}
        _in_use.add(self)

    def forget(self) -> None:
        """Remember no word any more."""
        self.identifiers.forget()
        self._stems.clear()
        self._names.clear()

    def text(self, text: str, stops: set[str] | None = None) -> Text:
        """Return a text as it is indexed; the stop words in it are added to ``stops``."""
        flat = self._flat.of(text)
        if flat is None:
            return self._cut(self._plain(text), stops)
        tokens = flat.split()
        stems = " ".join(map(self._stems.__getitem__, tokens))
        if _TOO_LONG in stems:  # which the analyzer leaves out
            return self._cut(self._plain(text), stops)
        if stops is not None:
            stops.update(self._stems.without.intersection(tokens))
        return Text(flat, stems)

    def _cut(self, tokens: list[str], stops: set[str] | None) -> Text:
        """Return a text by its tokens as the analyzer gives them."""
        stems = list(map(self._stems.__getitem__, tokens))
        if _TOO_LONG in stems:  # it grew as its letters were written in ASCII
            stems = [self._stems.of(token) for token in tokens]
        if stops is not None:
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
        known = self._stop_stems
        return " ".join([known.get(stop) or self._stop_stem(stop) for stop in stops])

    def _stop_stem(self, stop: str) -> str:
        found = self._stop_stems[stop] = " ".join(self._stemmed(stop))
        return found


_in_use: WeakSet[Vocabulary] = WeakSet()


def forget_words() -> None:
    """Let go of the words of many pages: they take tens of megabytes, and an edit needs few of them."""
    for vocabulary in list(_in_use):
        vocabulary.forget()


class Flat:
    """Writes a text as its tokens with blanks between them, character by character.

    What ``plain`` gives is found so for texts whose words are of ASCII letters and digits, in a tenth of
    its time.
    """

    def __init__(self, plain: Analyze) -> None:
        self._plain = plain
        self._apart: set[str] = set()  # characters beyond ASCII that stand between words, as dashes do
        self._within: set[str] = set()  # those that are parts of words

    def of(self, text: str) -> str | None:
        """Return the tokens of a text, those that are too long too; None where only ``plain`` can tell."""
        if not text.isascii():
            odd = set(_BEYOND_ASCII.findall(text))
            if not self._stand_apart(odd):
                return None
            for character in odd:
                text = text.replace(character, " ")
        return text.translate(_LETTERS_AND_DIGITS)

    def _stand_apart(self, odd: set[str]) -> bool:
        for character in odd - self._apart:
            if character in self._within:
                return False
            words = self._plain(f"a{character}b") == ["a", "b"]
            (self._apart if words else self._within).add(character)
            if not words:
                return False
        return True


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
        if len(token) >= LONGEST:
            return _TOO_LONG
        found = self[token] = self.of(token)
        if not found:
            self.without.add(token)
        return found

    def of(self, token: str) -> str:
        """Return the stem of a token, whatever its length."""
        return " ".join(self._stemmed(token)) if is_content(token) else ""
