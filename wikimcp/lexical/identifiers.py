r"""The identifiers of a page's texts, looked for in all of them at once.

Most words are none, which their characters tell: an identifier has two of certain kinds side by side
(one of ``_.:/@\`` before a letter, a letter beside a digit, a capital behind a small letter). So only
the few pieces with such a pair are taken out and looked at one by one, each different one once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wikimcp.lexical.words import identifier_tokens

_MOST_REMEMBERED = 100_000
_OTHER, _BLANK, _SMALL, _CAPITAL, _DIGIT, _UNDERSCORE, _JOINT, _SUFFIX, _HYPHEN, _WIDE = range(10)


class Identifiers:
    """Remembers the identifiers of what stood between blanks; plain words leave nothing behind."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, tuple[str, ...]] = {}
        self._tokens = _Tokens()

    def pieces(self, texts: Sequence[str]) -> list[set[str]]:
        """Return for each text what stands between blanks and holds an identifier."""
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        found: list[set[str]] = [set() for _ in parts]
        data = b"\n".join(parts)
        starts, ends = _candidates(data)
        begins = np.cumsum([len(part) + 1 for part in parts])
        owners = np.searchsorted(begins, starts, side="right")
        known = self._pieces
        for owner, start, end in zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True):
            piece = data[start:end]
            held = known.get(piece)
            if held is None:
                held = self._read(piece)
            if held:
                found[owner].update(held)
        return found

    def forget(self) -> None:
        """Remember no piece any more."""
        self._pieces.clear()
        self._tokens.clear()

    def tokens(self, pieces: Iterable[str]) -> list[str]:
        """Return the tokens of identifiers in lower case, whole and by their parts."""
        return [token for tokens in map(self._tokens.__getitem__, pieces) for token in tokens]

    def _read(self, piece: bytes) -> tuple[str, ...]:
        """Return what of a piece holds identifiers: itself or nothing, unless it has blanks beyond ASCII."""
        found = []
        for part in piece.decode("utf-8", "surrogatepass").split():
            if tokens := identifier_tokens(part):
                self._tokens[part] = tokens
                found.append(part)
        if len(self._pieces) >= _MOST_REMEMBERED:
            self.forget()
        self._pieces[piece] = tuple(found)
        return tuple(found)


class _Tokens(dict[str, tuple[str, ...]]):
    def __missing__(self, piece: str) -> tuple[str, ...]:
        found = self[piece] = identifier_tokens(piece)
        return found


def _candidates(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the pieces begin and end, in bytes, that have the characters of an identifier."""
    kinds = _KINDS[np.frombuffer(data, np.uint8)]
    pairs = kinds[:-1] << 4 | kinds[1:]
    needed = _NEEDED[pairs]
    needed[:-1] |= (pairs[:-1] == (_CAPITAL << 4 | _CAPITAL)) & (kinds[2:] == _SMALL)
    places = np.flatnonzero(needed)
    blanks = np.flatnonzero(kinds == _BLANK)
    before = np.searchsorted(blanks, places)
    before = before[np.flatnonzero(np.diff(before, prepend=-1))]  # each piece once
    edges = np.concatenate(([-1], blanks, [len(data)]))
    return edges[before] + 1, edges[before + 1]


def _kinds() -> NDArray[np.uint8]:
    """Return the kind of each byte. Bytes beyond ASCII may be of any character of a word."""
    kinds = np.full(256, _OTHER, np.uint8)
    kinds[128:] = _WIDE
    for kind, characters in (
        (_BLANK, "\t\n\v\f\r\x1c\x1d\x1e\x1f "),
        (_SMALL, "abcdefghijklmnopqrstuvwxyz"),
        (_CAPITAL, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        (_DIGIT, "0123456789"),
        (_UNDERSCORE, "_"),
        (_JOINT, ".:/@\\"),
        (_SUFFIX, "+#"),
        (_HYPHEN, "-"),
    ):
        kinds[[ord(character) for character in characters]] = kind
    return kinds


def _needed() -> NDArray[np.bool_]:
    """Return which pairs of kinds may stand in an identifier alone, as ``words`` knows them."""
    letters, digits = (_SMALL, _CAPITAL, _WIDE), (_DIGIT, _WIDE)
    in_words = (*letters, _DIGIT, _UNDERSCORE)
    needed = np.zeros(256, np.bool_)
    for first, second in (
        ((_JOINT, _UNDERSCORE), in_words),
        (in_words, (_SUFFIX,)),
        ((_CAPITAL, *digits), (_HYPHEN,)),
        ((_HYPHEN,), digits),
        ((_SMALL,), (_CAPITAL,)),
        (letters, digits),
        (digits, letters),
    ):
        for one in first:
            needed[[one << 4 | other for other in second]] = True
    return needed


_KINDS = _kinds()
_NEEDED = _needed()
