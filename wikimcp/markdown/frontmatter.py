"""The block of properties at the head of a file: found, read as bounded YAML, failing closed.

A block that is no good YAML gives what its lines say by themselves; every publication key met on
the way, repeated or half readable, is kept as a flag for ``publication`` to judge.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json import JSONDecoder
from typing import Any

from wikimcp.markdown.lenient import KEY_NAMES, LenientEntry, find_signs, looks_like_keys, read_entries
from wikimcp.markdown.publication import PUBLICATION_KEYS, Flag, fold_key, restriction
from wikimcp.markdown.yaml_values import MAX_SIZE, YamlDocument, YamlFault, load_yaml
from wikimcp.models import Diagnostic

_OPEN = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)")
_CLOSE = re.compile(r"\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_CLOSE_ANY = re.compile(r"[\r\n](?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_SECOND = re.compile(r"(?:[ \t]*(?>\r\n|\n|\r)){0,2}---[ \t]*(?:\r\n|\n|\r)(?=[\"']?[\w-]+[\"']?[ \t]*:)")
_ODD_OPEN = re.compile(
    r"[\s\ufeff\u200b]*(?:<!--(?:(?!-->).){0,2000}-->\s*)?(?:---|\+\+\+|;;;)[ \t]*(?:\r\n|\n|\r)", re.DOTALL
)
# JSON as some site generators take it: bare, or between fences that name it.
_JSON_OPEN = re.compile(r"\ufeff?(?:---[ \t]*json[ \t]*(?:\r\n|\n|\r))?\s*(?P<block>\{)", re.IGNORECASE)
_BLANK_LINE = re.compile(r"(?>\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")  # atomic: CRLF is one line end
_FENCE_LINE = re.compile(r"(?<=[\r\n])[ \t]*(?:---|\+\+\+|;;;)[ \t]*(?:\r\n|\n|\r|\Z)")
_JSON_CLOSE = re.compile(r"(?:\n|\r)\}")
_LONE_SIGN = re.compile(
    rf"^[\"']?(?P<key>{KEY_NAMES})[\"']?[ \t]*:[ \t]+[\"']?(?P<value>[\w-]+(?: review)?)[\"']?[ \t]*\r?$",
    re.MULTILINE | re.IGNORECASE,
)
_ODD_BLANK = re.compile("[\t\u00a0\u2007\u202f\u3000]")
_TAG_COMMENT = re.compile(r"^([Tt]ags?|[Aa]lias(?:es)?)[ \t]*:[ \t]+#[^\s#]", re.MULTILINE)
_HEAD_LIMIT = 8 * 1024


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The properties of one file. The body begins at character ``body_start``.

    ``data`` is JSON-safe; ``positions`` tells where each of its keys stands in the file.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    body_start: int = 0
    positions: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_frontmatter(text: str, *, partial: bool = False) -> Frontmatter:
    """Read the block at the head of a file. Never raises; ``partial`` says that the text was cut short."""
    opening = _OPEN.match(text)
    if opening is None:
        return _without_block(text)
    start = opening.end()
    closing = _closing_fence(text, start)
    if closing is None:
        return _unclosed(text, start, partial=partial)
    return _Reader(text).read(start, closing)


class _Reader:
    """Reads one closed block; collects flags and diagnostics on the way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data: dict[str, Any] = {}
        self.positions: dict[str, int] = {}
        self.flags: list[Flag] = []
        self.diagnostics: list[Diagnostic] = []

    def read(self, start: int, closing: tuple[int, int]) -> Frontmatter:
        """Read the block between ``start`` and its closing fence, and a second one right after it."""
        block = self.text[start : closing[0]]
        document = self.parse(block, start)
        if not looks_like_keys(block) if document is None else _is_prose(document):
            return _head_signs(self.text, start, closing[0])
        self.take(block, start, document)
        body_start = self.second_block(closing[1])
        return Frontmatter(self.data, body_start, self.positions, tuple(self.flags), tuple(self.diagnostics))

    def parse(self, block: str, start: int) -> YamlDocument | None:
        """Parse as YAML, with tabs as blanks if need be; None (and a diagnostic) when it is not YAML."""
        first: YamlFault | None = None
        document: YamlDocument | None = None
        try:
            document = load_yaml(block)
        except YamlFault as fault:
            first = fault
        if document is not None and not (_is_prose(document) and _ODD_BLANK.search(block)):
            return document
        if (odd := _ODD_BLANK.search(block)) is not None:
            try:
                again = load_yaml(_ODD_BLANK.sub(" ", block))
            except YamlFault:
                pass
            else:
                if document is None or not _is_prose(again):
                    what = "tabs" if odd[0] == "\t" else "blanks that are none to YAML"
                    message = f"{what} in the frontmatter were read as blanks"
                    self.note("frontmatter_tabs", message, self.line(start + odd.start()))
                    return again
        if first is None:
            return document
        line = self.line(start + first.index)
        self.note("frontmatter_invalid", f"the frontmatter is not valid YAML: {first.reason}", line)
        return None

    def take(self, block: str, start: int, document: YamlDocument | None) -> None:
        """Put a block's entries into ``data`` (the first block's keys win) and gather its flags."""
        if document is None:
            entries = read_entries(block)
            self.put((entry.key, entry.value, start + entry.start) for entry in entries)
            self.signs(block, start, entries)
            return
        self.put((entry.key, entry.value, start + entry.index) for entry in document.entries)
        for entry in document.entries:
            key = fold_key(entry.key)
            if key in PUBLICATION_KEYS:
                self.flags.append(Flag(key, entry.value, self.line(start + entry.index)))
        for name, first, second in document.repeated:
            places = f"lines {self.line(start + first)} and {self.line(start + second)}"
            rule = "the most restrictive" if fold_key(name) in PUBLICATION_KEYS else "the last"
            message = f"the key {name!r} stands on {places}; {rule} value counts"
            self.note("frontmatter_duplicate_key", message, self.line(start + second))
            self.restrict(name, document)
        if "#" in block:
            self.tag_hints(block, start)

    def restrict(self, name: str, document: YamlDocument) -> None:
        """Show the most restrictive value of a repeated publication key, as it is the one that counts."""
        key = fold_key(name)
        if key not in PUBLICATION_KEYS or key == "visibility":
            return
        today = datetime.now(UTC).date()
        for entry in document.entries:
            if entry.key == name and restriction(Flag(key, entry.value, 0), today=today):
                self.data[name] = entry.value
                return

    def put(self, entries: Iterable[tuple[str, Any, int]]) -> None:
        """Add entries, later ones winning over earlier ones of this block only."""
        earlier = set(self.data)
        for key, value, position in entries:
            if key not in earlier:
                self.data[key] = value
                self.positions[key] = position

    def tag_hints(self, block: str, start: int) -> None:
        """Hint at ``tags: #x``: YAML takes the value for a comment."""
        for match in _TAG_COMMENT.finditer(block):
            message = f"{match[1]}: YAML reads '#...' as a comment; write the value without '#' or in quotes"
            self.note("frontmatter_comment_value", message, self.line(start + match.start()))

    def signs(self, block: str, start: int, entries: tuple[LenientEntry, ...]) -> None:
        """Gather the flags of a block that is no YAML: clean entries as they are, all else as signs."""
        clean = [(entry.start, entry.end) for entry in entries if entry.clean]
        for entry in entries:
            key = fold_key(entry.key)
            if entry.clean and key in PUBLICATION_KEYS:
                self.flags.append(Flag(key, entry.value, self.line(start + entry.start)))
        for sign in find_signs(block):
            place = bisect_right(clean, (sign.index, len(block) + 1)) - 1
            if place < 0 or sign.index >= clean[place][1]:
                line = self.line(start + sign.index)
                self.flags.append(Flag(fold_key(sign.key), sign.value, line, certain=False))

    def second_block(self, start: int) -> int:
        """Read a second block right behind the first, if there is one; return where the body begins."""
        opening = _SECOND.match(self.text, start)
        closing = _closing_fence(self.text, opening.end()) if opening else None
        if opening is None or closing is None:
            return start
        block = self.text[opening.end() : closing[0]]
        if not looks_like_keys(block):
            return start
        message = "a second frontmatter block follows the first; its keys were added where they were missing"
        self.note("frontmatter_second_block", message, self.line(opening.end()))
        self.take(block, opening.end(), self.parse(block, opening.end()))
        return closing[1]

    def line(self, offset: int) -> int:
        """Return the line of a character."""
        text = self.text
        count = text.count("\n", 0, offset)
        if "\r" in text:
            count += text.count("\r", 0, offset) - text.count("\r\n", 0, offset)
        return count + 1

    def note(self, code: str, message: str, line: int) -> None:
        self.diagnostics.append(Diagnostic(code, message, line))


