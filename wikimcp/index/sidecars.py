"""The sidecars of a vault as read last, read again whenever a file of theirs changes."""

from __future__ import annotations

import threading

from wikimcp.graph.sidecar import EMPTY, MOST_BYTES, Sidecar, read_sidecar
from wikimcp.models import Diagnostic, FileStamp
from wikimcp.ports import VaultAdapter

Mark = tuple[FileStamp, ...]


class SidecarFiles:
    """What the sidecars hold, shared by all snapshots of one index. Two stats a look."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._mark: Mark = ()
        self._sidecar = EMPTY

    def read(self, adapter: VaultAdapter) -> tuple[Mark, Sidecar]:
        """Return the sidecars as they are on disk now, and what tells them from others."""
        mark = adapter.sidecars()
        with self._mutex:
            if mark != self._mark:
                self._sidecar = sum((_read(adapter, stamp.path) for stamp in mark), EMPTY)
                self._mark = mark
            return self._mark, self._sidecar


def _read(adapter: VaultAdapter, path: str) -> Sidecar:
    try:
        data = adapter.read_sidecar(path, cap=MOST_BYTES)
    except OSError as error:
        why = Diagnostic("sidecar_broken", f"the sidecar cannot be read ({error.strerror})")
        return Sidecar(diagnostics=((path, why),))
    if len(data) > MOST_BYTES:
        why = Diagnostic("sidecar_too_large", f"the sidecar is over {MOST_BYTES:,} bytes and is not read")
        return Sidecar(diagnostics=((path, why),))
    return read_sidecar(path, data)
