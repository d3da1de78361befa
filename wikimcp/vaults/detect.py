"""Which dialect a folder is written in: the first whose signal is there and that finds a page."""

from __future__ import annotations

from pathlib import Path

from wikimcp.errors import SettingsError, nearest
from wikimcp.vaults.dendron import DendronAdapter
from wikimcp.vaults.foam import FoamAdapter
from wikimcp.vaults.folder import FolderAdapter, check_root
from wikimcp.vaults.generic import GenericAdapter
from wikimcp.vaults.llmwiki import LlmWikiAdapter
from wikimcp.vaults.logseq import LogseqAdapter
from wikimcp.vaults.obsidian import ObsidianAdapter
from wikimcp.vaults.options import VaultOptions
from wikimcp.vaults.quartz import QuartzAdapter

__all__ = ["DIALECTS", "VaultOptions", "detect"]

DIALECTS: tuple[type[FolderAdapter], ...] = (
    ObsidianAdapter,
    LogseqAdapter,
    DendronAdapter,
    FoamAdapter,
    QuartzAdapter,
    LlmWikiAdapter,
    GenericAdapter,
)
"""All dialects in the order they are tried; the last one takes every folder."""


def detect(root: Path, options: VaultOptions | None = None) -> FolderAdapter:
    """Return the adapter for a vault's folder.

    Raises VaultError when the folder is missing, no folder or unreadable, or when its own configuration
    leads out of it, SettingsError when ``options.adapter`` names no dialect.
    """
    options = options or VaultOptions()
    check_root(root)
    if options.adapter != "auto":
        return _named(options.adapter)(root, options)
    for dialect in DIALECTS[:-1]:
        adapter = dialect.detect(root, options)
        if adapter is not None and adapter.has_pages():
            return adapter
    return DIALECTS[-1](root, options)


def _named(name: str) -> type[FolderAdapter]:
    dialects = {dialect.name: dialect for dialect in DIALECTS}
    found = dialects.get(name.strip().casefold())
    if found is not None:
        return found
    close = nearest(name, list(dialects))
    hint = f"Did you mean {close[0]!r}? " if close else ""
    known = ", ".join(("auto", *dialects))
    raise SettingsError(f"there is no vault adapter {name!r}", hint=f"{hint}Known: {known}.")
