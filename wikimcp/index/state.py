"""The state directory of one vault: where the index lives, outside the vault, and which one is current."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from pathlib import Path

from wikimcp.errors import StateError

_KEEP = 2  # index folders: the current one and the one that other processes may still read


class StateDir:
    """One folder per vault: ``current`` names the index folder in use; ledger and vectors lie beside.

    ``note`` is not empty when the wanted folder could not be written and a temporary one serves.
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

    def vectors(self, embedder: str) -> Path:
        """Return the folder of one embedder's vectors."""
        safe = "".join(c if c.isalnum() or c in "-._" else "-" for c in embedder)
        return self.root / "vectors" / safe

    def current(self) -> Path | None:
        """Return the index folder in use, None when there is none."""
        try:
            name = (self.root / "current").read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        folder = self.root / name
        return folder if name.startswith("index-") and "/" not in name and folder.is_dir() else None

    def new_index(self) -> Path:
        """Make an empty index folder beside the current one."""
        folder = self.root / f"index-{time.time_ns():x}-{uuid.uuid4().hex[:6]}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StateError(f"no index folder can be made ({error.strerror})") from error
        return folder

    def publish(self, folder: Path) -> None:
        """Make ``folder`` the current index, atomically, and drop the oldest ones."""
        spare = self.root / f".current-{uuid.uuid4().hex}"
        spare.write_text(folder.name, encoding="ascii")
        os.replace(spare, self.root / "current")
        others = sorted(p for p in self.root.glob("index-*") if p.is_dir() and p != folder)
        for stale in others[: max(0, len(others) - (_KEEP - 1))]:
            shutil.rmtree(stale, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder if it was a temporary one."""
        if self.temporary:
            shutil.rmtree(self.root, ignore_errors=True)
