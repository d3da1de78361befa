"""One walk over a vault's folders: page files with their stamps, other files, and what was left out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from wikimcp.errors import VaultError
from wikimcp.models import LINK_SERVED_ONCE, Diagnostic, FileStamp, Scan
from wikimcp.vaults.globs import PathPattern
from wikimcp.vaults.opening import Bounds, listed_folder, printable

IGNORED_FOLDERS = frozenset(("node_modules", "__pycache__", "dist", "build", "venv", "site-packages"))

_IGNORED = re.compile(rf"(?:^|/)(?:\.[^/]*|(?:{'|'.join(sorted(IGNORED_FOLDERS))})(?=/))")


@dataclass(frozen=True, slots=True)
class WalkRules:
    """What belongs to a vault: page suffixes (lower case) and the patterns of what is ignored.

    ``folders`` are the only ones that pages lie in, each with a slash at its end; none: pages lie anywhere.
    """

    suffixes: tuple[str, ...]
    ignore: tuple[PathPattern, ...] = ()
    folders: tuple[str, ...] = ()

    def ignores(self, path: str) -> bool:
        """Say whether a path relative to the root is ignored, by itself or by a folder above it."""
        return _IGNORED.search(path) is not None or self.ignores_by_setting(path)

    def ignores_by_setting(self, path: str) -> bool:
        """Say whether the ignore patterns, not the built-in list, leave a path out."""
        return any(pattern.match(path) for pattern in self.ignore)

    def is_page(self, path: str) -> bool:
        """Say whether a file at a path is a page, by its suffix and where it lies."""
        return path.lower().endswith(self.suffixes) and (not self.folders or path.startswith(self.folders))


def walk(bounds: Bounds, rules: WalkRules) -> Scan:
    """Walk a whole vault. Raises VaultError when its root cannot be listed."""
    walker = _Walker(bounds, rules)
    walker.folder("")
    if "" in walker.unread:
        raise VaultError(
            "the vault folder cannot be listed", hint="Check that it exists and that you may read it."
        )
    walker.follow_links()
    files = sorted(walker.files, key=lambda stamp: stamp.path)
    return Scan(tuple(files), frozenset(walker.others), tuple(walker.unread), tuple(walker.notes))


def first_page(bounds: Bounds, rules: WalkRules) -> str | None:
    """Return the path of some page, stopping at the first; None when there is none."""
    walker = _Walker(bounds, rules)
    return next(walker.pages(), None)


@dataclass(slots=True)
class _Walker:
    """Collects one walk. Links are kept for the end, so that real paths are served first."""

    bounds: Bounds
    rules: WalkRules
    files: list[FileStamp] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    notes: list[tuple[str, Diagnostic]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)

    def folder(self, path: str, real: str = "") -> None:
        """Walk a folder and all below it; ``real`` is where it lies when a link led there."""
        pending = [(path, real or (f"{self.bounds.root}/{path}" if path else self.bounds.root))]
        while pending:
            path, real = pending.pop()
            if real in self.folders:
                continue
            self.folders.add(real)
            try:
                with listed_folder(self.bounds, real) as entries:
                    pending.extend(self.entries(f"{path}/" if path else "", real, entries))
            except OSError as error:
                self.unread.append(path)
                self.note(path, "folder_unreadable", f"the folder cannot be listed ({error.strerror})")

    def entries(self, prefix: str, real: str, entries: Iterator[os.DirEntry[str]]) -> list[tuple[str, str]]:
        """Sort the entries of one folder; return the folders to walk, by path and real path."""
        folders: list[tuple[str, str]] = []
        suffixes, within, rules = self.rules.suffixes, self.rules.folders, self.rules
        filtered = bool(rules.ignore)
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if not name.isascii():
                name = printable(name)
            path = prefix + name
            if filtered and rules.ignores_by_setting(path):
                continue
            if entry.is_symlink():
                self.links.append((path, f"{real}/{entry.name}"))
            elif entry.is_dir(follow_symlinks=False):
                if name not in IGNORED_FOLDERS:
                    folders.append((path, f"{real}/{entry.name}"))
            elif name.lower().endswith(suffixes) and (not within or path.startswith(within)):
                self.page(path, entry)
            elif entry.is_file(follow_symlinks=False):
                self.others.append(path)
        return folders

    def page(self, path: str, entry: os.DirEntry[str]) -> None:
        """Add a file with the suffix of a page, if it is one."""
        if not entry.is_file(follow_symlinks=False):
            self.note(path, "not_a_file", "this is no regular file; it is not opened")
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return  # it went between the listing and now
        self.files.append(FileStamp(path, status.st_mtime_ns, status.st_size, status.st_ino))

    def follow_links(self) -> None:
        """Serve what links lead to inside of the bounds and no walk has served yet: folders, then files."""
        pages: list[tuple[str, str]] = []
        root = self.bounds.root
        served = {os.path.join(root, *stamp.path.split("/")) for stamp in self.files} if self.links else set()
        while self.links:
            links, self.links = sorted(self.links), []
            for path, full in links:
                real = os.path.realpath(full)
                if not self.bounds.hold(real):
                    self.note(path, "link_outside", "a symbolic link that leaves the vault is not followed")
                elif os.path.isdir(real):
                    if real in self.folders:
                        self.note(path, LINK_SERVED_ONCE, "a symbolic link to a folder that is here already")
                    elif os.path.basename(path) not in IGNORED_FOLDERS:
                        known = len(self.files)
                        self.folder(path, real)
                        below = (stamp.path[len(path) :] for stamp in self.files[known:])
                        served.update(real + rest.replace("/", os.sep) for rest in below)
                elif not os.path.lexists(real):
                    self.note(path, "link_broken", "a symbolic link that leads nowhere")
                elif self.rules.is_page(path):
                    pages.append((path, real))
                else:
                    self.others.append(path)
        for path, real in sorted(pages):
            if real not in served:
                served.add(real)
                self.linked_page(path, real)
            else:
                self.note(path, LINK_SERVED_ONCE, "a symbolic link to a file that has a name here already")

    def linked_page(self, path: str, real: str) -> None:
        """Add a page that a link leads to."""
        try:
            status = os.stat(real)
        except OSError:
            self.note(path, "link_broken", "a symbolic link that leads nowhere")
            return
        if stat.S_ISREG(status.st_mode):
            self.files.append(FileStamp(path, status.st_mtime_ns, status.st_size, status.st_ino))
        else:
            self.note(path, "not_a_file", "this is no regular file; it is not opened")

    def pages(self) -> Iterator[str]:
        """Yield pages folder by folder, files of a folder first."""
        pending = [("", self.bounds.root)]
        while pending:
            path, real = pending.pop(0)
            if real in self.folders:
                continue
            self.folders.add(real)
            try:
                with listed_folder(self.bounds, real) as entries:
                    pending.extend(self.entries(f"{path}/" if path else "", real, entries))
            except OSError:
                continue
            if self.files:
                yield self.files[0].path
        self.follow_links()
        yield from (stamp.path for stamp in self.files)

    def note(self, path: str, code: str, message: str) -> None:
        self.notes.append((path, Diagnostic(code, message)))
