"""The raw sources as one refresh sees them: by the scan, and read only where a page speaks of them.

Everything is read at most once. A source that went between the scan and now is gone.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence

from wikimcp.authoring.anchors import MOST_BYTES, SourceText
from wikimcp.authoring.merkle import Tree
from wikimcp.authoring.symbols import Symbol, language_of, read_symbols
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import Unavailable
from wikimcp.models import Diagnostic
from wikimcp.regular_files import read_regular
from wikimcp.vaults.opening import on_disk


class SourceFiles:
    """Hashes, lines and symbols of sources by their paths relative to the workspace."""

    def __init__(self, workspace: Workspace, tree: Tree) -> None:
        self.tree = tree
        self._root = workspace.workspace_root
        self._texts: dict[str, SourceText | None] = {}
        self._symbols: dict[str, tuple[Symbol, ...] | None] = {}
        self._vanished: set[str] = set()
        self._notes: dict[str, Diagnostic] = {}

    @property
    def notes(self) -> Mapping[str, Diagnostic]:
        """What could not be read, by path or language."""
        return self._notes

    def known(self, path: str) -> bool:
        """Say whether there is a source, or a folder of sources, at a path."""
        return bool(self.sha256(path))

    def sha256(self, path: str) -> str:
        """Return the hash of a file or folder; empty when there is none."""
        if (digest := self.tree.file(path)) is not None:
            return digest
        folder = self.tree.folders.get(path)
        return folder.sha256 if folder else ""

    def text(self, path: str) -> SourceText | None:
        """Return the lines of a file; None when it is gone, or cannot be read (then it is not ``gone``)."""
        if path not in self._texts:
            self._texts[path] = self._read(path) if self.tree.file(path) else None
        return self._texts[path]

    def gone(self, path: str) -> bool:
        """Say whether there is nothing at a path."""
        return path in self._vanished or not self.known(path)

    def symbols(self, path: str) -> Sequence[Symbol] | None:
        """Return the symbols of a file; None when they cannot be read for want of a parser."""
        if path not in self._symbols:
            self._symbols[path] = self._parsed(path)
        return self._symbols[path]

    def files_of(self, path: str) -> list[str]:
        """Return a file, or the files that a folder holds at any depth, sorted."""
        if self.tree.file(path):
            return [path]
        return sorted(file for file, _ in self.tree.files(path))

    def _parsed(self, path: str) -> tuple[Symbol, ...] | None:
        if not language_of(path) or (source := self.text(path)) is None:
            return ()
        try:
            return read_symbols(path, source.text())
        except Unavailable as missing:
            self._notes[language_of(path)] = Diagnostic(
                "symbols_unavailable", f"{missing.message}. {missing.hint}"
            )
            return None

    def _read(self, path: str) -> SourceText | None:
        try:
            data = read_regular(on_disk(f"{self._root}/{path}"), most=MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            self._vanished.add(path)
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link has taken its place
                self._vanished.add(path)
                return None
            self._notes[path] = Diagnostic("source_unreadable", f"the file cannot be read ({error.strerror})")
            return None
        if len(data) > MOST_BYTES:
            note = f"the file is over {MOST_BYTES >> 20} MiB: its lines are not looked at"
            self._notes[path] = Diagnostic("source_too_large", note)
            return None
        return SourceText.of(data)
