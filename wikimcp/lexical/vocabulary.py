"""The tokens of a text and their stems, each distinct word stemmed once.

A million words of a vault are some ten thousand different ones, and stemming is the dearest part of
reading them. How a text is cut into tokens, and a token stemmed, is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from wikimcp.lexical.terms import is_content

Analyze = Callable[[str], list[str]]
_MOST_REMEMBERED = 100_000


class Text(NamedTuple):
    """A text as it is indexed: its tokens, and the stems of its content words, blanks between them."""

    tokens: str
    stems: str


class Vocabulary:
    """Remembers stems. ``plain`` cuts a text into tokens, ``stemmed`` into their stems, one for one."""

    def __init__(self, plain: Analyze, stemmed: Analyze) -> None:
        self._plain, self._stemmed = plain, stemmed
        self._stems = _Stems(stemmed)

    def text(self, text: str, stops: set[str] | None = None) -> Text:
        """Return a text as it is indexed; the stop words in it are added to ``stops``."""
        tokens = self._plain(text)
        stems = list(map(self._stems.__getitem__, tokens))
        if stops is not None:
            stops.update([token for token, stem in zip(tokens, stems, strict=True) if not stem])
        return Text(" ".join(tokens), " ".join(stems))

    def stems_of(self, stops: Iterable[str]) -> str:
        """Return the stems of stop words."""
        return " ".join(self._stemmed(" ".join(stops)))


class _Stems(dict[str, str]):
    """Stems by token, empty for what is no content word."""

    def __init__(self, stemmed: Analyze) -> None:
        super().__init__()
        self._stemmed = stemmed

    def __missing__(self, token: str) -> str:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        found = self[token] = " ".join(self._stemmed(token)) if is_content(token) else ""
        return found
