"""One pass over pyromark's event stream: what a body's parts are and where they stand.

The only user of pyromark. Offsets are characters of the body given; who wants offsets of the file adds
where the body begins. Links, tags and comments inside of running text are left to ``inline``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyromark import Markdown, Options

MAX_HEADINGS = 20_000

_MARKDOWN = Markdown(
    options=Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_MATH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_STRIKETHROUGH
)
_LEAVES = {"Paragraph": "paragraph", "Item": "item", "TableRow": "row", "HtmlBlock": "html"}
_CONTAINERS = {"List": "list", "Table": "table", "BlockQuote": "quote", "FootnoteDefinition": "footnote"}
_RAW_TAG = re.compile(r"<(/?)(pre|code|script|style|textarea|samp|kbd)\b", re.IGNORECASE)
# An element with an id, or a link's old ``name``, up to the end of the value.
_ANCHOR = re.compile(
    r"<(?:[a-z][\w-]*(?=[\s/])[^<>]*?\sid|a(?=[\s/])[^<>]*?\sname)\s*=\s*"
    r"(?:\"([^\"<>\s]+)\"|'([^'<>\s]+)'|([^\s\"'<>=`]+))",
    re.IGNORECASE,
)
_PARAGRAPHS = 16
_NOT_TEXT = -1
_CONTINUED, _WIDE = 0xC0 - 256, 0xE3 - 256  # bytes of UTF-8 as signed numbers


class HeadingMark(NamedTuple):
    """A heading outside of quotes and footnotes: where it begins, its level, its text without markup."""

    start: int
    level: int
    text: str


class LinkMark(NamedTuple):
    """A markdown link or image as the parser saw it; ``dest`` is unescaped but not percent-decoded."""

    start: int
    end: int
    image: bool
    dest: str
    title: str
    label: str


class Widths:
    """The places of characters in UTF-8: kept are the bytes that begin none, as most text has few."""

    __slots__ = ("_before", "_inside", "wide")

    def __init__(self, body: str) -> None:
        data = np.frombuffer(body.encode("utf-8"), dtype=np.int8)
        self._inside: NDArray[np.int64] = np.flatnonzero(data < _CONTINUED)
        # For each of them how many characters begin before it: not falling, so that it can be searched.
        self._before: list[int] = (self._inside - np.arange(len(self._inside))).tolist()
        self.wide = bool(((data >= _WIDE) & (data < 0)).any())
        """Whether any character may be CJK."""

    def byte(self, char: int) -> int:
        """Return the byte at which a character begins."""
        return char + bisect_right(self._before, char)

    def chars(self, places: Sequence[int]) -> list[int]:
        """Return the characters that begin at bytes; within one it is the next."""
        flat = np.array(places, dtype=np.int64)
        found: list[int] = (flat - np.searchsorted(self._inside, flat)).tolist()
        return found


@dataclass(slots=True)
class Outline:
    """What one pass finds, in order. ``opaque`` are code, math and raw HTML: no link stands in them.

    ``paragraphs`` are the first few only: (start, end, inside of a list, quote or footnote). ``wide``
    says that there may be CJK characters. Pieces of text and blocks stay in bytes until asked for.
    """

    headings: list[HeadingMark] = field(default_factory=list)
    links: list[LinkMark] = field(default_factory=list)
    opaque: list[tuple[int, int]] = field(default_factory=list)
    paragraphs: list[tuple[int, int, bool]] = field(default_factory=list)
    failed: bool = False
    wide: bool = False
    skipped_headings: int = 0
    block_bytes: list[int] = field(default_factory=list)
    block_kinds: list[str] = field(default_factory=list)
    piece_bytes: list[int] = field(default_factory=list)
    piece_ends: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    widths: Widths | None = None
    opaque_starts: list[int] = field(default_factory=list)
    opaque_reach: list[int] = field(default_factory=list)
    comment_bytes: list[tuple[int, int]] = field(default_factory=list)
    anchor_bytes: list[tuple[int, str]] = field(default_factory=list)

    def is_text(self, offset: int) -> bool:
        """Say whether a character stands in running text: the only place for links, tags and comments."""
        if self.is_opaque(offset):
            return False
        byte = self._byte(offset)
        place = bisect_right(self.piece_bytes, byte) - 1
        return place >= 0 and byte < self.piece_ends[place]

    def is_opaque(self, offset: int) -> bool:
        """Say whether a character stands in code, math or raw HTML."""
        place = bisect_right(self.opaque_starts, offset) - 1
        return place >= 0 and offset < self.opaque_reach[place]

    def opens_opaque(self, start: int, end: int) -> bool:
        """Say whether code, math or raw HTML begins inside of a range."""
        return bisect_left(self.opaque_starts, start) < bisect_left(self.opaque_starts, end)

    def plain(self, start: int, end: int) -> str:
        """Return the text of a range without its markup; line breaks are blanks."""
        first = bisect_left(self.piece_bytes, self._byte(start))
        return "".join(self.pieces[first : bisect_left(self.piece_bytes, self._byte(end), first)])

    def blocks(self, start: int, end: int) -> list[tuple[int, str]]:
        """Return the blocks that begin inside of a range: where, and of what kind.

        An item that a tab indents begins, for the parser, at the line end before it.
        """
        first = bisect_left(self.block_bytes, self._byte(start))
        last = bisect_left(self.block_bytes, self._byte(end), first)
        places = self.block_bytes[first:last]
        if self.widths is not None:
            places = self.widths.chars(places)
        return list(zip(places, self.block_kinds[first:last], strict=True))

    def html_comments(self) -> list[tuple[int, int]]:
        """Return where each HTML comment begins, and where the block of HTML that holds it ends."""
        if self.widths is None:
            return self.comment_bytes
        places = self.widths.chars([place for span in self.comment_bytes for place in span])
        return list(zip(places[::2], places[1::2], strict=True))

    def html_anchors(self) -> list[tuple[int, str]]:
        """Return the ids of HTML elements and where each element begins."""
        if self.widths is None or not self.anchor_bytes:
            return self.anchor_bytes
        places = self.widths.chars([at for at, _ in self.anchor_bytes])
        return [(at, name) for at, (_, name) in zip(places, self.anchor_bytes, strict=True)]

    def _byte(self, offset: int) -> int:
        return offset if self.widths is None else self.widths.byte(offset)


def read_outline(body: str) -> Outline:
    """Parse a body whose lines end in LF. ``failed`` marks one that the parser could not digest."""
    reader = _Reader(body)
    try:
        reader.read(body)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a Rust panic is raised as
            raise
        return Outline(failed=True, wide=reader.wide, piece_bytes=[0], piece_ends=[1 << 62], pieces=[body])
    return reader.finish()


class _Reader:
    """Collects parts in bytes, as the parser counts them; ``finish`` turns them into characters at once."""

    def __init__(self, body: str) -> None:
        self.widths = None if body.isascii() else Widths(body)
        self.wide = self.widths is not None and self.widths.wide
        self.piece_starts: list[int] = []
        self.piece_ends: list[int] = []
        self.pieces: list[str] = []
        self.block_starts: list[int] = []
        self.block_kinds: list[str] = []
        self.paragraphs: list[tuple[int, int, bool]] = []
        self.headings: list[tuple[int, int, int]] = []
        self.links: list[tuple[int, int, bool, Mapping[str, Any]]] = []
        self.opaque: list[tuple[int, int]] = []
        self.raw_html: tuple[str, int] | None = None
        self.html_end = 0
        self.comments: list[tuple[int, int]] = []
        self.anchors: list[tuple[int, str]] = []
        self.nested_end = 0
        self.quote_end = 0
        self.skipped_headings = 0

    def read(self, body: str) -> None:
        """Walk the events; the branches stand in the order of their frequency."""
        piece_start, piece_end, piece = self.piece_starts.append, self.piece_ends.append, self.pieces.append
        block_start, block_kind = self.block_starts.append, self.block_kinds.append
        events: Iterator[tuple[Any, Any]] = _MARKDOWN.events_with_range(body)
        for event, span in events:
            if "Text" in event:
                piece_start(span["start"])
                piece_end(span["end"])
                piece(event["Text"])
            elif "End" in event:
                continue
            elif "Start" in event:
                kind = event["Start"]
                if kind.__class__ is not str:
                    self.container(kind, span["start"], span["end"])
                elif kind in _LEAVES:
                    block_start(span["start"])
                    block_kind(_LEAVES[kind])
                    if kind == "Paragraph" and len(self.paragraphs) < _PARAGRAPHS:
                        nested = span["start"] < self.nested_end
                        self.paragraphs.append((span["start"], span["end"], nested))
                    elif kind == "HtmlBlock":
                        self.html_end = span["end"]
            elif event.__class__ is str:
                self.break_or_rule(event, span["start"])
            else:
                self.inline(event, span["start"], span["end"])

    def break_or_rule(self, event: str, start: int) -> None:
        if event == "Rule":
            self.block(start, "rule")
        else:
            self.piece(start, " ")

    def container(self, kind: Mapping[str, Any], start: int, end: int) -> None:
        """Handle the start of an element that carries a value."""
        ((name, value),) = kind.items()
        if name == "Heading":
            if start < self.quote_end:
                self.block(start, "paragraph")
            elif len(self.headings) < MAX_HEADINGS:
                self.headings.append((start, end, int(value["level"][1])))
                self.block(start, "heading")
            else:
                self.skipped_headings += 1
        elif name in ("Link", "Image"):
            self.links.append((start, end, name == "Image", value))
        elif name == "CodeBlock":
            self.opaque.append((start, end))
            self.block(start, "indented" if value == "Indented" else "fence")
        elif name in _CONTAINERS:
            self.block(start, _CONTAINERS[name])
            self.nested_end = max(self.nested_end, end)
            if name in ("BlockQuote", "FootnoteDefinition"):
                self.quote_end = max(self.quote_end, end)

    def inline(self, event: Mapping[str, Any], start: int, end: int) -> None:
        """Handle code, math and HTML: kept from links and tags; code and math count as text of a heading."""
        name, value = next(iter(event.items()))
        if name == "Code":
            self.piece(start, value)
        elif name == "InlineMath":
            self.piece(start, f"${value}$")
        elif name == "DisplayMath":
            self.piece(start, f"$${value}$$")
        elif name in ("Html", "InlineHtml"):
            self.html(value, start, end)
        else:
            return
        self.opaque.append((start, end))

    def html(self, text: str, start: int, end: int) -> None:
        """Follow raw elements across events: what stands between ``<pre>`` and ``</pre>`` is opaque."""
        at, counted, byte = text.find("<!--"), 0, start
        while at >= 0:
            byte += len(text[counted:at].encode("utf-8"))
            self.comments.append((byte, max(self.html_end, end)))
            counted, at = at, text.find("<!--", at + 4)
        if self.raw_html is None and "=" in text:
            for match in _ANCHOR.finditer(text):
                at = start + len(text[: match.start()].encode("utf-8"))
                self.anchors.append((at, match[1] or match[2] or match[3]))
        for match in _RAW_TAG.finditer(text):
            name = match[2].lower()
            if not match[1]:
                self.raw_html = self.raw_html or (name, end)
            elif self.raw_html is not None and self.raw_html[0] == name:
                self.opaque.append((self.raw_html[1], start))
                self.raw_html = None

    def block(self, start: int, kind: str) -> None:
        self.block_starts.append(start)
        self.block_kinds.append(kind)

    def piece(self, start: int, text: str) -> None:
        self.piece_starts.append(start)
        self.piece_ends.append(_NOT_TEXT)
        self.pieces.append(text)

    def finish(self) -> Outline:
        """Turn offsets into characters and give headings and links their plain text."""
        opaque = sorted(self.opaque)
        headings, links, spans, paragraphs = self.to_chars(
            [heading[0] for heading in self.headings],
            [place for link in self.links for place in link[:2]],
            [place for span in opaque for place in span],
            [place for paragraph in self.paragraphs for place in paragraph[:2]],
        )
        text_of = self.text_of
        return Outline(
            headings=[
                HeadingMark(at, level, text_of(start, end))
                for at, (start, end, level) in zip(headings, self.headings, strict=True)
            ],
            links=[
                LinkMark(at, until, image, link["dest_url"], link["title"], text_of(start, end).strip())
                for at, until, (start, end, image, link) in zip(
                    links[::2], links[1::2], self.links, strict=True
                )
            ],
            opaque=list(zip(spans[::2], spans[1::2], strict=True)),
            paragraphs=[
                (at, until, nested)
                for at, until, (_, _, nested) in zip(
                    paragraphs[::2], paragraphs[1::2], self.paragraphs, strict=True
                )
            ],
            wide=self.wide,
            skipped_headings=self.skipped_headings,
            block_bytes=self.block_starts,
            block_kinds=self.block_kinds,
            piece_bytes=self.piece_starts,
            piece_ends=self.piece_ends,
            pieces=self.pieces,
            widths=self.widths,
            opaque_starts=spans[::2],
            opaque_reach=list(accumulate(spans[1::2], max)),
            comment_bytes=self.comments,
            anchor_bytes=self.anchors,
        )

    def text_of(self, start: int, end: int) -> str:
        first = bisect_left(self.piece_starts, start)
        return "".join(self.pieces[first : bisect_left(self.piece_starts, end, first)])

    def to_chars(self, *groups: list[int]) -> list[list[int]]:
        """Turn groups of byte offsets into character offsets with one look-up for all of them."""
        if self.widths is None:
            return list(groups)
        chars = self.widths.chars([place for group in groups for place in group])
        result, at = [], 0
        for group in groups:
            result.append(chars[at : at + len(group)])
            at += len(group)
        return result
