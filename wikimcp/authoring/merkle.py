"""A Merkle tree over source files: what is there, by content, and what changed since it was last seen.

The hash of a folder is made of the hashes of its children, so two trees with one root hash are the same, and
a comparison looks only into folders whose hashes differ. Who reads the disk is ``scanning``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()

Folders = Mapping[str, Mapping[str, str]]
"""Hashes of files: by the path of their folder (empty: the root), then by their name."""


@dataclass(frozen=True, slots=True)
class FolderNode:
    """A folder: the hash over its children, the names of its folders, and the hashes of its files by name."""

    sha256: str
    folders: tuple[str, ...]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tree:
    """The folders of a root by their paths relative to it; the empty text is the root.

    A folder without a file at any depth is not in it: it holds nothing that a page could speak of.
    """

    folders: Mapping[str, FolderNode] = field(default_factory=dict)

    @classmethod
    def of(cls, held: Folders, *, like: Tree | None = None) -> Tree:
        """Build the tree over files; what it has in common with ``like`` is not hashed again."""
        inner: dict[str, list[str]] = {"": []}
        for folder in (path for path, files in held.items() if files):
            while folder not in inner:
                inner[folder] = []
                folder = folder.rpartition("/")[0]
        for above, _, name in (path.rpartition("/") for path in inner if path):
            inner[above].append(name)
        return cls(_folded(inner, held, like.folders if like else {}))

    @property
    def sha256(self) -> str:
        """The hash of all there is; empty for a tree without a file."""
        root = self.folders.get("")
        return root.sha256 if root else ""

    def files(self, folder: str = "") -> Iterator[tuple[str, str]]:
        """Yield the files at any depth of a folder, path and hash, in no promised order."""
        pending = [folder]
        while pending:
            path = pending.pop()
            node = self.folders.get(path)
            if node is not None:
                yield from ((_join(path, name), digest) for name, digest in node.files.items())
                pending.extend(_join(path, name) for name in node.folders)

    def file(self, path: str) -> str | None:
        """Return the hash of the file at a path; None when there is none."""
        folder, _, name = path.rpartition("/")
        node = self.folders.get(folder)
        return node.files.get(name) if node else None

    def __len__(self) -> int:
        return sum(len(node.files) for node in self.folders.values())


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
    added: dict[str, str] = {}
    deleted: dict[str, str] = {}
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
        for name, digest in after.files.items():
            known = before.files.get(name)
            if known is None:
                added[_join(path, name)] = digest
            elif known != digest:
                modified.append(_join(path, name))
        gone = before.files.keys() - after.files.keys()
        deleted.update((_join(path, name), before.files[name]) for name in gone)
    moved = tuple(sorted(_moves(deleted, added)))
    for old_path, new_path in moved:
        del deleted[old_path], added[new_path]
    return TreeDiff(tuple(sorted(added)), tuple(sorted(modified)), tuple(sorted(deleted)), moved, compared)


def _moves(deleted: Mapping[str, str], added: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pair what went with what came, by content; of several, those with one name, then in order of paths.

    Nothing is the content of too many files to say where an empty one went.
    """
    places: dict[str, list[str]] = {}
    for path in sorted(added):
        places.setdefault(added[path], []).append(path)
    left = []
    for path in sorted(path for path, digest in deleted.items() if digest != EMPTY_SHA256):
        name, new = path.rpartition("/")[2], places.get(deleted[path], [])
        same = next((place for place in new if place.rpartition("/")[2] == name), None)
        if same is None:
            left.append(path)
        else:
            new.remove(same)
            yield path, same
    for path in left:
        if free := places.get(deleted[path]):
            yield path, free.pop(0)


def _folded(
    inner: Mapping[str, Sequence[str]], held: Folders, like: Mapping[str, FolderNode]
) -> dict[str, FolderNode]:
    """Hash folders from the deepest up: each child is a line of kind, hash and name."""
    folders: dict[str, FolderNode] = {}
    for path in sorted(inner, key=lambda path: -path.count("/") if path else 1):
        names, files, same = sorted(inner[path]), held.get(path, {}), like.get(path)
        below = [_join(path, name) for name in names]
        if (
            same is not None
            and same.folders == tuple(names)
            and same.files == files
            and all(folders[child] is like[child] for child in below)
        ):
            folders[path] = same
            continue
        lines = [f"tree {folders[child].sha256} {name}" for child, name in zip(below, names, strict=True)]
        lines += [f"file {files[name]} {name}" for name in sorted(files)]
        digest = hashlib.sha256("\0".join(lines).encode("utf-8")).hexdigest()
        folders[path] = FolderNode(digest, tuple(names), files)
    return folders if folders[""].folders or folders[""].files else {}


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
