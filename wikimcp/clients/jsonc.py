"""JSON with comments and trailing commas, read into nodes that know where they stand in the text.

Pure: text in, values out. Editing such a text is the matter of `jsonc_edit`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from wikimcp.errors import WikimcpError

MOST_LEVELS = 200
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null'
)
_BLANK = " \t\r\n"
_NEWLINE = re.compile(r"\r\n|\n|\r")


class BrokenText(WikimcpError):
    """A text that does not parse; ``line`` counts from 1."""

    code = "broken"

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Node:
    """One value: ``text[start:end]``.

    A container's ``content_end`` is where its last token ends before the closing bracket, be it a
    value, a comma, a comment or the opening bracket itself.
    """

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    scalar: Any = None
    elements: tuple[Element, ...] = ()
    content_end: int = 0
    ends_in_line_comment: bool = False

    @property
    def plain(self) -> Any:  # noqa: ANN401 - any JSON value
        """The value as Python has it; of a key that is there twice, the last."""
        if self.kind == "object":
            return {element.key: element.value.plain for element in self.elements}
        return [item.value.plain for item in self.elements] if self.kind == "array" else self.scalar

    @property
    def bare(self) -> bool:
        """Whether a container holds nothing at all, not even a comment."""
        return not self.elements and self.content_end == self.start + 1


@dataclass(frozen=True, slots=True)
class Element:
    """A member of an object (``start`` at its key) or an item of an array (``key`` empty).

    ``before`` is where the token in front of it ends; ``comma`` the place of the comma after it.
    """

    key: str
    start: int
    value: Node
    before: int
    comma: int | None


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    token_end: int = 0
    in_line_comment: bool = False
    levels: int = field(default=0)

    def fail(self, message: str, at: int | None = None) -> BrokenText:
        return BrokenText(message, line=line_of(self.text, self.at if at is None else at))

    def skip(self) -> None:
        """Go to the next token; comments count as tokens for ``token_end``."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in _BLANK:
                self.at += 1
            elif text.startswith("//", self.at):
                found = _NEWLINE.search(text, self.at)
                self.at = self.token_end = found.start() if found else len(text)
                self.in_line_comment = True
            elif text.startswith("/*", self.at):
                end = text.find("*/", self.at + 2)
                if end < 0:
                    raise self.fail("a comment that is not closed")
                self.at = self.token_end = end + 2
                self.in_line_comment = False
            else:
                return

    def take(self, length: int) -> None:
        self.at += length
        self.token_end, self.in_line_comment = self.at, False

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self) -> Node:
        start = self.at
        if self.peek() in ("{", "["):
            return self.container(start)
        found = _SCALAR.match(self.text, start)
        if found is None:
            shown = self.text[start : start + 20].split("\n")[0]
            raise self.fail(f"a value is expected, not '{shown}'" if shown else "the text ends in the middle")
        self.take(len(found[0]))
        try:
            return Node("scalar", start, self.at, json.loads(found[0]))
        except ValueError as error:
            raise self.fail("a text with an unknown escape", start) from error

    def container(self, start: int) -> Node:
        is_object = self.peek() == "{"
        closing = "}" if is_object else "]"
        self.levels += 1
        if self.levels > MOST_LEVELS:
            raise self.fail(f"more than {MOST_LEVELS} levels of brackets")
        self.take(1)
        elements: list[Element] = []
        while True:
            self.skip()
            if self.peek() == closing:
                break
            if elements and elements[-1].comma is None:
                raise self.fail(
                    f"a comma or {closing} is expected" if self.peek() else "a bracket is not closed"
                )
            elements.append(self.element(is_object))
        content_end, in_comment = self.token_end, self.in_line_comment
        self.take(1)
        self.levels -= 1
        kind: Literal["object", "array"] = "object" if is_object else "array"
        return Node(
            kind,
            start,
            self.at,
            None,
            tuple(elements),
            content_end=content_end,
            ends_in_line_comment=in_comment,
        )

    def element(self, is_object: bool) -> Element:
        before, start, key = self.token_end, self.at, ""
        if not self.peek():
            raise self.fail("a bracket is not closed")
        if is_object:
            if self.peek() != '"':
                raise self.fail("a key in double quotes is expected")
            key = self.value().scalar
            self.skip()
            if self.peek() != ":":
                raise self.fail("a colon is expected after a key")
            self.take(1)
            self.skip()
        value = self.value()
        here = (self.at, self.token_end, self.in_line_comment)
        self.skip()
        if self.peek() == ",":
            comma = self.at
            self.take(1)
            return Element(key, start, value, before, comma)
        self.at, self.token_end, self.in_line_comment = here
        return Element(key, start, value, before, None)


def parse(text: str) -> Node | None:
    """Read a text; None when it holds no value, only blanks and comments. Raises BrokenText."""
    reader = _Reader(text)
    reader.skip()
    if not reader.peek():
        return None
    root = reader.value()
    reader.skip()
    if reader.peek():
        raise reader.fail("something stands after the end")
    return root


def line_of(text: str, at: int) -> int:
    """Return the line of a place in a text, counted from 1."""
    return len(_NEWLINE.findall(text, 0, at)) + 1
