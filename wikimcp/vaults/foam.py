"""Foam workspaces: a ``.foam`` file or folder, or an editor workspace that recommends a Foam extension."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.dialect_files import UnreadableRules, json_texts, parse_jsonc, read_settings
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, compile_globs
from wikimcp.vaults.options import VaultOptions

_EXTENSIONS = ".vscode/extensions.json"
_SETTINGS = ".vscode/settings.json"
_IGNORED_FILES = ("foam.files.ignore", "foam.files.exclude")


class FoamAdapter(FolderAdapter):
    """Every markdown file but those that the workspace's Foam settings ignore."""

    name: ClassVar[str] = "foam"

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> FoamAdapter | None:
        """Return an adapter when the folder is marked as Foam's."""
        return cls(root, options) if (root / ".foam").exists() or _recommends_foam(root) else None

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Return the globs of ``foam.files.ignore`` and ``foam.files.exclude``."""
        try:
            text = read_settings(self.root, _SETTINGS) or ""
        except OSError as error:
            raise UnreadableRules(f"{_SETTINGS} cannot be read") from error
        if not text.strip():  # the editor takes an empty file for no settings
            return [], []
        globs = [glob for key in _IGNORED_FILES for glob in json_texts(text, key, file=_SETTINGS)]
        pattern = compile_globs(globs)
        return ([pattern] if pattern else []), []


def _recommends_foam(root: Path) -> bool:
    """Say whether the recommended extensions (``publisher.name``) hold one of Foam's."""
    try:
        text = read_settings(root, _EXTENSIONS) or ""
    except OSError:
        return False
    try:
        settings = parse_jsonc(text)
    except ValueError:
        return "foam.foam" in text.casefold()  # broken; taken for what it was, so that its rules still count
    names = settings.get("recommendations") if isinstance(settings, dict) else None
    return isinstance(names, list) and any(
        isinstance(name, str) and "foam" in re.split(r"[.\-_]", name.casefold()) for name in names
    )
