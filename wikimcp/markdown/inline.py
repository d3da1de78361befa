"""What running text holds beyond CommonMark: wikilinks, tags, comments, block ids, inline fields.

Found by plain searches over the body and kept only where the outline says that text runs, so never in
code, math, raw HTML or templates. Every search is linear in the size of the body.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from wikimcp.markdown.events import Outline
from wikimcp.markdown.publication import Directive, find_directives

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
MAX_LINK = 1_000
MAX_TAG = 200

_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_BLOCK_REFERENCE = re.compile(rf"\(\(({UUID})\)\)")
_TAG_CHARACTER = (
    "[^\\s\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
    "'!\"#$%&()*+,.:;<=>?@^`{|}~\\[\\]\\\\]"
)
_TAG = re.compile(f"#({_TAG_CHARACTER}+)")
_MENTION = re.compile(rf"[#@](?!\d)({_TAG_CHARACTER}+(?:\.{_TAG_CHARACTER}+)*)")
_BEFORE_TAG = frozenset(" \t\n\r\f\v\u00a0\u3000(*_~|,;>\"'\u201c\u2018\uff08\u3001\u3002\uff0c")
_HEADING_ATTRIBUTES = re.compile(r"\{(?::|/\*)?\s*(?:[.#]?[\w=\"'-]+\s+)*\Z")
_BLOCK_ID = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_FIELD_KEY = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?)?(?:\*\*|__|[*_])?"
    r"([^\W\d_][\w /-]{0,79}?)(?:\*\*|__|[*_])?[ \t]*\Z"
)
_BRACKET_FIELD = re.compile(
    r"[\[(]([^\W\d_][\w /-]{0,79}?)[ \t]*::[ \t]+((?:\[\[[^\[\]\n]*\]\]|[^\[\]()\n])*)[\])]"
)
_EMBED_MACRO = re.compile(r"\{\{\s*embed\s+(?:\[\[|\(\()", re.IGNORECASE)
_EMBED_OPENING = re.compile(r"\{\{\s*embed\s+\Z", re.IGNORECASE)
# ``{#x}``, ``{ .note #x }``, ``{: #x}``, ``{/* #x */}``, but for the tags of templates in double braces.
_ANCHOR = re.compile(
    r"\{(?<!\{\{)(?::|/\*)?[ \t]*(?:\.[\w-]+[ \t]+){0,9}#([^\s{}#.][^\s{}#]*)[^{}\n]*\}(?!\})"
)
_QUERY = re.compile(r"\{\{\s*query\b", re.IGNORECASE)
_BLOCK_BEGIN = re.compile(
    r"^[ \t>*+-]*#\+BEGIN_(QUERY|SRC|EXAMPLE|COMMENT|EXPORT|LATEX)\b", re.IGNORECASE | re.MULTILINE
)
_POSIX_CLASS = re.compile(r":\w+:")
_WHOLE_UUID = re.compile(UUID)


class WikilinkMark(NamedTuple):
    """A ``[[...]]`` from its first bracket (or ``!``) to its last, with what stands between."""

    start: int
    end: int
    inner: str
    embed: bool


@dataclass(frozen=True, slots=True)
class FieldMark:
    """An inline field ``key:: value``; ``start`` to ``end`` is the value's range.

    ``bracketed``: it is written ``[key:: value]`` and may stand in the value of the field of its line.
    """

    key: str
    value: str
    start: int
    end: int
    bracketed: bool = False


@dataclass(slots=True)
class InlineMarks:
    """All that was found, in order of the body."""

    wikilinks: list[WikilinkMark] = field(default_factory=list)
    references: list[tuple[int, str]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    block_ids: list[str] = field(default_factory=list)
    fields: list[FieldMark] = field(default_factory=list)
    comments: Ranges = field(default_factory=lambda: Ranges(()))
    templates: Ranges = field(default_factory=lambda: Ranges(()))
    directives: list[Directive] = field(default_factory=list)
    anchors: list[tuple[int, str]] = field(default_factory=list)
    mentions: list[tuple[int, str]] = field(default_factory=list)


class Ranges:
    """Sorted ranges that can be asked whether they hold a place."""

    __slots__ = ("_reach", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(ranges)
        self._starts = [start for start, _ in ordered]
        self._reach = list(accumulate((end for _, end in ordered), max))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges, sorted; those inside of others reach as far as these."""
        return list(zip(self._starts, self._reach, strict=True))

    def hold(self, start: int, end: int | None = None) -> bool:
        """Say whether one range holds ``start`` (and all up to ``end``)."""
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and self._reach[place] >= (start + 1 if end is None else end)


