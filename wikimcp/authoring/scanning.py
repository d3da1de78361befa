"""Reads the source roots into one Merkle tree: walks them once and hashes what was not hashed before.

A file is not read again while its stamp (size, times, inode) is the one that it was hashed at, unless it was
written so shortly before that its next change might have left no mark on the clock. Links are never followed,
and nothing but regular files is opened. What goes while the scan runs was never there; what cannot be read
keeps the place and hash it had, since not to see a thing is not to see that it is gone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wikimcp.authoring import ignoring
from wikimcp.authoring.ignoring import IgnoreRules
from wikimcp.authoring.laps import Laps
from wikimcp.authoring.merkle import Tree
from wikimcp.authoring.stamps import UNKNOWN, Known, Stamp, Stamped, StampedFolder, at_rest, stamp_of
from wikimcp.errors import TooLarge, WikiError
from wikimcp.models import Diagnostic
from wikimcp.regular_files import NotRegularError, open_regular, read_regular
from wikimcp.vaults.opening import on_disk, printable

Progress = Callable[[str, int, int], None]

SKIPPED_FOLDERS = frozenset(
    (".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", "site-packages")
    + (".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".tox", ".nox", ".gradle", ".idea")
)
"""Folders of tools, wherever they lie: no source is in them."""

_BLOCK = 1024 * 1024
_REPORT_EVERY = 256


@dataclass(frozen=True, slots=True)
class ScanRules:
    """What a scan leaves out: paths relative to the top (as the wiki), folders by name, large files.

    In a folder of ``dotless_folders`` names that begin with a dot are left out too.
    """

    left_out: frozenset[str] = frozenset()
    dotless_folders: frozenset[str] = frozenset()
    skipped_folders: frozenset[str] = SKIPPED_FOLDERS
    most_bytes: int = 64 * 1024 * 1024
    most_files: int = 500_000


@dataclass(frozen=True, slots=True)
class Scanned:
    """A tree as it was found, and its files with their stamps.

    ``hashed`` counts the files that were read; ``notes`` are (path, what is odd).
    ``fresh_stamps`` says that a file was met with another stamp than was known, so that keeping the new
    ones pays. Files that were only read again because they had not been at rest do not count: else a scan
    without any change would end in a write.
    """

    tree: Tree
    stamped: Stamped
    hashed: int
    notes: tuple[tuple[str, Diagnostic], ...] = ()
    fresh_stamps: bool = False


def scan(
    top: Path,
    folders: Sequence[str] = ("",),
    *,
    known: Stamped | None = None,
    rules: ScanRules | None = None,
    progress: Progress | None = None,
    now_ns: int | None = None,
    laps: Laps | None = None,
) -> Scanned:
    """Scan folders below ``top`` (empty: all of it); paths are relative to ``top``.

    ``known`` are the files as they were. A folder that is named is scanned even where a ``.gitignore``
    above it leaves it out. ``now_ns`` is the time by which files have to be at rest. Raises WikiError when a
    folder cannot be listed, TooLarge when there are too many files.
    """
    laps = laps or Laps()
    scanner = _Scanner(os.path.realpath(top), known or {}, rules or ScanRules(), now_ns or time.time_ns())
    for folder in sorted({"" if folder == "." else folder for folder in folders}):
        scanner.walk(folder)
    laps.lap("walk")
    scanner.hash_files(progress)
    laps.lap("hash")
    stamped = scanner.stamped()
    tree = Tree.of({folder: files.by_name() for folder, files in stamped.items()})
    laps.lap("tree")
    return Scanned(
        tree,
        stamped,
        scanner.hashed,
        tuple(sorted(scanner.notes, key=lambda note: (note[0], note[1].code))),
        scanner.fresh_stamps,
    )


@dataclass(slots=True)
class _Scanner:
    """One scan: what it has found so far."""

    top: str
    known: Stamped
    rules: ScanRules
    now_ns: int
    same: dict[str, StampedFolder] = field(default_factory=dict)
    held: dict[str, dict[str, Known]] = field(default_factory=dict)
    walked: set[str] = field(default_factory=set)
    unread: list[tuple[str, str, Known | None]] = field(default_factory=list)
    met: int = 0
    notes: list[tuple[str, Diagnostic]] = field(default_factory=list)
    hashed: int = 0
    fresh_stamps: bool = False

    def walk(self, start: str) -> None:
        """Walk a folder; files with a known stamp are taken over, the others wait to be hashed."""
        if start and start in self.walked:
            return
        pending = [(start, on_disk(f"{self.top}/{start}") if start else self.top, self.rules_above(start))]
        while pending:
            path, real, rules = pending.pop()
            self.walked.add(path)
            try:
                with os.scandir(real) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                if path == start:
                    raise _no_root(start) from None
                if not isinstance(error, FileNotFoundError):
                    self.keep_below(path, error)
                continue
            rules = _rules_in(path, real, rules, {entry.name for entry in entries})
            prefix = f"{path}/" if path else ""
            found: list[tuple[str, Stamp]] = []
            for entry in entries:
                self.entry(prefix + printable(entry.name), entry, rules, pending, found)
            self.take(path, found)

    def rules_above(self, folder: str) -> IgnoreRules:
        """Return the rules of the folders around one that was named; none where they leave it out."""
        rules, path, real = IgnoreRules(), "", self.top
        for name in folder.split("/") if folder else ():
            rules = _rules_in(path, real, rules, (".gitignore", ".git"))
            path, real = f"{path}/{name}" if path else name, os.path.join(real, name)
            if rules.ignore(path, folder=True):
                rules = IgnoreRules()
        return rules

    def entry(
        self,
        path: str,
        entry: os.DirEntry[str],
        rules: IgnoreRules,
        pending: list[tuple[str, str, IgnoreRules]],
        found: list[tuple[str, Stamp]],
    ) -> None:
        """Take one entry of a folder: a source is ``found``, a folder is ``pending``."""
        folder, _, name = path.rpartition("/")
        if path in self.rules.left_out or entry.is_symlink():
            return
        if name.startswith(".") and folder in self.rules.dotless_folders:
            return
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in self.rules.skipped_folders and not rules.ignore(path, folder=True):
                pending.append((path, entry.path, rules))
            return
        if not entry.is_file(follow_symlinks=False) or rules.ignore(path, folder=False):
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        if status.st_size > self.rules.most_bytes:
            most = self.rules.most_bytes // (1024 * 1024)
            self.note(path, "source_too_large", f"the file is over {most} MiB and no source")
            return
        self.met += 1
        if self.met > self.rules.most_files:
            raise TooLarge(
                f"the source roots hold more than {self.rules.most_files:,} files",
                hint="Name narrower source roots, or leave folders out with a .gitignore.",
            )
        found.append((name, stamp_of(status)))

    def take(self, folder: str, found: Sequence[tuple[str, Stamp]]) -> None:
        """Take over the files of a folder whose stamps are known; the others wait to be hashed."""
        packed = self.known.get(folder)
        if packed is not None and packed.met(found):
            self.same[folder] = packed
            return
        known = packed.files() if packed else {}
        for name, stamp in found:
            file = known.get(name)
            if file is not None and file[1] == stamp:
                self.keep(folder, name, file)
            else:
                self.unread.append((folder, name, file))

    def hash_files(self, progress: Progress | None) -> None:
        """Read what waits."""
        for done, (folder, name, known) in enumerate(self.unread):
            if progress and done % _REPORT_EVERY == 0:
                progress("hashing", done, len(self.unread))
            self.hash_file(folder, name, known)
        if progress and self.unread:
            progress("hashing", len(self.unread), len(self.unread))

    def hash_file(self, folder: str, name: str, known: Known | None) -> None:
        path = f"{folder}/{name}" if folder else name
        try:
            file = self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            if error.errno == errno.ELOOP:
                return  # a link has taken its place
            if known is not None:
                self.keep(folder, name, known)
            self.note(path, "source_unreadable", f"the file cannot be read ({error.strerror})")
            return
        if file is not None:
            self.hashed += 1
            self.keep(folder, name, file)
            self.fresh_stamps = self.fresh_stamps or known is None or known[1] != UNKNOWN

    def keep(self, folder: str, name: str, file: Known) -> None:
        self.held.setdefault(folder, {})[name] = file

    def read(self, path: str) -> Known | None:
        """Hash one file; None when it is no regular file any more."""
        try:
            descriptor = open_regular(on_disk(f"{self.top}/{path}"))
        except NotRegularError:
            return None
        try:
            before = stamp_of(os.fstat(descriptor))
            digest, size = hashlib.sha256(), 0
            while (data := os.read(descriptor, _BLOCK)) and size <= self.rules.most_bytes:
                digest.update(data)
                size += len(data)
            stamp = stamp_of(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        steady = stamp == before and stamp[0] == size and at_rest(stamp, self.now_ns)
        return digest.hexdigest(), stamp if steady else UNKNOWN

    def keep_below(self, folder: str, error: OSError) -> None:
        """Keep what was known below a folder that cannot be listed."""
        for path, files in self.known.items():
            if path == folder or path.startswith(f"{folder}/"):
                self.same[path] = files
        self.note(folder, "source_unreadable", f"the folder cannot be listed ({error.strerror})")

    def stamped(self) -> Stamped:
        """Return all files that were found."""
        fresh = {folder: StampedFolder.of(dict(sorted(files.items()))) for folder, files in self.held.items()}
        return {**self.same, **fresh}

    def note(self, path: str, code: str, message: str) -> None:
        self.notes.append((path, Diagnostic(code, message)))


def _rules_in(path: str, real: str, rules: IgnoreRules, names: Container[str]) -> IgnoreRules:
    """Return the rules in force in a folder, with those that it adds by itself."""
    if ".git" in names:  # the repository's own list, which its files may overrule
        exclude = IgnoreRules().below(path, _text(os.path.join(real, ".git", "info", "exclude")))
        rules = IgnoreRules((*exclude.layers, *rules.layers))
    if ".gitignore" in names:
        rules = rules.below(path, _text(os.path.join(real, ".gitignore")))
    return rules


def _text(path: str) -> str:
    """Read a list of patterns; one that cannot be read says nothing."""
    try:
        return read_regular(path, most=ignoring.MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _no_root(folder: str) -> WikiError:
    return WikiError(
        f"the source root '{folder or '.'}' is missing or cannot be listed",
        hint="Check the source roots of the wiki; nothing was changed.",
    )
