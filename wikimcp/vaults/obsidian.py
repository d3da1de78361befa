"""Obsidian vaults: a folder with ``.obsidian/``, whose excluded files are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.dialect_files import read_settings
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, literal
from wikimcp.vaults.options import VaultOptions

_SETTINGS = ".obsidian/app.json"


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
            settings = None if text is None else json.loads(text)
        except (OSError, ValueError, RecursionError):
            note = f"{_SETTINGS} cannot be read; the files it excludes are served"
            return [], [Diagnostic("vault_settings", note)]
        filters = settings.get("userIgnoreFilters") if isinstance(settings, dict) else None
        patterns: list[PathPattern] = []
        notes: list[Diagnostic] = []
        for text in filters if isinstance(filters, list) else []:
            if not isinstance(text, str) or not text:
                continue
            try:
                patterns.append(_pattern(text))
            except ValueError:
                note = f"excluded files: {text!r} is no regular expression, or one with look-around"
                notes.append(Diagnostic("vault_settings", note))
        return patterns, notes


def _pattern(text: str) -> PathPattern:
    if len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return PathPattern(f".*?(?:{text[1:-1]})")
    return literal(text, fold=True)
