"""A small reader of org files: headings, keywords, property drawers, links, tags and code blocks.

It gives the same values as the markdown reader, so that nothing above knows which of the two it was.
What an agenda needs (times, clocks, formulas of tables) is left in the text as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikimcp.markdown.body import BodyReading, short_heading
from wikimcp.markdown.chunks import build_chunks
from wikimcp.markdown.events import MAX_HEADINGS, HeadingMark, Outline
from wikimcp.markdown.frontmatter import Frontmatter
from wikimcp.markdown.inline import Ranges, is_tag
from wikimcp.markdown.lenient import line_feeds
from wikimcp.markdown.org_links import org_links, shown_text
from wikimcp.markdown.outliner import property_names
from wikimcp.markdown.publication import PUBLICATION_KEYS, Flag, find_directives, fold_key
from wikimcp.markdown.sections import build_sections
from wikimcp.markdown.tokens import CJK, LineIndex
from wikimcp.markdown.yaml_values import plain_value
from wikimcp.models import ParsedBody

_HEADING = re.compile(
    r"(?P<stars>\*+)[ \t]+"
    r"(?:(?:TODO|DONE|DOING|NOW|LATER|NEXT|WAIT|WAITING|HOLD|IN-PROGRESS|CANCELL?ED)(?=[ \t]|$)[ \t]*)?"
    r"(?:\[#[A-Z0-9]\][ \t]*)?(?P<text>.*?)[ \t]*(?P<tags>:[\w@#%:]+:)?[ \t]*$"
)
_KEYWORD = re.compile(r"[ \t]*#\+(?P<key>[A-Za-z][\w-]*):(?:[ \t]+(?P<value>.*))?$")
_DRAWER = re.compile(r"[ \t]*:(?P<name>[A-Za-z][\w-]*):[ \t]*$")
_DRAWER_LINE = re.compile(r"[ \t]*:(?P<key>[^\s:]+)\+?:(?:[ \t]+(?P<value>.*))?$")
_FIXED_WIDTH = re.compile(r"[ \t]*:(?:[ \t]|$)")
_COMMENT = re.compile(r"[ \t]*#(?:[ \t]|$)")
_BLOCK = re.compile(r"[ \t]*#\+(?P<end>begin|end)_(?P<name>\w+)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-+]|\d+[.)])[ \t]")
_VERBATIM = re.compile(
    r"(?<![^\s({'\"-])(?:=(?! )[^=\n]+(?<! )=|~(?! )[^~\n]+(?<! )~)(?![^\s.,;:!?)}'\"\[-])"
)
_MACRO = re.compile(r"\{\{(?!\s*embed\b)(?:\s*query\b[^{}]*|[^{}\n]*)\}\}", re.IGNORECASE)
_TAG = re.compile(r"(?<![^\s(,;])#(?:\[\[([^\[\]\n]+)\]\]|([^\s#,;.!?()\[\]{}\"':+]+))")
_DRAWERS = frozenset(("properties", "logbook"))
_OPAQUE = frozenset(("src", "example", "comment", "export", "latex", "query"))
_LISTS = {"alias": "aliases", "aliases": "aliases", "tags": "tags", "filetags": "tags"}


def read_org(text: str, *, lines: LineIndex | None = None) -> tuple[Frontmatter, BodyReading]:
    """Read an org file: its keywords and first drawer as properties, all else as a body. Never raises."""
    lines = lines or LineIndex(text)
    body = line_feeds(text)
    parts = _Reader(body, lines)
    parts.read()
    start = parts.body_start
    sections = build_sections(
        body[start:],
        [heading._replace(start=heading.start - start) for heading in parts.headings],
        offset=start,
        lines=lines,
    )
    outline = Outline(
        block_bytes=[at - start for at, _ in parts.blocks if at >= start],
        block_kinds=[kind for at, kind in parts.blocks if at >= start],
        wide=CJK.search(body) is not None,
    )
    macros = (match.span() for match in _MACRO.finditer(body)) if "{{" in body else ()
    code = Ranges([*parts.opaque, *_verbatim(body, Ranges(parts.opaque)), *macros])
    parsed = ParsedBody(
        sections=sections,
        chunks=build_chunks(body[start:], outline, sections, offset=start),
        links=tuple(org_links(body, start, skip=code, lines=lines)),
        tags=tuple(dict.fromkeys((*parts.tags, *_inline_tags(body, start, code)))),
        block_ids=tuple(parts.ids),
        first_paragraph=shown_text(parts.paragraph or (parts.headings[0].text if parts.headings else "")),
        hidden=tuple(span for span in parts.hidden if span[0] >= start),
        comments=tuple(span for span in parts.comments if span[0] >= start),
    )
    front = Frontmatter(parts.data, start, parts.positions, tuple(parts.flags))
    directives = [found for found in find_directives(body) if not code.hold(found.start)]
    return front, BodyReading(parsed, tuple(directives))


@dataclass(slots=True)
class _Reader:
    """Goes over the lines once; offsets are those of the file."""

    text: str
    lines: LineIndex
    headings: list[HeadingMark] = field(default_factory=list)
    opaque: list[tuple[int, int]] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    blocks: list[tuple[int, str]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    flags: list[Flag] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    unclosed: set[str] = field(default_factory=set)
    paragraph: str = ""
    body_start: int = 0

    def read(self) -> None:
        """Read all lines; what stands before the first line of text belongs to no body."""
        at, in_text, blank = 0, False, True
        while at < len(self.text):
            end = self.line_end(at)
            line = self.text[at:end].rstrip()
            skipped = self.special(at, line)
            if skipped:
                self.hidden.append((at, skipped))
                end = skipped
            elif line:
                in_text = True
                end = self.content(at, line, end, blank=blank)
            blank = not line or bool(skipped)
            at = end
            if not in_text:
                self.body_start = at

    def line_end(self, at: int) -> int:
        return self.text.find("\n", at) + 1 or len(self.text)

    def special(self, at: int, line: str) -> int:
        """Read a keyword, drawer or comment; return where it ends, 0 when the line is none."""
        if keyword := _KEYWORD.match(line):
            self.property(keyword["key"], keyword["value"] or "", at, page=True)
            return self.line_end(at)
        if (drawer := _DRAWER.match(line)) and drawer["name"].lower() != "end":
            return self.drawer(at, drawer["name"].lower())
        if _COMMENT.match(line):
            self.opaque.append((at, self.line_end(at)))
            self.comments.append((at, self.line_end(at)))
            return self.line_end(at)
        return 0

    def drawer(self, at: int, name: str) -> int:
        """Read the properties of a drawer; return where it ends, 0 when it is not closed or no drawer."""
        if name not in _DRAWERS:
            return 0
        inside: list[tuple[int, str, str]] = []
        end = self.line_end(at)
        while end < len(self.text):
            line = self.text[end : self.line_end(end)].rstrip()
            if line.strip().lower() == ":end:":
                for start, key, value in inside:
                    self.property(key, value, start, page=not self.headings)
                return self.line_end(end)
            match = _DRAWER_LINE.match(line)
            if match is not None and match["key"].lower() in _DRAWERS:
                return 0
            if name == "properties":
                if match is None:
                    return 0
                inside.append((end, match["key"], match["value"] or ""))
            end = self.line_end(end)
        return 0

    def property(self, key: str, value: str, at: int, *, page: bool) -> None:
        """Take a property of the page or of the block under the last heading."""
        name, value = key.lower(), value.strip()
        if name in ("id", "custom_id", "custom-id") and value:
            self.ids.append(value)
        if not page:
            return
        folded = fold_key(name)
        if folded in PUBLICATION_KEYS:
            self.flags.append(Flag(folded, plain_value(value), self.lines.line(at)))
        listed = _LISTS.get(name)
        if listed:
            names = property_names(value.strip(":").replace(":", ",") if value.startswith(":") else value)
            known = self.data.setdefault(listed, [])
            known += [part for part in names if part not in known]
        else:
            self.data.setdefault(name, plain_value(value))
        self.positions.setdefault(listed or name, at)

    def content(self, at: int, line: str, end: int, *, blank: bool) -> int:
        """Read a line of text, or a whole block of code; return where it ends."""
        if line[0] == "*" and len(self.headings) < MAX_HEADINGS and (heading := _HEADING.match(line)):
            shown = short_heading(shown_text(heading["text"]))
            self.headings.append(HeadingMark(at, len(heading["stars"]), shown))
            self.tags += [tag for tag in (heading["tags"] or "").split(":") if is_tag(tag)]
            self.blocks.append((at, "heading"))
            return end
        opened = _BLOCK.match(line)
        if opened and opened["end"].lower() == "begin":
            name = opened["name"].lower()
            if name in _OPAQUE and (closed := self.block_end(end, opened["name"])):
                self.opaque.append((at, closed))
                self.blocks.append((at, "fence"))
                if name == "comment":
                    self.hidden.append((at, closed))
                    self.comments.append((at, closed))
                return closed
        if _FIXED_WIDTH.match(line):
            self.opaque.append((at, end))
        if opened:
            self.hidden.append((at, end))
        elif _ITEM.match(line):
            self.blocks.append((at, "item"))
        elif line.lstrip()[0] == "|":
            self.blocks.append((at, "row"))
        elif blank or not self.paragraph:
            self.blocks.append((at, "paragraph"))
        if not self.paragraph and not opened:
            self.paragraph = self.paragraph_at(at)
        return end

    def block_end(self, at: int, name: str) -> int:
        """Return where the block that was opened before ``at`` ends, 0 when it does not."""
        if name.lower() in self.unclosed:
            return 0
        match = re.compile(rf"^[ \t]*#\+end_{name}\b.*(?:\n|\Z)", re.I | re.M).search(self.text, at)
        if match is None:
            self.unclosed.add(name.lower())
            return 0
        return match.end()

    def paragraph_at(self, at: int) -> str:
        """Return the lines of text from one on, up to a blank line or one of another kind."""
        kept: list[str] = []
        while at < len(self.text):
            end = self.line_end(at)
            line = self.text[at:end].rstrip()
            other = _KEYWORD.match(line) or _DRAWER.match(line) or _HEADING.match(line) or _BLOCK.match(line)
            if not line or other or (kept and _ITEM.match(line)):
                break
            item = _ITEM.match(line)
            kept.append(line[item.end() if item else 0 :].strip())
            at = end
        return " ".join(kept)


def _verbatim(text: str, opaque: Ranges) -> Iterator[tuple[int, int]]:
    if "=" in text or "~" in text:
        for match in _VERBATIM.finditer(text):
            if not opaque.hold(match.start()):
                yield match.span()


def _inline_tags(text: str, start: int, code: Ranges) -> Sequence[str]:
    return [
        tag
        for match in _TAG.finditer(text, start)
        if not code.hold(match.start()) and is_tag(tag := match[1] or match[2])
    ]
