"""Obsidian vaults: a folder with ``.obsidian/``, whose excluded files are left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.dialect_files import UnreadableRules, json_texts
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.options import VaultOptions

_SETTINGS = ".obsidian/app.json"
_MOST_SETTINGS = 2**20
_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")


class ObsidianAdapter(FolderAdapter):
    """Every markdown file but those that Obsidian's "excluded files" name."""

    name: ClassVar[str] = "obsidian"

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> ObsidianAdapter | None:
        """Return an adapter when the folder holds ``.obsidian/``."""
        return cls(root, options) if (root / ".obsidian").is_dir() else None

    def ignored_by_dialect(self) -> tuple[list[re.Pattern[str]], list[Diagnostic]]:
        """Return ``userIgnoreFilters``: ``/regex/`` as such, anything else as the start of a path."""
        try:
            with (self.root / _SETTINGS).open("rb") as file:
                text = file.read(_MOST_SETTINGS).decode("utf-8-sig", "replace")
        except FileNotFoundError:
            return [], []
        except OSError as error:
            raise UnreadableRules(f"{_SETTINGS} cannot be read ({error.strerror})") from error
        return [_pattern(written) for written in json_texts(text, "userIgnoreFilters", file=_SETTINGS)], []


def _pattern(text: str) -> re.Pattern[str]:
    if not (len(text) > 2 and text.startswith("/") and text.endswith("/")):
        return re.compile(re.escape(text), re.IGNORECASE)
    try:
        return re.compile(f"(?s:.*?)(?:{_NAMED_GROUP.sub('(?P<', text[1:-1])})")
    except re.error as error:
        raise UnreadableRules(
            f"{_SETTINGS}: {text!r} is a regular expression that is not known here"
        ) from error
