"""Words as the lexical index sees them: identifiers and their parts, CJK runs, stop words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being both but by
    can could did do does doing don down during each else ever few for from further get gets got had
    has have having he her here hers him his how i if in into is it its itself just let like me more
    most my myself no nor not now of off on once one only or other our ours out over own please same
    she should so some such than that the their theirs them themselves then there these they this
    those through to too under until up us very was we were what when where which while who whom why
    will with would you your yours tell explain show give need want know d ll m re s t ve isn doesn
    didn won aren wasn vs via per use used using actually really still even anything something
    someone everyone nobody way ok
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Kana, Han, Hangul and their extensions: scripts whose words are not set apart by blanks (Hangul
# words are, but carry particles, so that two-syllable pieces find more).
_CJK = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0002fa1f"
)
CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"[\w.:/@\\+#-]+")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SPLIT = re.compile(r"[^\w+#]+|_+")
# An identifier has punctuation inside or + or # behind, a hyphen beside a digit or a capital, a
# digit next to a letter, or a change of case inside. A hyphenated word is none: its words are found.
_IDENTIFIER = re.compile(
    r"\w[_.:/@\\]+\w|[A-Z\d]-\w|\w-\d|[a-z][A-Z]|[^\W\d_]\d|\d[^\W\d_]|\A[A-Z]{2,}[a-z]|\A\w+(?:\+\+|#)\Z"
)
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST = 80
_EDGES = ".:/@\\-"


def query_identifiers(text: str) -> list[str]:
    """Return the tokens of each distinct identifier of a text in lower case, whole and by its parts.

    Nothing is remembered, here or of pages: a question must take as long for any word, also of withheld ones.
    """
    return [token for piece in set(text.split()) for token in identifier_tokens(piece)]


def identifier_tokens(piece: str) -> tuple[str, ...]:
    """Return the tokens of the identifiers in what stands between two blanks: of most pieces none."""
    words = [word.strip(_EDGES) for word in _WORD.findall(piece)]
    if len(words) == 1:
        return _tokens_of(words[0])
    return tuple(dict.fromkeys(token for word in words for token in _tokens_of(word)))


def _tokens_of(word: str) -> tuple[str, ...]:
    if not (1 < len(word) <= _LONGEST and _IDENTIFIER.search(word) and _LETTER.search(word)):
        return ()
    tokens = [word.lower()]
    components = [part for part in _SPLIT.split(word) if part]
    for component in components:
        if len(components) > 1:
            tokens.append(component.lower())
        parts = _PARTS.findall(component)
        if len(parts) > 1:
            tokens.extend(part.lower() for part in parts if len(part) > 1)
    return tuple(dict.fromkeys(tokens))


def has_cjk(text: str) -> bool:
    """Tell whether a text holds a character of a script that is searched by characters."""
    return not text.isascii() and CJK_RUN.search(text) is not None


def cjk_tokens(text: str) -> Iterator[str]:
    """Yield the characters and overlapping pairs of every CJK run of a text."""
    for match in CJK_RUN.finditer(text):
        run = match.group()
        yield from run
        yield from (run[at : at + 2] for at in range(len(run) - 1))


def cjk_query_tokens(text: str) -> list[str]:
    """Return what to look for: pairs, and a character only where a run is one character long."""
    tokens: dict[str, None] = {}
    for match in CJK_RUN.finditer(text):
        run = match.group()
        tokens.update(
            dict.fromkeys([run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)])
        )
    return list(tokens)


def readable(name: str) -> str:
    """Return a slug or file name with its words apart: ``JavaMemoryModel`` as ``Java Memory Model``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[-_/.]+", " ", apart)
