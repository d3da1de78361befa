"""Obsidian vaults: a folder with ``.obsidian/``, whose excluded files are left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.dialect_files import UnreadableRules, json_texts, read_settings
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, literal
from wikimcp.vaults.options import VaultOptions

_SETTINGS = ".obsidian/app.json"
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_BACK_REFERENCE = re.compile(r"\\(?:[1-9]\d*|k<[^>]*>)")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)  # what holds no group: an escape, a class
_COUNT = re.compile(r"[*+?]\??|\{\d+(?:,\d*)?\}\??")


class ObsidianAdapter(FolderAdapter):
    """Every markdown file but those that Obsidian's "excluded files" name."""

    name: ClassVar[str] = "obsidian"

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> ObsidianAdapter | None:
        """Return an adapter when the folder holds ``.obsidian/``."""
        return cls(root, options) if (root / ".obsidian").is_dir() else None

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Return ``userIgnoreFilters``: ``/regex/`` as such, anything else as the start of a path."""
        try:
            text = read_settings(self.root, _SETTINGS)
        except OSError as error:
            why = error.strerror or str(error)
            raise UnreadableRules(f"{_SETTINGS} cannot be read ({why})") from error
        filters = [] if text is None else json_texts(text, "userIgnoreFilters", file=_SETTINGS)
        return [_pattern(written) for written in filters], []


def _pattern(text: str) -> PathPattern:
    """Return what a filter leaves out; what only backtracking could tell, look-around say, at its widest."""
    if not (len(text) > 2 and text.startswith("/") and text.endswith("/")):
        return literal(text, fold=True)
    for expression in (text[1:-1], _widened(text[1:-1])):
        try:
            return PathPattern(f".*?(?:{expression})")
        except ValueError:
            continue
    raise UnreadableRules(f"{_SETTINGS}: {text!r} is a regular expression that is not known here")


def _widened(expression: str) -> str:
    """Return an expression that matches what the given one does, and more: it looks around for nothing."""
    kept: list[str] = []
    at = 0
    while at < len(expression):
        if _LOOK_AROUND.match(expression, at):
            at = _group_end(expression, at)
        elif reference := _BACK_REFERENCE.match(expression, at):
            kept.append(".*")
            at = reference.end()
        else:
            token = _TOKEN.match(expression, at)
            end = token.end() if token else at + 1
            kept.append(expression[at:end])
            at = end
    return "".join(kept)


def _group_end(expression: str, at: int) -> int:
    """Return where the group that opens at ``at`` is over, with what counts it."""
    depth = 0
    while at < len(expression):
        token = _TOKEN.match(expression, at)
        end = token.end() if token else at + 1
        depth += {"(": 1, ")": -1}.get(expression[at:end], 0)
        at = end
        if depth == 0:
            counted = _COUNT.match(expression, at)
            return counted.end() if counted else at
    return at
