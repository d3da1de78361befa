"""A vault of one page for each dialect, so that a fuzzed file goes the way of any file: from disk to page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fuzz.mutating import FuzzedFile
from wikimcp.vaults.detect import DIALECTS, detect
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.opening import printable
from wikimcp.vaults.options import VaultOptions

_SIGNALS: Mapping[str, Mapping[str, str]] = {
    "obsidian": {".obsidian/app.json": "{}"},
    "logseq": {"logseq/config.edn": "{:file/name-format :legacy}", "journals/2031_01_01.md": "- day"},
    "dendron": {
        "dendron.yml": "workspace:\n  vaults:\n  - {fsPath: notes, name: main}\n",
        "notes/root.md": "",
    },
    "foam": {".foam": ""},
    "quartz": {"quartz.config.ts": "export default {}"},
    "llmwiki": {"wiki/index.md": "# Hub", "wiki/concepts/a.md": "a"},
    "generic": {},
}
_FOLDERS = {"logseq": "pages", "dendron": "notes", "llmwiki": "wiki/concepts", "generic": "sub"}


@dataclass(frozen=True, slots=True)
class DialectVault:
    """One vault on disk that shows its dialect; ``folder`` is where its pages are put."""

    dialect: str
    root: Path
    folder: Path
    adapter: FolderAdapter
    suffix: str = ".md"

    @property
    def name(self) -> str:
        """The dialect, and the syntax where it is not markdown."""
        return self.dialect if self.suffix == ".md" else f"{self.dialect} {self.suffix[1:]}"

    def path(self, file: FuzzedFile) -> str:
        """Return the path of a file in the vault, as the adapter spells it."""
        below = self.folder.relative_to(self.adapter.source_root).as_posix()
        name = printable(file.name + self.suffix)
        return name if below == "." else f"{below}/{name}"

    def put(self, file: FuzzedFile) -> str:
        """Write a file into the vault and return its path."""
        Path(os.fsdecode(os.fsencode(self.folder / (file.name + self.suffix)))).write_bytes(file.data)
        return self.path(file)

    def remove(self, file: FuzzedFile) -> None:
        """Take a file out again."""
        (self.folder / (file.name + self.suffix)).unlink(missing_ok=True)


def make_vaults(work: Path) -> list[DialectVault]:
    """Write a vault of every dialect below a folder. Raises ValueError for one that has no signal here."""
    vaults = []
    for name in [dialect.name for dialect in DIALECTS]:
        if name not in _SIGNALS:
            raise ValueError(f"the fuzzer knows no signal of the dialect {name}")
        root = work / name
        folder = root / _FOLDERS.get(name, "")
        folder.mkdir(parents=True)
        for path, text in _SIGNALS[name].items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        (folder / "first.md").write_text("A page that shows the folder in use.\n", encoding="utf-8")
        adapter = detect(root, VaultOptions())
        if adapter.name != name:
            raise ValueError(f"the vault of {name} was read as {adapter.name}")
        vaults.append(DialectVault(name, root, folder, adapter))
        if ".org" in adapter.suffixes:
            vaults.append(DialectVault(name, root, folder, adapter, ".org"))
    return vaults
