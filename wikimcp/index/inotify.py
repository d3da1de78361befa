"""The Linux watcher: inotify asked directly, so that a drain returns everything that happened before it.

The kernel queues an event before the call that caused it returns, and reading the queue needs no
thread. The thread of a notification library lags behind on a busy machine, and an edit then misses
the very next call.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from wikimcp.index.moves import Moves
from wikimcp.vaults.opening import printable
from wikimcp.vaults.walking import IGNORED_FOLDERS

# From linux/inotify.h.
_MODIFY, _ATTRIB = 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _EXCL_UNLINK, _ISDIR = 0x01000000, 0x04000000, 0x40000000
_GONE, _COME = _MOVED_FROM | _DELETE, _MOVED_TO | _CREATE
_WANTED = _MODIFY | _ATTRIB | _GONE | _COME | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _EXCL_UNLINK
_EVENT = struct.Struct("iIII")
_READ_BYTES = 256 * 1024
_SETTINGS_FOLDER = ".obsidian"


class InotifyWatcher:
    """Watches a folder and all below it that may hold pages.

    Raises OSError when the system has no inotify, or no watch left for so many folders.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._mutex = threading.Lock()
        self._names: dict[int, set[str]] = {}
        self._watches: dict[str, int] = {}
        self._descriptor = self._call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self.healthy = True
        try:
            self._watch_below("")
        except OSError:
            self.close()
            raise

    def drain(self) -> Moves:
        """Return what moved since the last drain."""
        moves = Moves()
        with self._mutex:
            if not self.healthy:
                return moves
            try:
                for watch, mask, name in self._events():
                    self._take(watch, mask, name, moves)
            except OSError:  # no watch is left, or the root went
                self.healthy = False
                moves.folders = True
        return moves

    def cover(self, folders: set[str]) -> bool:
        """Watch folders with pages that a link led to; True when one was not watched before."""
        missing = folders - self._watches.keys()
        if not missing:
            return False
        with self._mutex:
            try:
                return any([self._watch_below(folder) for folder in sorted(missing)])
            except OSError:
                self.healthy = False
                return False

    def close(self) -> None:
        """Stop watching. Idempotent."""
        with self._mutex:
            self.healthy = False
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def _call(self, name: str, *arguments: object) -> int:
        result = int(getattr(self._libc, name)(*arguments))
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    def _watch_below(self, top: str) -> bool:
        """Watch a folder and all below it, each before it is listed, so that nothing slips between."""
        found = False
        pending = [top]
        while pending:
            folder = pending.pop()
            full = f"{self._root}/{folder}" if folder else self._root
            try:
                watch = self._call("inotify_add_watch", self._descriptor, os.fsencode(full), _WANTED)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.ENOMEM, errno.EBADF) or not folder:
                    raise
                continue  # it went meanwhile, or may not be listed
            self._names.setdefault(watch, set()).add(folder)
            self._watches[folder] = watch
            found = True
            if folder != _SETTINGS_FOLDER:
                pending.extend(_folders_in(folder, full))
        return found

    def _events(self) -> Iterator[tuple[int, int, str]]:
        while True:
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                yield watch, mask, printable(os.fsdecode(data[at : at + length].rstrip(b"\0")))
                at += length

    def _take(self, watch: int, mask: int, name: str, moves: Moves) -> None:
        if mask & _OVERFLOW:
            moves.folders = True
        elif mask & (_IGNORED | _UNMOUNT | _DELETE_SELF | _MOVE_SELF):
            self._take_of_itself(watch, mask, moves)
        else:
            for folder in tuple(self._names.get(watch, ())):
                path = f"{folder}/{name}" if folder else name
                if mask & _ISDIR:
                    self._take_folder(path, mask, moves)
                elif path in self._watches:  # a link to a folder
                    moves.folders = True
                else:
                    moves.add_file(path, there_changed=bool(mask & (_GONE | _COME)))

    def _take_of_itself(self, watch: int, mask: int, moves: Moves) -> None:
        names = self._names.get(watch, set())
        if "" in names:
            self.healthy = False  # what the root's path leads to now, if anything, is not watched
            moves.folders = True
        elif not mask & _MOVE_SELF:
            moves.folders |= bool(names)
            for name in self._names.pop(watch, ()):
                self._watches.pop(name, None)

    def _take_folder(self, path: str, mask: int, moves: Moves) -> None:
        if mask & _GONE:
            moves.folders = True
            self._forget_below(path)
        elif mask & _COME and _may_hold_pages(*_split(path)):
            moves.folders = True
            self._watch_below(path)

    def _forget_below(self, path: str) -> None:
        """Drop the names of a folder that went; moved within the vault it is watched anew."""
        for name in [n for n in self._watches if n == path or n.startswith(f"{path}/")]:
            watch = self._watches.pop(name)
            names = self._names.get(watch, set())
            names.discard(name)
            if not names and self._names.pop(watch, None) is not None:
                self._libc.inotify_rm_watch(self._descriptor, watch)


def _folders_in(folder: str, full: str) -> list[str]:
    try:
        with os.scandir(full) as entries:
            return [
                f"{folder}/{entry.name}" if folder else entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and _may_hold_pages(folder, entry.name)
            ]
    except OSError:
        return []


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def _may_hold_pages(folder: str, name: str) -> bool:
    """Whether a folder is looked into; a dot folder only for the settings in it."""
    if name.startswith("."):
        return not folder and name == _SETTINGS_FOLDER
    return name not in IGNORED_FOLDERS
