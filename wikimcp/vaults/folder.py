"""What every dialect shares: an adapter over one folder of markdown files.

A dialect derives from ``FolderAdapter`` and says where its pages lie, what it ignores and how its
names are made; everything else stays as it is here.
"""

from __future__ import annotations

import errno
import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from wikimcp.errors import NotFound, SettingsError, VaultError
from wikimcp.models import Diagnostic, FileStamp, ParsedPage, Scan
from wikimcp.ports import FileContent
from wikimcp.vaults.conflict_copies import is_conflict_copy, original_of
from wikimcp.vaults.decoding import decode
from wikimcp.vaults.dialect_files import UnreadableRules
from wikimcp.vaults.globs import PathPattern, compile_globs, rebase_globs
from wikimcp.vaults.opening import Bounds, read_file, stat_file
from wikimcp.vaults.options import VaultOptions
from wikimcp.vaults.pages import PageName, build_page
from wikimcp.vaults.sidecars import read_bytes, sidecar_paths, stamp_of
from wikimcp.vaults.walking import WalkRules, first_page, walk

_WITHHELD = (
    "it may leave pages out, so every page is withheld until it is mended and wikimcp starts again, or "
    "until the setting 'adapter' names another dialect"
)
_AS_BEFORE = "what it left out before is left out still"
_RESTART = "the pages are served from the next start on"


