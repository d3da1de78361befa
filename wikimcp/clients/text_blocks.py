"""Blocks between two marked comments at the end of a text file: instructions in markdown, a table in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wikimcp.clients.jsonc import line_of
from wikimcp.clients.jsonc_edit import newline_of
from wikimcp.clients.marks import Mark
from wikimcp.clients.parts import NAME, InstallRefused, Removed

_ABOUT = "written by `wikimcp install`, removed by `wikimcp uninstall`"


@dataclass(frozen=True, slots=True)
class _Comment:
    """How a comment begins and ends in the file's language."""

    left: str
    right: str

    def opening(self, mark: Mark) -> str:
        return f"{self.left}wikimcp:begin {mark} ({_ABOUT}){self.right}"

    @property
    def closing(self) -> str:
        return f"{self.left}wikimcp:end{self.right}"


MARKDOWN = _Comment("<!-- ", " -->")
TOML = _Comment("# ", "")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block stands: from its first to its last character, without the last line's end."""

    start: int
    end: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A marked block in a markdown file; ``made`` gives its lines."""

    file: str
    made: Callable[[Mark], str]
    comment: _Comment = MARKDOWN

    def install(self, text: str | None, *, folders: int) -> str:
        """Append the block, or bring the one that is there up to date."""
        if text is None:
            return self._block(Mark(folders=folders), newline="\n") + "\n"
        newline = newline_of(text)
        if place := self._place(text):
            return text[: place.start] + self._block(place.mark, newline=newline) + text[place.end :]
        gap = _line_ends_missing(text)
        return text + newline * gap + self._block(Mark(levels=gap), newline=newline) + newline

    def uninstall(self, text: str) -> Removed | None:
        """Take the block out with the line ends that were put around it."""
        place = self._place(text)
        if place is None:
            return None
        newline = newline_of(text)
        start, end = place.start, place.end
        if text.startswith(newline, end):
            end += len(newline)
        if place.mark.folders is None:
            for _ in range(place.mark.levels):
                if text.endswith(newline, 0, start):
                    start -= len(newline)
        joint = newline if text[end:] and text[:start] and not text.endswith(("\n", "\r"), 0, start) else ""
        left = text[:start] + joint + text[end:]
        made = place.mark.folders is not None and not left.strip()
        return Removed(left, made_file=made, folders=place.mark.folders or 0)

    def state(self, text: str) -> str:
        """Tell whether the block is there."""
        try:
            return "installed" if self._place(text) else "absent"
        except InstallRefused as error:
            return f"broken: {error.message}"

    def _block(self, mark: Mark, *, newline: str) -> str:
        lines = [self.comment.opening(mark), *self.made(mark).splitlines(), self.comment.closing]
        return newline.join(lines)

    def _place(self, text: str) -> _Place | None:
        """Find the one block. Raises InstallRefused when its two comments do not stand as they were put."""
        left, right = re.escape(self.comment.left.strip()), re.escape(self.comment.right.strip())
        line = rf"^{left} *wikimcp:(begin ([a-z0-9]+)|end)\b[^\r\n]*{right}[ \t]*(?=\r?$)"
        found = list(re.finditer(line, text, re.MULTILINE))
        if not found:
            return None
        mark = Mark.read(found[0][2] or "")
        if len(found) != 2 or mark is None or found[1][1] != "end":
            lines = " and ".join(str(line_of(text, item.start())) for item in found)
            raise InstallRefused(
                f"{self.file} line {lines}: the marked block of wikimcp has lost its beginning or its end",
                hint="Nothing was written. Remove what is left of the block and try again.",
            )
        return _Place(found[0].start(), found[1].end(), mark)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table ``[outer.wikimcp]`` in a TOML file, as a marked block; ``made`` gives its values."""

    file: str
    outer: str
    made: Callable[[Mark], dict[str, Any]]

    def install(self, text: str | None, *, folders: int) -> str:
        """Append the table, or bring the one that is there up to date."""
        before = self._parsed(text or "")
        block = self._block()
        ours = text is not None and block.state(text) == "installed"
        if not ours and NAME in self._tables(before):
            raise InstallRefused(
                f"{self.file}{_place_of(text or '', self.outer)} has a table '{self.outer}.{NAME}' that "
                "`wikimcp install` did not write",
                hint="Nothing was written. Remove or rename it and try again, or leave it as it is.",
            )
        after = block.install(text, folders=folders)
        try:
            parsed = tomllib.loads(after)
        except tomllib.TOMLDecodeError as error:
            raise InstallRefused(
                f"{self.file}: '{self.outer}' is written in a form that takes no further table",
                hint=f"Nothing was written. Write it as tables, one [{self.outer}.NAME] each, and try again.",
            ) from error
        self._same_but_ours(before, parsed)
        return after

    def uninstall(self, text: str) -> Removed | None:
        """Take the table out again."""
        before = self._parsed(text)
        removed = self._block().uninstall(text)
        if removed is not None:
            self._same_but_ours(before, self._parsed(removed.text))
        return removed

    def state(self, text: str) -> str:
        """Tell whether the table is there and whose it is."""
        try:
            tables = self._tables(self._parsed(text))
        except InstallRefused as error:
            return f"broken: {error.message}"
        state = self._block().state(text)
        return "by hand" if state == "absent" and NAME in tables else state

    def _block(self) -> TextBlock:
        def lines(mark: Mark) -> str:
            rows = (f"{key} = {_toml(value)}" for key, value in self.made(mark).items())
            return "\n".join([f"[{self.outer}.{NAME}]", *rows])

        return TextBlock(self.file, lines, TOML)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            found = re.search(r"^(.*?) \(at line (\d+)", str(error))
            line, what = (f" line {found[2]}", found[1]) if found else ("", str(error))
            raise InstallRefused(
                f"{self.file}{line} is broken: {what}",
                hint="Nothing was written. Correct that line and try again.",
            ) from error

    def _tables(self, tree: dict[str, Any]) -> dict[str, Any]:
        tables = tree.get(self.outer, {})
        return tables if isinstance(tables, dict) else {}

    def _same_but_ours(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Refuse an edit that would change what somebody else's keys belong to."""
        for tree in (before, after):
            tables = self._tables(tree)
            tables.pop(NAME, None)
            if not tables:
                tree.pop(self.outer, None)
        if before != after:
            raise InstallRefused(
                f"{self.file}: keys behind the block of wikimcp belong to its table",
                hint="Nothing was written. Put them under a table of their own and try again.",
            )


def _place_of(text: str, outer: str) -> str:
    found = re.search(rf"^[ \t]*\[?[ \t]*{outer}\b.*{NAME}", text, re.MULTILINE)
    return f" line {line_of(text, found.start())}" if found else ""


def _line_ends_missing(text: str) -> int:
    """How many line ends set the block off by one blank line."""
    if not text.strip():
        return 1 if text and not text.endswith(("\n", "\r")) else 0
    newline = newline_of(text)
    if text.endswith(newline * 2):
        return 0
    return 1 if text.endswith(newline) else 2


def _toml(value: Any) -> str:  # noqa: ANN401 - a text, a number or a list of these
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