def read_inline(body: str, outline: Outline, *, mentions: bool = False) -> InlineMarks:
    """Find everything; ``body`` is the text that the outline was read from.

    With ``mentions`` names after ``#`` and ``@`` may hold dots, and each one is kept with its place.
    """
    marks = InlineMarks()
    braces = "{" in body  # one character is found far faster than two
    percents = "%" in body
    if (braces and ("{{" in body or "{%" in body)) or (percents and "<%" in body) or "#+" in body:
        marks.templates = Ranges((*_templates(body, outline), *_machine_blocks(body, outline)))
    if percents and "%%" in body:
        marks.comments = Ranges(_comments(body, outline))
    links = Ranges((link.start, link.end) for link in outline.links)
    if "[[" in body:
        marks.wikilinks = _wikilinks(body, outline, marks.templates, links)
    if "((" in body:
        marks.references = _references(body, outline, marks.templates)
    if mentions:
        marks.mentions = _mentions(body, outline, marks, links)
        marks.tags = [name[1:] for _, name in marks.mentions if name[0] == "#"]
    elif "#" in body:
        marks.tags = _tags(body, outline, marks, links)
    if "^" in body:
        found = _BLOCK_ID.finditer(body)
        marks.block_ids = [
            match[1]
            for match in found
            if _stands_alone(body, match.start()) and outline.is_text(match.start())
        ]
    if "::" in body:
        marks.fields = _fields(body, outline)
        marks.block_ids += [f.value for f in marks.fields if f.key == "id" and _WHOLE_UUID.fullmatch(f.value)]
    if braces and "#" in body:
        marks.anchors = [
            (match.start(), match[1]) for match in _ANCHOR.finditer(body) if outline.is_text(match.start())
        ]
    if braces and "[{" in body:
        marks.directives = [found for found in find_directives(body) if not outline.is_opaque(found.start)]
    return marks


def page_properties(fields: list[FieldMark], body: str) -> list[FieldMark]:
    """Return the fields that make up the first block of a body: the properties of the whole page."""
    properties = []
    expected = len(body) - len(body.lstrip())
    for mark in fields:
        if mark.start < expected:
            continue  # in brackets, within the value of the one before
        line_start = body.rfind("\n", 0, mark.start) + 1
        if body[expected:line_start].strip() or "\n\n" in body[expected:line_start]:
            break
        properties.append(mark)
        expected = mark.end
    return properties


def _templates(body: str, outline: Outline) -> Iterable[tuple[int, int]]:
    """Yield shortcodes, template tags and queries; ``{{embed [[X]]}}`` is a link and stays."""
    for opening, closing in (("{{", "}}"), ("{%", "%}"), ("<%", "%>")):
        close, position = -1, body.find(opening)
        while position >= 0:
            if close < position + 2:
                close = body.find(closing, position + 2)
                if close < 0:
                    break
            multiline = (
                opening == "<%"
                or body[position + 2 : position + 3] in ("<", "%")
                or _QUERY.match(body, position)
            )
            if multiline or body.find("\n", position, close) < 0:
                if not outline.is_opaque(position) and not _EMBED_MACRO.match(body, position):
                    yield position, close + 2
                position = body.find(opening, close + 2)
            else:
                position = body.find(opening, position + 2)


def _machine_blocks(body: str, outline: Outline) -> Iterable[tuple[int, int]]:
    """Yield what stands between ``#+BEGIN_QUERY`` and its end, and code that is written the same way."""
    if "#+" not in body:
        return
    at, unclosed = 0, set[str]()
    while opened := _BLOCK_BEGIN.search(body, at):
        at, kind = opened.end(), opened[1].upper()
        if kind in unclosed or outline.is_opaque(opened.start(1)):
            continue
        closed = re.compile(rf"^[ \t]*#\+END_{kind}\b", re.I | re.M).search(body, at)
        if closed is None:
            unclosed.add(kind)
        else:
            at = closed.end()
            yield opened.start(), at


def _comments(body: str, outline: Outline) -> list[tuple[int, int]]:
    """Pair ``%%`` marks: one that begins a line may span blocks, any other ends within its paragraph."""
    comments: list[tuple[int, int]] = []
    opened = -1
    for match in re.finditer("%%", body):
        position = match.start()
        if not outline.is_text(position):
            continue
        if opened >= 0:
            line_start = body.rfind("\n", 0, opened) + 1
            if not body[line_start:opened].strip() or not re.search(r"\n[ \t]*\n", body[opened:position]):
                comments.append((opened, match.end()))
                opened = -1
                continue
        opened = position
    return comments


