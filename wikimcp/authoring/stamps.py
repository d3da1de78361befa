"""The stamps that sources were hashed at, kept beside the wiki so that they need not be read again.

They say something on this machine only and stay out of the manifest, which travels with the wiki. Losing
them costs the time of hashing and nothing else: a file of stamps that is missing, broken or cannot be
written is no error.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wikimcp.authoring.intent import state_folder
from wikimcp.authoring.workspace import STATE_FOLDER, Workspace

_FILE = "stamps.json"
_SCHEMA = 2

_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000

_ROW = struct.Struct("<qqqQ")
_INODE = 2**64 - 1  # some systems have longer ones
_DIGITS = 64

Stamp = tuple[int, int, int, int]
"""What a file's status said when it was hashed: size, times of content and of status (ns), inode.

Equal stamps mean equal content. A plain tuple, as there are many thousands.
"""

UNKNOWN: Stamp = (-1, -1, -1, 0)
"""The stamp of a file that is to be hashed again at the next scan: no file has it."""

Known = tuple[str, Stamp]
"""A file as it was hashed: its content hash, and its stamp."""


@dataclass(frozen=True, slots=True)
class StampedFolder:
    """The files of a folder as they were hashed, packed so that all of them are compared in one step.

    ``names`` are joined by a slash, ``hashes`` of 64 digits and ``stamps`` of 32 bytes follow one another.
    """

    names: str
    hashes: str
    stamps: bytes

    @classmethod
    def of(cls, files: Mapping[str, Known]) -> StampedFolder:
        """Pack files by name."""
        return cls(
            "/".join(files),
            "".join(digest for digest, _ in files.values()),
            b"".join(_ROW.pack(*stamp) for _, stamp in files.values()),
        )

    def met(self, found: Sequence[tuple[str, Stamp]]) -> bool:
        """Say whether these are the files of the folder, in the order in which it has them, unchanged."""
        return self.names == "/".join(name for name, _ in found) and self.stamps == b"".join(
            _ROW.pack(*stamp) for _, stamp in found
        )

    def by_name(self) -> dict[str, str]:
        """Return the hashes of the files by name."""
        return dict(zip(self.names.split("/"), self._digests(), strict=True))

    def files(self) -> dict[str, Known]:
        """Return the files by name."""
        known = zip(self._digests(), _ROW.iter_unpack(self.stamps), strict=True)
        return dict(zip(self.names.split("/"), known, strict=True))

    def _digests(self) -> Iterator[str]:
        return (self.hashes[at : at + _DIGITS] for at in range(0, len(self.hashes), _DIGITS))

    @property
    def whole(self) -> bool:
        """Whether its parts fit together, as they do in a file that nobody has damaged."""
        count = self.names.count("/") + 1
        sizes = (len(self.hashes), len(self.stamps))
        return isinstance(self.hashes, str) and sizes == (count * _DIGITS, count * _ROW.size)


Stamped = Mapping[str, StampedFolder]
"""Folders with files by path; the empty text is the top."""


def stamp_of(status: os.stat_result) -> Stamp:
    """Take the stamp of a file's status."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & _INODE


def at_rest(stamp: Stamp, now_ns: int) -> bool:
    """Say whether a change after ``now_ns`` must show in a later stamp.

    Clocks of file systems tick: within one tick a file may change twice and keep its time. Times without
    a fraction of a second come from a clock that counts seconds, or pairs of them.
    """
    _, mtime_ns, ctime_ns, _ = stamp
    fine = mtime_ns % _SECOND_NS or ctime_ns % _SECOND_NS
    return max(mtime_ns, ctime_ns) + (_TICK_NS if fine else _COARSE_TICK_NS) < now_ns


def load_stamps(workspace: Workspace) -> Stamped:
    """Return the files that were hashed before."""
    try:
        value = json.loads(_file(workspace).read_bytes())
        if value["schema"] != _SCHEMA:
            return {}
        held = {
            folder: StampedFolder(names, hashes, b64decode(stamps))
            for folder, (names, hashes, stamps) in value["folders"].items()
        }
        return {folder: files for folder, files in held.items() if files.whole}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def save_stamps(workspace: Workspace, stamped: Stamped) -> None:
    """Keep the stamps of all files, in one step."""
    folders = {
        folder: (files.names, files.hashes, b64encode(files.stamps).decode())
        for folder, files in stamped.items()
    }
    with contextlib.suppress(OSError):
        folder = state_folder(workspace)
        fresh = folder / f"{_FILE}.{os.getpid()}"
        try:
            fresh.write_text(json.dumps({"schema": _SCHEMA, "folders": folders}), "utf-8")
            os.replace(fresh, folder / _FILE)
        finally:
            fresh.unlink(missing_ok=True)


def _file(workspace: Workspace) -> Path:
    return workspace.wiki_root / STATE_FOLDER / _FILE
