"""Foam workspaces: a ``.foam`` file or folder, or an editor workspace that recommends a Foam extension."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from wikimcp.models import Diagnostic
from wikimcp.vaults.dialect_files import parse_jsonc, read_settings
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
            settings = _read_json(self.root, _SETTINGS)
        except (OSError, ValueError):
            note = f"{_SETTINGS} cannot be read; the files it ignores are served"
            return [], [Diagnostic("vault_settings", note)]
        values = [settings.get(key) for key in _IGNORED_FILES] if isinstance(settings, dict) else []
        globs = [
            glob for value in values if isinstance(value, list) for glob in value if isinstance(glob, str)
        ]
        pattern = compile_globs(globs)
        return ([pattern] if pattern else []), []


def _recommends_foam(root: Path) -> bool:
    """Say whether the recommended extensions (``publisher.name``) hold one of Foam's."""
    try:
        settings = _read_json(root, _EXTENSIONS)
    except (OSError, ValueError):
        return False
    names = settings.get("recommendations") if isinstance(settings, dict) else None
    return isinstance(names, list) and any(
        isinstance(name, str) and "foam" in re.split(r"[.\-_]", name.casefold()) for name in names
    )


def _read_json(root: Path, name: str) -> Any:  # noqa: ANN401 - any JSON value
    text = read_settings(root, name)
    return None if text is None else parse_jsonc(text)
