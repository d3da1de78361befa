"""A page's body as values: sections, chunks, links, tags, block ids, fields and the first paragraph."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from wikimcp.markdown.chunks import build_chunks
from wikimcp.markdown.comments import comment_spans
from wikimcp.markdown.events import HeadingMark, Outline, read_outline
from wikimcp.markdown.explicit_anchors import read_anchors
from wikimcp.markdown.footnotes import FootnoteMark, read_footnotes
from wikimcp.markdown.inline import FieldMark, InlineMarks, Ranges, page_properties, read_inline
from wikimcp.markdown.lenient import line_feeds
from wikimcp.markdown.links import display_text, markdown_link, wikilink
from wikimcp.markdown.publication import Directive
from wikimcp.markdown.sections import build_sections
from wikimcp.markdown.tokens import LineIndex, visible_text
from wikimcp.models import Block, Diagnostic, Link, LinkKind, ParsedBody

_HEADING_MARKS = re.compile(r"\s*\{(?::?\s*[#.]|/\*\s*#)[^{}]*\}\s*$|\s+\^[A-Za-z0-9-]+\s*$|%%.*?%%")
# Zero-width space, word joiner, byte order mark, soft hyphen: nobody who names a heading can type them.
# Joiners stay, as scripts and emoji need them.
_SHOWS_NOTHING = dict.fromkeys((0x200B, 0x2060, 0xFEFF, 0xAD))
_COMMENT = re.compile(r"%%.*?%%")
_PARAGRAPH_MARKS = re.compile(r"\{\{.*?\}\}|\[?\{(?:ALLOW|DENY)\b[^}]*\}\]?|(?:^|\s)\^[A-Za-z0-9-]+\s*$")
LONGEST_HEADING = 600
"""Characters of a heading that are kept in heading paths; its section holds it whole."""
_LONGEST_CLEANED = 2_000


@dataclass(frozen=True, slots=True)
class BodyReading:
    """A parsed body with what else decides about the page: access directives and page properties.

    ``properties`` are the ``key:: value`` lines of the first block as (key, value, line); ``footnotes``
    the references, of which the frontmatter says whether they are citations; ``mentions``, where they were
    asked for, each ``#tag.below`` and ``@name`` as (character of the file, text).
    """

    body: ParsedBody
    directives: tuple[Directive, ...] = ()
    properties: tuple[tuple[str, str, int], ...] = ()
    footnotes: tuple[FootnoteMark, ...] = ()
    mentions: tuple[tuple[int, str], ...] = ()


def parse_body(text: str, start: int = 0) -> ParsedBody:
    """Parse the body of a file's text that begins at character ``start``. Never raises."""
    return read_body(text, start).body


def read_body(
    text: str, start: int = 0, *, lines: LineIndex | None = None, mentions: bool = False
) -> BodyReading:
    """Parse a body together with its access directives and page properties. Never raises."""
    body = line_feeds(text[start:])
    lines = lines or LineIndex(text)
    outline = read_outline(body)
    marks = read_inline(body, outline, mentions=mentions)
    if outline.failed:  # only what decides about publication is taken from text that was not understood
        marks = InlineMarks(fields=marks.fields, directives=marks.directives)
    headings = _headings(outline, marks.comments)
    sections = build_sections(body, headings, offset=start, lines=lines)
    comments = tuple(
        (first + start, last + start) for first, last in comment_spans(body, outline, marks.comments)
    )
    fields: dict[str, list[str]] = {}
    for mark in marks.fields:
        if marks.comments.hold(mark.start):
            continue
        fields.setdefault(mark.key, []).append(mark.value)
    parsed = ParsedBody(
        sections=sections,
        chunks=build_chunks(body, outline, sections, offset=start),
        links=_links(outline, marks, offset=start, lines=lines),
        tags=tuple(dict.fromkeys(marks.tags)),
        block_ids=tuple(marks.block_ids),
        first_paragraph=_first_paragraph(body, outline, marks),
        fields={key: tuple(values) for key, values in fields.items()},
        diagnostics=(*_diagnostics(outline), *_conflicts(body, outline, start, lines)),
        hidden=comments,
        comments=comments,
        anchors=read_anchors(body, outline, marks, headings, offset=start, comments=comments),
    )
    footnotes = read_footnotes(body, outline, marks, offset=start, lines=lines)
    named = tuple((at + start, name) for at, name in marks.mentions)
    if not marks.fields and not marks.directives:
        return BodyReading(parsed, footnotes=footnotes, mentions=named)
    properties = tuple(
        (mark.key, mark.value, lines.line(mark.start + start)) for mark in page_properties(marks.fields, body)
    )
    return BodyReading(parsed, tuple(marks.directives), properties, footnotes, named)


