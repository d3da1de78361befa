"""The state directory of one vault: where its indexes live, outside the vault, and which are current."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

from wikimcp.errors import StateError

_KEEP = 1  # replaced index folders that are kept, since other processes may still read them
_FORGET_AFTER = 14 * 86_400.0  # seconds without use before an index of other settings is dropped
_BUILD_STALE_AFTER = 15.0  # seconds without progress before a build is taken for dead
_POINTER = "current-"


class StateDir:
    """One folder per vault, shared by all processes that serve it.

    Servers with other settings (drafts, globs) need another index: each kind of index has a ``key``,
    and the file ``current-KEY`` names its folder. Ledger and vectors are shared by all. ``note`` is
    not empty when the wanted folder could not be written and a temporary one serves.
    """

    def __init__(self, root: Path, *, note: str = "") -> None:
        self.root = root
        self.note = note
        self.temporary = bool(note)

    @classmethod
    def open(cls, root: Path) -> StateDir:
        """Use ``root``, or a temporary folder (with a note) when it cannot be written."""
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            probe = root / f".probe-{uuid.uuid4().hex}"
            probe.write_bytes(b"ok")
            probe.unlink()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            try:
                spare = Path(tempfile.mkdtemp(prefix="wikimcp-"))
            except OSError as worse:
                raise StateError(
                    f"neither the state directory ({reason}) nor a temporary folder can be written",
                    hint="Name a writable folder with --state-dir.",
                ) from worse
            return cls(
                spare,
                note=f"the state directory cannot be written ({reason}): the index is kept in a temporary "
                "folder, is built anew at each start, and page versions are not remembered",
            )
        return cls(root)

    @property
    def ledger(self) -> Path:
        """The version ledger."""
        return self.root / "ledger.sqlite"

    def set_ledger_aside(self) -> Path:
        """Move a ledger that cannot be read out of the way, keeping it; returns its new place."""
        number = 1
        while (aside := self.root / f"{self.ledger.name}.bad-{number}").exists():
            number += 1
        os.replace(self.ledger, aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{self.ledger}{suffix}", f"{aside}{suffix}")
        return aside

    @property
    def remarks(self) -> list[str]:
        """What the operator should know of the folder."""
        found = (path.name for path in self.root.glob(f"{self.ledger.name}.bad-*"))
        bad = sorted(name for name in found if name.rpartition("-")[2].isdigit())
        if not bad:
            return []
        return [
            "page versions were counted anew: the version ledger was damaged and is kept as "
            f"{', '.join(bad)} in the state directory (remove it to silence this)"
        ]

    def vectors(self, embedder: str) -> Path:
        """Return the folder of one embedder's vectors."""
        safe = "".join(c if c.isalnum() or c in "-._" else "-" for c in embedder)
        return self.root / "vectors" / safe

    # Index folders

    def current(self, key: str) -> Path | None:
        """Return the index folder in use, None when there is none."""
        folder = self._pointed(self.root / f"{_POINTER}{key}")
        return folder if folder is not None and folder.is_dir() else None

    def _pointed(self, pointer: Path) -> Path | None:
        try:
            name = pointer.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return self.root / name if name.startswith("index-") and "/" not in name else None

    def mark_used(self, key: str) -> None:
        """Note that an index is in use, so that servers of other settings do not drop it."""
        with suppress(OSError):
            os.utime(self.root / f"{_POINTER}{key}")

    def new_index(self) -> Path:
        """Make an empty index folder beside the current one."""
        folder = self.root / f"index-{time.time_ns():x}-{uuid.uuid4().hex[:6]}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StateError(f"no index folder can be made ({error.strerror})") from error
        return folder

    def publish(self, key: str, folder: Path) -> None:
        """Make ``folder`` the current index of a kind, atomically, and drop what nobody needs any more."""
        spare = self.root / f".current-{uuid.uuid4().hex}"
        try:
            spare.write_text(folder.name, encoding="ascii")
            os.replace(spare, self.root / f"{_POINTER}{key}")
        except OSError as error:
            raise StateError(f"the state directory cannot be written ({error.strerror})") from error
        self._prune()

    def _prune(self) -> None:
        """Drop indexes that were replaced, and those of settings that nobody has used for long."""
        pointers = {}
        for pointer in self.root.glob(f"{_POINTER}*"):
            with suppress(OSError):
                if time.time() - pointer.stat().st_mtime > _FORGET_AFTER:
                    pointer.unlink()
                else:
                    pointers[pointer] = self._pointed(pointer)
        others = sorted(p for p in self.root.glob("index-*") if p.is_dir() and p not in pointers.values())
        for stale in others[: max(0, len(others) - _KEEP)]:
            shutil.rmtree(stale, ignore_errors=True)

    # What a process that builds tells the others

    def tell_progress(self, done: int, total: int) -> None:
        """Tell other processes how far the build of this one is: ``done`` of ``total`` files."""
        spare = self.root / f".building-{os.getpid()}"
        with suppress(OSError):
            spare.write_text(f"{done} {total}", encoding="ascii")
            os.replace(spare, self.root / "building")

    def progress(self) -> tuple[int, int]:
        """Return how far the build of some process is, (0, 0) when none builds."""
        try:
            told = self.root / "building"
            if time.time() - told.stat().st_mtime > _BUILD_STALE_AFTER:
                return 0, 0
            done, total = told.read_text(encoding="ascii").split()
            return int(done), int(total)
        except (OSError, ValueError):
            return 0, 0

    def end_progress(self) -> None:
        """Tell that the build is over."""
        with suppress(OSError):
            (self.root / "building").unlink()

    def close(self) -> None:
        """Remove the folder if it was a temporary one."""
        if self.temporary:
            shutil.rmtree(self.root, ignore_errors=True)
