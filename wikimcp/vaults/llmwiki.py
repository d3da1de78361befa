"""Compiled wikis: ``wiki/`` or ``openwiki/`` with hub pages or typed folders, or a root like that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from wikimcp.vaults.dialect_files import inner_folder
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.options import VaultOptions

MARKER = ".wiki-compiler.json"
SOURCE_FOLDERS = ("wiki", "openwiki")
HUB_STEMS = frozenset(("hot", "index", "overview", "quickstart", "critical_facts"))
TYPED_FOLDERS = frozenset(
    ("concepts", "entities", "sources", "queries", "comparisons", "synthesis", "syntheses")
    + ("projects", "categories", "questions", "domains", "decisions")
)


class LlmWikiAdapter(FolderAdapter):
    """Every markdown file below the source root; what was compiled into the wiki lies outside of it."""

    name: ClassVar[str] = "llmwiki"

    def __init__(self, root: Path, options: VaultOptions | None = None, *, folder: str | None = None) -> None:
        super().__init__(root, options)
        self._folder = _best_folder(self.root, self.options) or "" if folder is None else folder

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> LlmWikiAdapter | None:
        """Return an adapter over the first folder that bears the signs of a wiki and holds a page."""
        folder = _best_folder(root, options)
        return None if folder is None else cls(root, options, folder=folder)

    @property
    def source_folder(self) -> str:
        """The folder of the wiki."""
        return self._folder


def _best_folder(root: Path, options: VaultOptions) -> str | None:
    """Return the first folder with a signal and a page; the empty text is the root, None: there is none."""
    for folder in _candidates(root, options.trusted_links):
        if LlmWikiAdapter(root, options, folder=folder).has_pages():
            return folder
    return None


def _candidates(root: Path, trusted: tuple[str, ...]) -> Iterator[str]:
    """Yield the folders that bear a signal, best first."""
    marked = (root / MARKER).is_file()
    for folder in SOURCE_FOLDERS:
        if inner_folder(root, folder, trusted):
            hub, typed = _signs(root / folder)
            if hub or typed or marked:
                yield folder
    hub, typed = _signs(root)
    if marked or (hub and typed):
        yield ""


def _signs(folder: Path) -> tuple[bool, bool]:
    """Say whether a folder holds a hub page, and whether it holds a typed directory."""
    hub = typed = False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name.casefold()
                if name in TYPED_FOLDERS:
                    typed = typed or entry.is_dir()
                elif name.endswith(".md") and name[:-3] in HUB_STEMS:
                    hub = hub or entry.is_file()
    except OSError:
        return False, False
    return hub, typed