def _is_prose(document: YamlDocument | None) -> bool:
    """Say whether a parsed block is text between two rules: no mapping and not empty."""
    return document is not None and document.root is not None and not isinstance(document.root, dict)


def _without_block(text: str) -> Frontmatter:
    """Handle a text without a block at its first byte: one that is out of place still fails closed."""
    opening = _ODD_OPEN.match(text)
    if opening is None:
        if json_block := _JSON_OPEN.match(text):
            return _json_signs(text, json_block.start("block"))
        return _NOTHING_MARKED if text.startswith("\ufeff") else _NOTHING
    fence = _FENCE_LINE.search(text, opening.end())
    end = fence.start() if fence else None
    # Between fences that are no rules, or with keys on its lines, a blank line does not end the block.
    whole = "---" not in opening.group() or looks_like_keys(text[opening.end() : end])
    return _head_signs(text, opening.end(), end, whole=whole)


def _unclosed(text: str, start: int, *, partial: bool) -> Frontmatter:
    """Handle an opening fence without a closing one: all is body, signs in its first lines count."""
    result = _head_signs(text, start, None)
    if not partial or not looks_like_keys(text[start : start + _HEAD_LIMIT]):
        return result
    flag = Flag("draft", "unreadable: the file was cut inside its frontmatter", 1, certain=False)
    note = Diagnostic("frontmatter_invalid", "the frontmatter goes on past the size limit of a file", 1)
    return Frontmatter({}, result.body_start, {}, (*result.flags, flag), (note,))