class FolderAdapter:
    """Every markdown file below one folder is a page. Implements VaultAdapter; picklable."""

    name: ClassVar[str] = "folder"
    suffixes: ClassVar[tuple[str, ...]] = (".md", ".markdown")

    def __init__(self, root: Path, options: VaultOptions | None = None) -> None:
        self.root = Path(root)
        self.options = options or VaultOptions()
        self.unread = ""
        """What is wrong with the dialect's settings that should have said which pages to leave out."""
        self._dialect_rules: list[PathPattern] | None = None

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> FolderAdapter | None:
        """Return an adapter when the folder bears the signal of this dialect, else None."""
        raise NotImplementedError

    @property
    def source_root(self) -> Path:
        """The folder that page paths are relative to."""
        return self.root / self.source_folder if self.source_folder else self.root

    @property
    def source_folder(self) -> str:
        """The name of the folder in the root that page paths are relative to; empty for the root itself."""
        return ""

    @property
    def page_folders(self) -> tuple[str, ...]:
        """The only folders that pages lie in, each with a slash at its end; none: they lie anywhere."""
        return ()

    @property
    def dialect_settings(self) -> str:
        """What of the dialect's own settings shapes how pages are read; another value, another index."""
        self.rules  # noqa: B018 - reads them, if nothing has yet
        return f"unread: {self.unread}" if self.unread else ""

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Return what the dialect's own settings leave out, and what is wrong with these settings.

        Raises UnreadableRules when they may leave out pages and cannot be read.
        """
        return [], []

    def slug(self, path: str) -> str:
        """Return the name of the page at a path: the path without its suffix."""
        return self.without_suffix(path)

    def without_suffix(self, path: str) -> str:
        """Return a path or file name without the suffix of a page."""
        for suffix in self.suffixes:
            if path.lower().endswith(suffix):
                return path[: -len(suffix)]
        return path

    def scan(self) -> Scan:
        """Walk the vault; stat every page file. Raises VaultError when the root is not readable."""
        check_root(self.root)
        notes = self.refresh_rules()
        found = walk(self.bounds, self.rules)
        if not notes:
            return found
        return Scan(
            found.files,
            found.attachments,
            found.unread,
            (*found.diagnostics, *(("", note) for note in notes)),
        )

    def has_pages(self) -> bool:
        """Say whether there is at least one page."""
        return first_page(self.bounds, self.rules) is not None

    def read(self, path: str) -> FileContent:
        """Open one page file safely (regular, inside the vault) and decode it.

        Raises FileNotFoundError when it is gone or not a page any more, OSError when it cannot be
        read, NotFound when it leaves the vault.
        """
        if not self.serves(path):
            self.bounds.inside(path)
            raise FileNotFoundError(errno.ENOENT, "not a page of this vault", path)
        cap = self.options.file_cap_bytes
        file = read_file(self.bounds, path, cap=cap)
        data = _whole_lines(file.data) if file.partial else file.data
        decoded = decode(data)
        notes = decoded.diagnostics
        if file.partial:
            note = f"the file is larger than {cap:,} bytes; only its first part is read"
            notes = (*notes, Diagnostic("file_too_large", note))
        status = file.status
        return FileContent(
            stamp=FileStamp(path, status.st_mtime_ns, status.st_size, status.st_ino),
            text=decoded.text,
            encoding=decoded.encoding,
            content_hash=hashlib.sha256(file.data).hexdigest()[:16],
            partial=file.partial,
            diagnostics=notes,
        )

    def stat(self, path: str) -> FileStamp | None:
        """Stat one page file; None when it is gone or no regular file inside the vault."""
        if not self.serves(path):
            return None
        try:
            status = stat_file(self.bounds, path)
        except (OSError, ValueError, NotFound):
            return None
        return FileStamp(path, status.st_mtime_ns, status.st_size, status.st_ino)

    def parse(self, content: FileContent) -> ParsedPage:
        """Parse one file. Never raises for what a file holds: oddities become diagnostics."""
        return build_page(content, self.page_name(content.stamp.path))

    def holds(self, path: str) -> bool:
        """Say whether the root (not the source root) has a file or folder that no setting keeps back."""
        try:
            real = os.path.realpath(self._root_bounds.inside(path), strict=True)
        except (NotFound, OSError, ValueError):
            return False
        return self._root_bounds.hold(real) and not self._keeps_back(path)

    def sidecars(self) -> tuple[FileStamp, ...]:
        """Stat the graph sidecars that are served now: neither ignored nor private by the settings."""
        stamps = (stamp_of(self.root, path, self._root_bounds) for path in sidecar_paths(self.source_folder))
        return tuple(stamp for stamp in stamps if stamp is not None and not self._keeps_back(stamp.path))

    def read_sidecar(self, path: str, *, cap: int) -> bytes:
        """Return a sidecar's bytes, one more than ``cap`` at most. Raises OSError when it cannot be read."""
        return read_bytes(self._root_bounds, path, cap=cap)

    def _keeps_back(self, path: str) -> bool:
        """Say whether the settings ignore a file of the root, or hold it private."""
        globs = (compile_globs(self.options.ignore), compile_globs(self.options.private))
        return any(pattern is not None and pattern.match(path) for pattern in globs)

    def page_name(self, path: str) -> PageName:
        """Return what is known of a page before it is opened."""
        private = self._private
        original, mark = original_of(path)
        self.rules  # noqa: B018 - reads them, if nothing has yet
        keeper = "the settings" if private is not None and private.match(path) else ""
        return PageName(
            path=path,
            slug=self.slug(path),
            stem=self.without_suffix(path.rpartition("/")[2]),
            conflict_copy=is_conflict_copy(path),
            copy_of=original,
            copy_mark=mark,
            private=f"the dialect's settings: {self.unread}" if self.unread else keeper,
        )

    def serves(self, path: str) -> bool:
        """Say whether a path names a page of this vault, by its form: suffix and ignore rules."""
        return self.rules.is_page(path) and not self.rules.ignores(path)

    def refresh_rules(self) -> list[Diagnostic]:
        """Read the ignore rules anew; return what is wrong with those of the dialect.

        Rules that cannot be read stay as they were. Where they never could, nobody knows what they leave
        out: every page is withheld until the next start.
        """
        first = self._dialect_rules is None
        try:
            patterns, notes = self.ignored_by_dialect()
        except (UnreadableRules, SettingsError) as error:
            if first:
                self.unread = str(error)
            patterns = self._dialect_rules or []
            notes = [Diagnostic("vault_settings", f"{error}; {_WITHHELD if self.unread else _AS_BEFORE}")]
        else:
            if self.unread:
                notes = [
                    *notes,
                    Diagnostic("vault_settings", f"{self.unread}, before it was mended; {_RESTART}"),
                ]
        self._dialect_rules = patterns
        settings = compile_globs(rebase_globs(self.options.ignore, self.source_folder))
        ignore = (*patterns, settings) if settings else tuple(patterns)
        _ = self._private  # an error in it belongs to the start, not to a page
        self.__dict__["rules"] = WalkRules(self.suffixes, ignore, self.page_folders)
        return notes

    @cached_property
    def rules(self) -> WalkRules:
        """What belongs to the vault, as of the last walk."""
        self.refresh_rules()
        rules: WalkRules = self.__dict__["rules"]
        return rules

    @cached_property
    def bounds(self) -> Bounds:
        """The folders that files may lie in."""
        return Bounds.of(self.source_root, self.options.trusted_links)

    @cached_property
    def _root_bounds(self) -> Bounds:
        return Bounds.of(self.root, self.options.trusted_links)

    @cached_property
    def _private(self) -> PathPattern | None:
        return compile_globs(rebase_globs(self.options.private, self.source_folder))


def check_root(root: Path) -> None:
    """Raise VaultError, saying what to do, unless the vault's folder is there and can be listed."""
    name = root.name or str(root)
    if not os.path.lexists(root):
        hint = "Check the path, or whether its drive is mounted."
        raise VaultError(f"there is no folder {name!r}", hint=hint)
    if not os.path.exists(root):
        hint = "Point it at the vault, or name the vault itself."
        raise VaultError(f"{name!r} is a link that leads nowhere", hint=hint)
    if not os.path.isdir(root):
        raise VaultError(f"{name!r} is a file, not a folder", hint="Name the folder that holds the pages.")
    if not os.access(root, os.R_OK | os.X_OK):
        raise VaultError(f"the folder {name!r} cannot be read", hint="Give your user the right to list it.")


def _whole_lines(data: bytes) -> bytes:
    """Cut data that was read up to the cap back to its last whole line, or at least its last character."""
    end = data.rfind(b"\n", len(data) - 64 * 1024 if len(data) > 64 * 1024 else 0) + 1
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[: len(data) & ~3]
    if end:
        return data[:end]
    tail = len(data)
    while tail and len(data) - tail < 3 and data[tail - 1] & 0xC0 == 0x80:
        tail -= 1
    return data[: tail - 1] if tail and data[tail - 1] >= 0xC0 else data
