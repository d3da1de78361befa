"""A Merkle tree over source files: what is there, by content, and what changed since it was last seen.

The hash of a folder is made of the hashes of its children, so two trees with one root hash are the same, and
a comparison looks only into folders whose hashes differ. Who reads the disk is ``scanning``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file's status said when it was hashed; equal stamps mean equal content."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Take the stamp of a file's status."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    def at_rest(self, now_ns: int) -> bool:
        """Say whether a change after ``now_ns`` must show in a later stamp.

        Clocks of file systems tick: within one tick a file may change twice and keep its time. Times without
        a fraction of a second come from a clock that counts seconds, or pairs of them.
        """
        fine = self.mtime_ns % _SECOND_NS or self.ctime_ns % _SECOND_NS
        return max(self.mtime_ns, self.ctime_ns) + (_TICK_NS if fine else _COARSE_TICK_NS) < now_ns


@dataclass(frozen=True, slots=True)
class FileNode:
    """A file by its content; without a stamp it is hashed again at the next scan."""

    sha256: str
    size: int
    mtime_ns: int = 0
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True)
class FolderNode:
    """A folder: the hash over its children, the names of its folders, and its files by name."""

    sha256: str
    folders: tuple[str, ...]
    files: Mapping[str, FileNode]


@dataclass(frozen=True, slots=True)
class Tree:
    """The folders of a root by their paths relative to it; the empty text is the root.

    A folder without a file at any depth is not in it: it holds nothing that a page could speak of.
    """

    folders: Mapping[str, FolderNode] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, FileNode]) -> Tree:
        """Build the tree over files by their paths."""
        held: dict[str, dict[str, FileNode]] = {}
        for path, file in files.items():
            folder, _, name = path.rpartition("/")
            held.setdefault(folder, {})[name] = file
        inner: dict[str, set[str]] = {"": set()}
        for folder in held:
            while folder not in inner:
                inner[folder] = set()
                folder = _above(folder)
        for folder in inner:
            if folder:
                inner[_above(folder)].add(folder)
        return cls(_folded(inner, held))

    @property
    def sha256(self) -> str:
        """The hash of all there is; empty for a tree without a file."""
        root = self.folders.get("")
        return root.sha256 if root else ""

    def files(self, folder: str = "") -> Iterator[tuple[str, FileNode]]:
        """Yield the files at any depth of a folder with their paths, in no promised order."""
        pending = [folder]
        while pending:
            path = pending.pop()
            node = self.folders.get(path)
            if node is not None:
                yield from ((_join(path, name), file) for name, file in node.files.items())
                pending.extend(_join(path, name) for name in node.folders)

    def file(self, path: str) -> FileNode | None:
        """Return the file at a path; None when there is none."""
        folder, _, name = path.rpartition("/")
        node = self.folders.get(folder)
        return node.files.get(name) if node else None


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """What changed between two trees, each in the order of paths; ``moved`` are (old path, new path).

    ``compared`` counts the folders whose children were looked at: those that differ, and no others.
    """

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    compared: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.deleted or self.moved)


def compare(old: Tree, new: Tree) -> TreeDiff:
    """Compare two trees; a file that went here and came there with the same content was moved."""
    added: dict[str, FileNode] = {}
    deleted: dict[str, FileNode] = {}
    modified: list[str] = []
    pending, compared = [""], 0
    while pending:
        path = pending.pop()
        before, after = old.folders.get(path), new.folders.get(path)
        if before is None or after is None:
            added.update(new.files(path))
            deleted.update(old.files(path))
            continue
        if before.sha256 == after.sha256:
            continue
        compared += 1
        pending.extend(_join(path, name) for name in {*before.folders, *after.folders})
        for name, file in after.files.items():
            known = before.files.get(name)
            if known is None:
                added[_join(path, name)] = file
            elif known.sha256 != file.sha256:
                modified.append(_join(path, name))
        gone = before.files.keys() - after.files.keys()
        deleted.update((_join(path, name), before.files[name]) for name in gone)
    moved = tuple(sorted(_moves(deleted, added)))
    for old_path, new_path in moved:
        del deleted[old_path], added[new_path]
    return TreeDiff(tuple(sorted(added)), tuple(sorted(modified)), tuple(sorted(deleted)), moved, compared)


def _moves(deleted: Mapping[str, FileNode], added: Mapping[str, FileNode]) -> Iterator[tuple[str, str]]:
    """Pair what went with what came, by content; of several, those with one name, then in order of paths.

    Nothing is the content of too many files to say where an empty one went.
    """
    places: dict[str, list[str]] = {}
    for path in sorted(added):
        places.setdefault(added[path].sha256, []).append(path)
    left = []
    for path in sorted(path for path, file in deleted.items() if file.sha256 != EMPTY_SHA256):
        name, new = path.rpartition("/")[2], places.get(deleted[path].sha256, [])
        same = next((place for place in new if place.rpartition("/")[2] == name), None)
        if same is None:
            left.append(path)
        else:
            new.remove(same)
            yield path, same
    for path in left:
        if free := places.get(deleted[path].sha256):
            yield path, free.pop(0)


def _folded(
    inner: Mapping[str, set[str]], held: Mapping[str, Mapping[str, FileNode]]
) -> dict[str, FolderNode]:
    """Hash folders from the deepest up: each child is a line of kind, hash and name."""
    folders: dict[str, FolderNode] = {}
    for path in sorted(inner, key=lambda path: -path.count("/") if path else 1):
        names = sorted(child.rpartition("/")[2] for child in inner[path])
        files = held.get(path, {})
        lines = [f"tree {folders[_join(path, name)].sha256} {name}" for name in names]
        lines += [f"file {files[name].sha256} {name}" for name in sorted(files)]
        digest = hashlib.sha256("\0".join(lines).encode("utf-8")).hexdigest()
        folders[path] = FolderNode(digest, tuple(names), files)
    return folders if folders[""].folders or folders[""].files else {}


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _above(folder: str) -> str:
    return folder.rpartition("/")[0]