def read_blocks(text: str, start: int = 0, end: int | None = None) -> tuple[Block, ...]:
    """Return the blocks of a range of text as whole lines that tile it: the places where it may be cut."""
    stop = len(text) if end is None else end
    body = line_feeds(text[start:stop])
    outline = read_outline(body)
    blocks: list[Block] = []
    at, kind = 0, "paragraph"
    for place, name in outline.blocks(0, len(body)):
        line_start = body.rfind("\n", 0, place + 1) + 1
        if line_start > at:
            blocks.append(Block(kind, at + start, line_start + start))
            at = line_start
        kind = name
    if at < len(body):
        blocks.append(Block(kind, at + start, len(body) + start))
    return tuple(blocks)


def without_comments(text: str) -> str:
    """Return a text as it may be cited: ``%%`` and HTML comments outside of code are cut out."""
    if "%%" not in text and "<!--" not in text:
        return text
    body = line_feeds(text)
    outline = read_outline(body)
    marked = read_inline(body, outline).comments if not outline.failed else Ranges(())
    return visible_text(text, 0, len(text), hidden=comment_spans(body, outline, marked))


def _headings(outline: Outline, comments: Ranges) -> Sequence[HeadingMark]:
    """Return the headings outside of comments, their text without ids, attributes and wikilink marks."""
    headings = []
    for heading in outline.headings:
        text = heading.text
        if comments and comments.hold(heading.start):
            continue
        if len(text) <= _LONGEST_CLEANED and ("[[" in text or "{" in text or "^" in text or "%%" in text):
            text = display_text(_HEADING_MARKS.sub("", text))
        if not text.isascii():
            text = text.translate(_SHOWS_NOTHING)
        text = short_heading(text)
        headings.append(heading if text == heading.text else heading._replace(text=text))
    return headings