def _wikilinks(body: str, outline: Outline, templates: Ranges, links: Ranges) -> list[WikilinkMark]:
    """Return the wikilinks in running text; what most bodies do not hold at all is asked for once."""
    found = []
    macros, backslashes, coded = "{{" in body, "\\" in body, bool(outline.opaque_starts)
    for match in _WIKILINK.finditer(body):
        start, end = match.span()
        inner = match[1]
        if (
            end - start > MAX_LINK
            or not outline.is_text(start)
            or (backslashes and _is_escaped(body, start))
            or (coded and outline.opens_opaque(start, end))
            or (templates and templates.hold(start))
            or (links and links.hold(start, end))
            or (inner[0] == ":" and _POSIX_CLASS.fullmatch(inner))
            or (macros and "{{" in inner)
            or "<%" in inner
        ):
            continue
        embed = body[start - 1 : start] == "!" and not _is_escaped(body, start - 1)
        macro = macros and _EMBED_OPENING.search(body, max(start - 16, 0), start) is not None
        found.append(WikilinkMark(start - embed, end, inner, embed or macro))
    return found


def _references(body: str, outline: Outline, templates: Ranges) -> list[tuple[int, str]]:
    """Return ``((uuid))`` block references as (start, uuid)."""
    return [
        (match.start(), match[1])
        for match in _BLOCK_REFERENCE.finditer(body)
        if outline.is_text(match.start()) and not templates.hold(match.start())
    ]


def _tags(body: str, outline: Outline, marks: InlineMarks, links: Ranges) -> list[str]:
    wikilinks = Ranges((mark.start, mark.end) for mark in marks.wikilinks)
    hidden = (links, wikilinks, marks.templates, marks.comments)
    found = [
        (match.start(), match[1].strip("/"))
        for match in _TAG.finditer(body)
        if (match.start() == 0 or body[match.start() - 1] in _BEFORE_TAG) and len(match[1]) <= MAX_TAG
    ]
    found += [
        (mark.start - 1, mark.inner.partition("|")[0].strip())
        for mark in marks.wikilinks
        if body[mark.start - 1 : mark.start] == "#"
        and (mark.start == 1 or body[mark.start - 2] in _BEFORE_TAG)
    ]
    return [
        tag for start, tag in sorted(found) if is_tag(tag) and _stands_in_text(body, outline, start, hidden)
    ]


def _mentions(body: str, outline: Outline, marks: InlineMarks, links: Ranges) -> list[tuple[int, str]]:
    """Return (start, name with its mark) of each ``#tag.below`` and ``@name`` between words."""
    hidden = (
        links,
        Ranges((mark.start, mark.end) for mark in marks.wikilinks),
        marks.templates,
        marks.comments,
    )
    return [
        (match.start(), match[0])
        for match in _MENTION.finditer(body)
        if (match.start() == 0 or body[match.start() - 1] in _BEFORE_TAG)
        and len(match[1]) <= MAX_TAG
        and is_tag(match[1])
        and _stands_in_text(body, outline, match.start(), hidden)
    ]


def _stands_in_text(body: str, outline: Outline, start: int, hidden: Iterable[Ranges]) -> bool:
    """Say whether a mark is text, outside of all that is hidden, and no attribute of a heading."""
    line = max(body.rfind("\n", 0, start) + 1, start - 200)
    return (
        outline.is_text(start)
        and not any(ranges.hold(start) for ranges in hidden)
        and not _HEADING_ATTRIBUTES.search(body, line, start)
    )


def is_tag(text: str) -> bool:
    """Say whether a name can be a tag: it needs more than digits and separators."""
    if text[:1].isalpha():
        return True
    return any(not (character.isdigit() or character in "-_/") for character in text)


def _fields(body: str, outline: Outline) -> list[FieldMark]:
    """Return the fields of lines and those in brackets, in the order in which their values begin."""
    found: list[FieldMark] = []
    position = body.find("::")
    while position >= 0:
        line_start = body.rfind("\n", max(position - 200, 0), position) + 1
        key = _FIELD_KEY.match(body, line_start, position)
        after = body[position + 2 : position + 3]
        if key is not None and after in ("", " ", "\t", "\n", "*", "_") and outline.is_text(position):
            end = body.find("\n", position)
            end = len(body) if end < 0 else end
            value = body[position + 2 : end]
            found.append(FieldMark(key[1].strip(), value.strip(" \t*_"), position + 2, end))
            position = body.find("::", end)
        else:
            position = body.find("::", position + 2)
    if "[" in body or "(" in body:
        found += [
            FieldMark(match[1], match[2].strip(), match.start(2), match.end(2), bracketed=True)
            for match in _BRACKET_FIELD.finditer(body)
            if outline.is_text(match.start())
        ]
        found.sort(key=lambda mark: mark.start)
    return found


def _is_escaped(body: str, position: int) -> bool:
    backslashes = 0
    while position > 0 and body[position - 1] == "\\":
        backslashes += 1
        position -= 1
    return backslashes % 2 == 1


def _stands_alone(body: str, position: int) -> bool:
    return position == 0 or body[position - 1] in " \t\n"
