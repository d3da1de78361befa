"""Anchors: lines of a source that a page points at, and where these lines are now.

An anchor is written ``path#L45-L89``; its path is relative to the workspace, and so named, whichever raw
root the file lies in. What it points at is remembered by the hash of its lines. Line ends are all the same
to it: LF, CRLF and CR give one hash, as does a last line with or without its end, so that a checkout on
another system moves nothing. Nothing is guessed: lines that stand twice in the file are said to, and belong
to neither place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from wikimcp.authoring.manifest import AnchorEntry
from wikimcp.authoring.symbols import Symbol

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of a source that lines are looked for in."""

_FRAGMENT = re.compile(r"L([1-9]\d{0,7})(?:-L?([1-9]\d{0,7}))?")
_LONGEST_SEARCH = 256 * 1024 * 1024


class Drift(StrEnum):
    """What became of an anchor: its lines are there, elsewhere, in two places, not as they were, or gone."""

    UNCHANGED = "unchanged"
    MOVED = "moved"
    AMBIGUOUS = "ambiguous"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Found:
    """Where an anchor's lines are now: ``first`` and ``last`` are 0 where that is not known.

    ``symbol_gone`` says that the file does not declare the anchor's symbol any more.
    """

    drift: Drift
    first: int = 0
    last: int = 0
    why: str = ""
    symbol_gone: bool = False


@dataclass(slots=True)
class SourceText:
    """The lines of a source as bytes without their ends, and what was looked for in them already."""

    lines: list[bytes]
    _windows: dict[int, dict[str, list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> SourceText:
        """Cut a file's bytes into lines."""
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if not lines[-1]:
            lines.pop()
        return cls(lines)

    def text(self) -> str:
        """Return the file as text with LF as line ends; bytes that are no UTF-8 are replaced."""
        return b"\n".join(self.lines).decode("utf-8", "replace")

    def sha256(self, first: int, last: int) -> str:
        """Return the hash of lines ``first`` to ``last`` (from 1, inclusive); empty where there are none."""
        if not 1 <= first <= last <= len(self.lines):
            return ""
        return hashlib.sha256(b"\n".join(self.lines[first - 1 : last])).hexdigest()

    def places(self, sha256: str, count: int) -> list[int] | None:
        """Return the first lines of all runs of ``count`` lines with that hash.

        None when the file is too long to look through for as many.
        """
        if count not in self._windows:
            size = sum(len(line) + 1 for line in self.lines)
            if size * count > _LONGEST_SEARCH:
                return None
            windows: dict[str, list[int]] = {}
            for first in range(1, len(self.lines) - count + 2):
                windows.setdefault(self.sha256(first, first + count - 1), []).append(first)
            self._windows[count] = windows
        return self._windows[count].get(sha256, [])


def read_fragment(fragment: str) -> tuple[int, int] | None:
    """Read ``L45`` or ``L45-L89``; None for anything else, and where the end is before the beginning."""
    found = _FRAGMENT.fullmatch(fragment)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return (first, last) if first <= last else None


def fragment_of(first: int, last: int) -> str:
    """Return lines as the fragment of an anchor."""
    return f"L{first}" if first == last else f"L{first}-L{last}"


def anchor_text(path: str, first: int, last: int) -> str:
    """Return an anchor as it is written; 0 as lines means the whole file."""
    return f"{path}#{fragment_of(first, last)}" if first else path


def anchor_url(workspace_root: Path, path: str, first: int, last: int) -> str:
    """Return an anchor as a ``file:///`` link. It names the machine's folders: only for who asks for it."""
    url = (workspace_root / path).as_uri()
    return f"{url}#{fragment_of(first, last)}" if first else url


def symbol_of(symbols: Sequence[Symbol], first: int, last: int) -> str | None:
    """Return the symbol that lines are the declaration of, with or without what stands before it.

    None when they are no whole declaration, or its name is declared twice in the file.
    """
    for symbol in symbols:
        if symbol.last == last and symbol.first <= first <= symbol.line:
            return symbol.name if sum(other.name == symbol.name for other in symbols) == 1 else None
    return None


def locate(anchor: AnchorEntry, source: SourceText | None, symbols: Sequence[Symbol] | None = None) -> Found:
    """Find the lines of an anchor in its source as it is now (None: it is gone).

    An anchor of a symbol follows the symbol, and is changed when the symbol's text is, also where it only
    grew. Any other is found by the hash of its lines. ``symbols`` are those of the source; None when they
    cannot be read.
    """
    if source is None:
        return Found(Drift.GONE, why="the source is gone")
    named = [symbol for symbol in symbols or () if symbol.name == anchor.symbol]
    if len(named) == 1:
        return _by_symbol(anchor, source, named[0])
    if source.sha256(anchor.start, anchor.end) == anchor.sha256 != "":
        return Found(Drift.UNCHANGED, anchor.start, anchor.end)
    count = anchor.end - anchor.start + 1
    places = source.places(anchor.sha256, count)
    if places and len(places) == 1:
        return _moved(places[0], places[0] + count - 1)
    if places:
        where = ", ".join(str(place) for place in places[:5])
        why = f"the same lines stand {len(places)} times in the file, from {where}"
        return Found(Drift.AMBIGUOUS, why=why)
    if named:
        why = f"{anchor.symbol} was changed and is declared {len(named)} times"
        return Found(Drift.CHANGED, why=why)
    if anchor.symbol and symbols is not None:
        return Found(Drift.CHANGED, why=f"{anchor.symbol} is not declared any more", symbol_gone=True)
    if anchor.end > len(source.lines):
        return Found(Drift.CHANGED, why=f"the file has {len(source.lines)} lines now")
    far = "" if places is not None else " or moved far in a long file"
    return Found(Drift.CHANGED, anchor.start, anchor.end, f"the lines were changed{far}")


def _by_symbol(anchor: AnchorEntry, source: SourceText, symbol: Symbol) -> Found:
    """Find an anchor at the symbol it is the declaration of, with or without what stands before that."""
    for first in range(symbol.first, symbol.line + 1):
        if source.sha256(first, symbol.last) == anchor.sha256:
            if (first, symbol.last) == (anchor.start, anchor.end):
                return Found(Drift.UNCHANGED, first, symbol.last)
            return _moved(first, symbol.last)
    return Found(Drift.CHANGED, symbol.first, symbol.last, f"{symbol.name} was changed")


def _moved(first: int, last: int) -> Found:
    return Found(Drift.MOVED, first, last, f"now lines {first}-{last}")
