"""Any folder of markdown: what is read when no dialect gives itself away."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.options import VaultOptions


class GenericAdapter(FolderAdapter):
    """Every markdown file below the root is a page; an empty folder is a vault without pages."""

    name: ClassVar[str] = "generic"

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> GenericAdapter:
        """Return an adapter: every folder will do."""
        return cls(root, options)
