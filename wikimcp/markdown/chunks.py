"""Sections cut into chunks of about 200 tokens, at block borders, never inside of a fence or table row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wikimcp.markdown.events import Outline
from wikimcp.markdown.tokens import CJK, count_tokens
from wikimcp.models import Chunk, Section

TARGET_TOKENS = 200
SINGLE_TOKENS = 280
SMALL_TOKENS = 50
MAX_SPLITS = 30_000

_WHOLE = frozenset(("fence", "indented", "row", "table"))
_SENTENCE_END = re.compile(r"(?:[.!?;:…][\"'”’)\]*_]*(?=\s)|[。！？；]|\n)\s*")

Piece = tuple[int, int, int]
"""Start, end and tokens of something that is not cut any more."""


def build_chunks(
    body: str, outline: Outline, sections: Sequence[Section], *, offset: int
) -> tuple[Chunk, ...]:
    """Cut every section's own text; the chunks of a section tile it, heading included."""
    cutter = _Cutter(body, outline)
    chunks: list[Chunk] = []
    for section in sections:
        start, end = section.own.start - offset, section.own.end - offset
        if end - start <= cutter.single:
            chunks.append(Chunk(len(chunks), section.ordinal, start + offset, end + offset))
            continue
        for first, last in cutter.cut(start, end):
            chunks.append(Chunk(len(chunks), section.ordinal, first + offset, last + offset))
    return tuple(chunks)


class _Cutter:
    """Cuts one body. Very large bodies get larger chunks, so that their number stays bounded."""

    def __init__(self, body: str, outline: Outline) -> None:
        self.body = body
        self.outline = outline
        self.wide = outline.wide and CJK.search(body) is not None
        self.target = max(TARGET_TOKENS, len(body) // (1 if self.wide else 4) // MAX_SPLITS)
        self.limit = self.target * SINGLE_TOKENS // TARGET_TOKENS
        self.single = self.limit if self.wide else 4 * self.limit
        """Characters that certainly fit into one chunk."""

    def cut(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the chunks of one section's own text."""
        if self.tokens(start, end) <= self.limit:
            yield start, end
            return
        yield from self.pack([piece for region in self.regions(start, end) for piece in self.split(*region)])

    def tokens(self, start: int, end: int) -> int:
        return count_tokens(self.body[start:end]) if self.wide else (end - start + 3) // 4

    def regions(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the blocks of a range as whole lines; the innermost block on a line names its kind."""
        at, kind = start, "heading"
        for place, name in self.outline.blocks(start, end):
            line_start = self.body.rfind("\n", start, place + 1) + 1 or start
            if line_start > at:
                yield at, line_start, kind
                at = line_start
            kind = name
        yield at, end, kind

    def split(self, start: int, end: int, kind: str) -> Iterator[Piece]:
        """Split one over-long block at sentence ends, else at blanks, else anywhere; some never."""
        tokens = self.tokens(start, end)
        if tokens <= self.limit or kind in _WHOLE:
            yield start, end, tokens
            return
        room = max(self.target * (end - start) // tokens, 1)
        while end - start > room * SINGLE_TOKENS // TARGET_TOKENS:
            cut = self.sentence_end(start, start + room)
            yield start, cut, self.tokens(start, cut)
            start = cut
        yield start, end, self.tokens(start, end)

    def sentence_end(self, start: int, stop: int) -> int:
        """Return the last good place to cut in the second half of a range, else its end."""
        middle = (start + stop) // 2
        cut = 0
        for match in _SENTENCE_END.finditer(self.body, middle, stop):
            cut = match.end()
        if not cut:
            cut = max(self.body.rfind(mark, middle, stop) for mark in " \t\u3000") + 1 or stop
        if self.body[cut - 1] == " " and self.body[cut : cut + 1] == "\n":
            cut += 1  # the two stand for one CRLF
        return cut

    def pack(self, pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
        """Join neighbours while that brings a chunk nearer to the target; no chunk stays tiny if it can."""
        packed: list[Piece] = []
        for start, end, tokens in pieces:
            if packed:
                first, _, held = packed[-1]
                nearer = 2 * held + tokens < 2 * self.target and held + tokens <= self.limit
                if nearer or held < SMALL_TOKENS:
                    packed[-1] = (first, end, held + tokens)
                    continue
            packed.append((start, end, tokens))
        if len(packed) > 1 and packed[-1][2] < SMALL_TOKENS and packed[-2][2] + packed[-1][2] <= self.limit:
            _, end, tokens = packed.pop()
            packed[-1] = (packed[-1][0], end, packed[-1][2] + tokens)
        yield from ((start, end) for start, end, _ in packed)
