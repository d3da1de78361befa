"""Where the sources have no page: folders that nobody has written of yet.

What a page could be made of hangs on the profile: code for a codebase, texts for notes, both otherwise. A
folder is covered when a page names it, a folder above it, or one of its files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from wikimcp.authoring.manifest import PageEntry
from wikimcp.authoring.merkle import Tree
from wikimcp.authoring.symbols import language_of

_TEXTS = frozenset(("md", "markdown", "txt", "rst", "org", "adoc", "html", "htm", "pdf", "docx"))


@dataclass(frozen=True, slots=True)
class Gap:
    """A folder without a page (``.`` is the workspace) and how many files of its own one could speak of."""

    folder: str
    files: int


def gaps(tree: Tree, pages: Iterable[PageEntry], *, profile: str) -> list[Gap]:
    """Return the folders without a page, those with the most files first."""
    covered = {source.path for page in pages for source in page.sources}
    found: list[Gap] = []
    pending = [("", False)]
    while pending:
        path, inside = pending.pop()
        node = tree.folders.get(path)
        if node is None:
            continue
        prefix = f"{path}/" if path else ""
        pending.extend((prefix + name, inside or prefix + name in covered) for name in node.folders)
        if inside or any(prefix + name in covered for name in node.files):
            continue
        suffixes = Counter(name.rpartition(".")[2] for name in node.files if "." in name)
        count = sum(number for suffix, number in suffixes.items() if _speaks(suffix.lower(), profile))
        if count:
            found.append(Gap(path or ".", count))
    return sorted(found, key=lambda gap: (-gap.files, gap.folder))


@cache
def _speaks(suffix: str, profile: str) -> bool:
    code, text = bool(language_of(f"_.{suffix}")), suffix in _TEXTS
    return code if profile == "codebase" else text if profile == "pkm" else code or text