def short_heading(text: str) -> str:
    """Return a heading on one line, cut when it is a paragraph, as a rule right below one makes it.

    It stands in the path, and so in the citations, of all that is below it.
    """
    heading = " ".join(text[: 4 * LONGEST_HEADING].split())
    if len(heading) <= LONGEST_HEADING:
        return heading
    cut = heading.rfind(" ", LONGEST_HEADING // 2, LONGEST_HEADING)
    return f"{heading[: cut if cut > 0 else LONGEST_HEADING - 1]}…"


def _links(outline: Outline, marks: InlineMarks, *, offset: int, lines: LineIndex) -> tuple[Link, ...]:
    """Return all links in order of their place."""
    if not outline.links and not marks.wikilinks and not marks.references:
        return ()
    wikilinks = Ranges((mark.start, mark.end) for mark in marks.wikilinks)
    templates, line = marks.templates, lines.line
    where = _Surroundings(marks)
    found: list[Link | None] = []
    for link in outline.links:
        at, end = link.start, link.end
        if wikilinks.hold(at, end) or (templates and templates.hold(at)):
            continue
        prop, in_comment = where.of(at)
        place = at + offset
        found.append(markdown_link(link, start=place, line=line(place), prop=prop, in_comment=in_comment))
    for mark in marks.wikilinks:
        prop, in_comment = where.of(mark.start)
        place = mark.start + offset
        found.append(wikilink(mark, start=place, line=line(place), prop=prop, in_comment=in_comment))
    for at, uuid in marks.references:
        prop, in_comment = where.of(at)
        place = at + offset
        found.append(
            Link(LinkKind.BLOCK, uuid, start=place, line=line(place), prop=prop, in_comment=in_comment)
        )
    return tuple(sorted((link for link in found if link is not None), key=attrgetter("start")))


class _Surroundings:
    """Tells in which inline field a place is, and whether in a comment.

    A field in brackets goes before that of its line. Most bodies have neither, and are not searched.
    """

    def __init__(self, marks: InlineMarks) -> None:
        self._comments = marks.comments
        self._bracketed = [mark for mark in marks.fields if mark.bracketed]
        self._lines = [mark for mark in marks.fields if not mark.bracketed]
        self._none = not marks.fields and not marks.comments

    def of(self, place: int) -> tuple[str, bool]:
        """Return the key of the field whose value holds a place (else empty), and if a comment holds it."""
        if self._none:
            return "", False
        key = _key_at(self._bracketed, place) or _key_at(self._lines, place)
        return key, self._comments.hold(place)


def _key_at(fields: Sequence[FieldMark], place: int) -> str:
    if not fields:
        return ""
    number = bisect_right(fields, place, key=lambda mark: mark.start) - 1
    return fields[number].key if number >= 0 and place < fields[number].end else ""


def _first_paragraph(body: str, outline: Outline, marks: InlineMarks) -> str:
    """Return the first paragraph that says something; one of a list or quote only for want of another."""
    fallback = ""
    for start, end, nested in outline.paragraphs:
        if fallback and nested or marks.comments.hold(start):
            continue
        text = _paragraph_text(outline, start, end)
        fields = {body.rfind("\n", 0, mark.start) for mark in marks.fields if start <= mark.start < end}
        if not text or (fields and _only_fields(body[start:end], len(fields))):
            continue
        if not nested:
            return text
        fallback = text
    if fallback or "item" not in outline.block_kinds:
        return fallback
    return _first_item(body, outline, marks)


def _first_item(body: str, outline: Outline, marks: InlineMarks) -> str:
    """Return the first line of the first list item that is no property."""
    fields = {body.rfind("\n", 0, mark.start) for mark in marks.fields}
    for place, kind in outline.blocks(0, len(body)):
        line_start = body.rfind("\n", 0, place + 1)
        if kind == "item" and line_start not in fields and not marks.comments.hold(place):
            end = body.find("\n", line_start + 1)
            text = _clean(outline.plain(place, end if end >= 0 else len(body)))
            if text:
                return text
    return ""


def _only_fields(text: str, count: int) -> bool:
    return len([line for line in text.split("\n") if line.strip()]) <= count


def _paragraph_text(outline: Outline, start: int, end: int) -> str:
    """Return a paragraph's plain text without the alternative texts of images."""
    images = [link for link in outline.links if link.image and start <= link.start < end]
    parts, at = [], start
    for image in images:
        parts.append(outline.plain(at, image.start))
        at = image.end
    parts.append(outline.plain(at, end))
    return _clean("".join(parts))


def _clean(text: str) -> str:
    if "%%" in text:
        text = _COMMENT.sub(" ", text)
    return " ".join(display_text(_PARAGRAPH_MARKS.sub(" ", text[:_LONGEST_CLEANED])).split())


def _diagnostics(outline: Outline) -> tuple[Diagnostic, ...]:
    if outline.failed:
        return (
            Diagnostic("markdown_unreadable", "the parser gave up on this page; it is kept as plain text"),
        )
    if outline.skipped_headings:
        message = f"{outline.skipped_headings} headings past the limit do not open sections"
        return (Diagnostic("too_many_headings", message),)
    return ()


def _conflicts(body: str, outline: Outline, start: int, lines: LineIndex) -> tuple[Diagnostic, ...]:
    """Return a note on the first place where a merge left both sides of a conflict in the text."""
    opened = 0 if body.startswith("<<<<<<< ") else body.find("\n<<<<<<< ") + 1
    if not opened and not body.startswith("<<<<<<< "):
        return ()
    middle = body.find("\n=======\n", opened)
    if middle < 0 or body.find("\n>>>>>>>", middle) < 0 or outline.is_opaque(opened):
        return ()
    message = "a merge was not finished here: both sides of a conflict are in the text"
    return (Diagnostic("merge_conflict", message, lines.line(opened + start)),)