def _head_signs(text: str, start: int, end: int | None, *, whole: bool = False) -> Frontmatter:
    """Take all as body, but look for publication keys up to the first blank line.

    Of a ``whole`` block with an end all lines count; of any other that has one, those that are nothing but
    a publication key and its value count behind the blank line, or far down, too.
    """
    limit = start + _HEAD_LIMIT if end is None else min(end, start + (MAX_SIZE if whole else _HEAD_LIMIT))
    blank = None if whole and end is not None else _BLANK_LINE.search(text, start - 1, limit)
    block = text[start : max(blank.start(), start) if blank else limit]
    reader = _Reader(text)
    reader.signs(block, start, read_entries(block))
    if end is not None:
        seen = limit if blank is None else blank.end()
        for match in _LONE_SIGN.finditer(text, seen, end):
            key, line = fold_key(match["key"]), reader.line(match.start("key"))
            reader.flags.append(Flag(key, match["value"].strip(), line, certain=False))
    return _out_of_place(reader, start)


def _out_of_place(reader: _Reader, start: int) -> Frontmatter:
    """Return the signs that were found, and a note on them; all of the text is body."""
    if reader.flags:
        message = "publication keys outside a frontmatter block (it opens on the first line and is closed)"
        reader.note("frontmatter_out_of_place", message, reader.line(start))
    return Frontmatter({}, _after_mark(reader.text), {}, tuple(reader.flags), tuple(reader.diagnostics))


def _json_signs(text: str, start: int) -> Frontmatter:
    """Look for publication keys in an object of JSON; one that is broken ends at a line that closes it."""
    try:
        value, length = JSONDecoder().raw_decode(text[start : start + MAX_SIZE])
    except (ValueError, RecursionError):
        closing = _JSON_CLOSE.search(text, start, start + MAX_SIZE)
        return _head_signs(text, start, closing.end() if closing else None, whole=True)
    reader = _Reader(text)
    for key, item in value.items():
        folded = fold_key(key)
        if folded in PUBLICATION_KEYS:
            place = max(text.find(json.dumps(key), start, start + length), start)
            reader.flags.append(Flag(folded, item, reader.line(place), certain=False))
    return _out_of_place(reader, start)


def _closing_fence(text: str, start: int) -> tuple[int, int] | None:
    """Return where the fence that closes a block begins and where the text after it does."""
    pattern = _CLOSE_ANY if "\r" in text else _CLOSE
    match = pattern.search(text, start - 1)
    return (max(match.start() + 1, start), match.end()) if match else None


def _after_mark(text: str) -> int:
    return 1 if text.startswith("\ufeff") else 0


_NOTHING = Frontmatter()
_NOTHING_MARKED = Frontmatter(body_start=1)
