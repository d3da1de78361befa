"""Obsidian vaults: a folder with ``.obsidian/``, whose excluded files are left out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.options import VaultOptions

_SETTINGS = ".obsidian/app.json"
_MOST_SETTINGS = 2**20


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
                settings = json.loads(file.read(_MOST_SETTINGS).decode("utf-8-sig"))
        except FileNotFoundError:
            return [], []
        except (OSError, ValueError, RecursionError):
            note = f"{_SETTINGS} cannot be read; the files it excludes are served"
            return [], [Diagnostic("vault_settings", note)]
        filters = settings.get("userIgnoreFilters") if isinstance(settings, dict) else None
        patterns: list[re.Pattern[str]] = []
        notes: list[Diagnostic] = []
        for text in filters if isinstance(filters, list) else []:
            if not isinstance(text, str) or not text:
                continue
            try:
                patterns.append(_pattern(text))
            except re.error:
                note = f"excluded files: {text!r} is no regular expression"
                notes.append(Diagnostic("vault_settings", note))
        return patterns, notes


def _pattern(text: str) -> re.Pattern[str]:
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return re.compile(f"(?s:.*?)(?:{text[1:-1]})")
    return re.compile(re.escape(text), re.IGNORECASE)
