"""One page as citations are checked against it: its text, its sections, and where a span stands in it.

A span is found by its text (anywhere, in normal form) or by its hash: then it is looked for among the
spans that a page has, sections and runs of them first, lines last.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from wikimcp.citations.line_breaks import LineBreaks
from wikimcp.citations.uri import sendable
from wikimcp.markdown.tokens import LineIndex, normalise_span, span_sha256
from wikimcp.models import Section

MOST_HASHES = 200_000
"""Spans that are hashed to find one of which only the hash is known: about 0.3 s."""
_MOST_SLID = 64 * 2**20  # characters hashed when a span of known length is looked for
_MOST_PLACES = 50
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_NUMBERED = re.compile(r"(.*\S)\s*\((\d{1,6})\)", re.DOTALL)

Range = tuple[int, int]
"""Characters of the file, end exclusive."""


class _Words(NamedTuple):
    """A text in normal form with the places of its words in both forms."""

    normal: str
    normal_starts: list[int]
    starts: list[int]
    ends: list[int]


class PageText:
    """A page's text with its sections and the borders of its chunks, all in characters of the file."""

    def __init__(self, text: str, sections: Sequence[Section], chunks: Sequence[Range] = ()) -> None:
        self.text = text
        self.sections = sections
        self._chunks = chunks
        self._lines = LineIndex(text)

    def lines(self, place: Range) -> tuple[int, int]:
        """Return the first and last line of a place."""
        start, end = place
        while end > start + 1 and self.text[end - 1].isspace():
            end -= 1
        while start < end - 1 and self.text[start].isspace():
            start += 1
        return self._lines.line(start), self._lines.line(max(start, end - 1))

    @cached_property
    def breaks(self) -> LineBreaks:
        """How places in a uri and characters of the file become each other."""
        return LineBreaks(self.text)

    @cached_property
    def line_count(self) -> int:
        """How many lines the file has."""
        return len(_LINE.findall(self.text))

    @property
    def body_start(self) -> int:
        """Where the text after the frontmatter begins."""
        return self.sections[0].own.start if self.sections else 0

    def section_at(self, place: Range) -> Section | None:
        """Return the innermost section whose subtree holds a place."""
        found = None
        for section in self.sections:
            if section.own.start > place[0]:
                break
            if section.subtree.end >= place[1]:
                found = section
        return found

    # Headings

    def resolve(self, path: Sequence[str]) -> list[Section]:
        """Return the sections that a heading path names.

        The whole path before the end of one, exact before folded; ``Heading (2)`` is the second of
        equal paths where no heading is spelt so. Several when equal paths are not told apart.
        """
        wanted = tuple(map(sendable, path))
        while wanted and not wanted[-1] and not self._matching(wanted):
            wanted = wanted[:-1]  # a slash at the end of a uri
        if not wanted:
            return []
        found = self._matching(wanted)
        if not found and (numbered := _NUMBERED.fullmatch(wanted[-1])):
            among = self._matching((*wanted[:-1], numbered[1]))
            found = [section for section in among if section.duplicate == int(numbered[2])]
        return found

    def _matching(self, wanted: tuple[str, ...]) -> list[Section]:
        for spell in (_same, _folded):
            spelt = tuple(map(spell, wanted))
            ending = [
                (section, len(section.heading_path) == len(spelt))
                for section in self.sections
                if section.heading_path
                and tuple(spell(sendable(part)) for part in section.heading_path[-len(spelt) :]) == spelt
            ]
            whole = [section for section, exact in ending if exact]
            if whole or ending:
                return whole or [section for section, _ in ending]
        return []

    # Spans by their text

    @cached_property
    def _words(self) -> _Words:
        starts, ends, words = [], [], []
        for match in _WORD.finditer(self.text):
            starts.append(match.start())
            ends.append(match.end())
            words.append(match[0] if match[0].isascii() else unicodedata.normalize("NFC", match[0]))
        at, normal_starts = 0, []
        for word in words:
            normal_starts.append(at)
            at += len(word) + 1
        return _Words(" ".join(words), normal_starts, starts, ends)

    def places_of_text(self, span: str) -> list[Range]:
        """Return where a span stands, in order, at most 50 times; it is compared in normal form."""
        wanted = normalise_span(span)
        if not wanted:
            return []
        words = self._words
        found: list[Range] = []
        at = words.normal.find(wanted)
        while at >= 0 and len(found) < _MOST_PLACES:
            found.append((self._raw(at), self._raw(at + len(wanted) - 1) + 1))
            at = words.normal.find(wanted, at + len(wanted))
        return found

    def _raw(self, at: int) -> int:
        """Return the character of the file that stands at ``at`` of the normal form."""
        words = self._words
        word = bisect_right(words.normal_starts, at) - 1
        return min(words.starts[word] + at - words.normal_starts[word], words.ends[word] - 1)

    # Spans by their hash

    def is_at(self, place: Range, hash_start: str) -> bool:
        """Whether the span of a hash stands exactly there."""
        start, end = place
        if not 0 <= start < end <= len(self.text):
            return False
        return span_sha256(self.text[start:end]).startswith(hash_start)

    @cached_property
    def _by_hash(self) -> dict[str, list[Range]]:
        """Places of the whole file, its body, and of each section alone and with all below it."""
        found: dict[str, list[Range]] = {}
        places = [(0, len(self.text)), (self.body_start, len(self.text))]
        for section in self.sections:
            places.append((section.own.start, section.own.end))
            if section.subtree.end != section.own.end:
                places.append((section.subtree.start, section.subtree.end))
        for place in dict.fromkeys(_trimmed(self.text, place) for place in places):
            found.setdefault(span_sha256(self.text[place[0] : place[1]])[:16], []).append(place)
        return found

    def places_of_hash(self, hash_start: str, *, within: Sequence[Range], length: int = 0) -> list[Range]:
        """Return the places of a span by the start of its hash (16 hex or more), those ``within`` first.

        ``within`` are ranges to look in before the rest of the page (none: all of it). ``length`` is
        that of the span, where it is known, CRLF counted as one. Sections come before runs of sections,
        parts of sections and lines; the first kind that holds the span decides. Spans beyond the first
        ``MOST_HASHES`` of a page are not found.
        """
        named = [place for place in self._by_hash.get(hash_start[:16], ()) if self.is_at(place, hash_start)]
        inside = [place for place in named if _in_any(place, within)]
        if inside or (named and not within):
            return inside or named
        if within and (found := self._searched_once(hash_start, within, length)):
            return found
        return named or self._searched_once(hash_start, [(0, len(self.text))], length)

    def _searched_once(self, hash_start: str, ranges: Sequence[Range], length: int) -> list[Range]:
        return list(dict.fromkeys(self._searched(hash_start, ranges, length)))[:_MOST_PLACES]

    def _searched(self, hash_start: str, ranges: Sequence[Range], length: int) -> Iterator[Range]:
        budget = _Budget(MOST_HASHES)
        own = [(section.own.start, section.own.end) for section in self.sections]
        pieces_of = (
            [[piece for piece in own if _in(piece, within)] for within in ranges],
            [
                parts
                for piece in own
                if _in_any(piece, ranges)
                and len(parts := [chunk for chunk in self._chunks if _in(chunk, piece)]) > 1
            ],
        )
        for groups in pieces_of:
            found = [place for group in groups for place in self._runs(hash_start, group, budget)]
            if found:
                yield from found
                return
        if length and (slid := list(self._slid(hash_start, ranges, length))):
            yield from slid
            return
        for within in ranges:
            yield from self._runs(hash_start, self._lines_of(within), budget)

    def _lines_of(self, within: Range) -> list[Range]:
        found = (match.span() for match in _LINE.finditer(self.text, *within))
        return [(start, end) for start, end in found if not self.text[start:end].isspace()]

    def _runs(self, hash_start: str, pieces: Sequence[Range], budget: _Budget) -> Iterator[Range]:
        """Yield the runs of neighbouring pieces that have the hash; the digest grows with the run."""
        text = self.text
        normal = [_bytes(normalise_span(text[start:end])) for start, end in pieces]
        apart = _apart(text, pieces)
        wanted = bytes.fromhex(hash_start[: len(hash_start) // 2 * 2])
        for first in range(len(pieces)):
            digest = hashlib.sha256()
            for last in range(first, len(pieces)):
                if not budget.spend():
                    return
                digest.update(b" " + normal[last] if last > first and apart[last] else normal[last])
                place = (pieces[first][0], pieces[last][1])
                if digest.digest().startswith(wanted) and self.is_at(place, hash_start):
                    yield place

    def _slid(self, hash_start: str, ranges: Sequence[Range], length: int) -> Iterator[Range]:
        """Yield the places of a span of known length that begins where a line or a word does."""
        left, breaks = _MOST_SLID, self.breaks
        for pattern in (_LINE, _WORD):
            for within in ranges:
                for match in pattern.finditer(self.text, *within):
                    start, _ = breaks.fold(match.span())
                    place = breaks.unfold((start, start + length))
                    left -= length
                    if place[1] > within[1] or left < 0:
                        break
                    if self.is_at(place, hash_start):
                        yield place
                        return


class _Budget:
    """How many spans may still be hashed."""

    def __init__(self, most: int) -> None:
        self._left = most

    def spend(self) -> bool:
        self._left -= 1
        return self._left >= 0


def named_alone(text: str, sections: Sequence[Section], path: tuple[str, ...], place: Range) -> bool:
    """Whether heading path and hash name a span of a page, so that its uri need not say where it stands.

    It does for the whole file, for the text before the first heading, and for whole sections that
    follow one another below a heading whose path no other has.
    """
    start, end = _trimmed(text, place)
    if not path:
        if (start, end) == _trimmed(text, (0, len(text))):
            return True
        lead = [s for s in sections if not s.heading_path]
        return any(_trimmed(text, (s.own.start, s.own.end)) == (start, end) for s in lead)
    above = [section for section in sections if section.heading_path == path]
    if len(above) != 1:
        return False
    tree = above[0].subtree
    below = [s.own for s in sections if s.own.start >= tree.start and s.own.end <= tree.end]
    return any(_first(text, own.start, own.end) == start for own in below) and any(
        _last(text, own.start, own.end) == end for own in below
    )


def _trimmed(text: str, place: Range) -> Range:
    return _first(text, *place), _last(text, *place)


def _first(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _last(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _apart(text: str, pieces: Sequence[Range]) -> list[bool]:
    """Whether blanks stand between each piece and the one before it."""
    between = (
        text[before[1] - 1].isspace() or text[after[0]].isspace() or before[1] < after[0]
        for before, after in zip(pieces, pieces[1:], strict=False)
    )
    return [True, *between]


def _in(place: Range, within: Range) -> bool:
    return within[0] <= place[0] and place[1] <= within[1]


def _in_any(place: Range, ranges: Iterable[Range]) -> bool:
    return any(_in(place, within) for within in ranges)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _same(text: str) -> str:
    return text


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())
