"""The sidecars of a vault as read last, read again whenever a file of theirs changes."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from wikimcp.graph.sidecar import EMPTY, MOST_BYTES, Sidecar, read_sidecar
from wikimcp.models import Diagnostic, FileStamp
from wikimcp.ports import VaultAdapter

Mark = tuple[FileStamp, ...]


@dataclass(frozen=True, slots=True)
class ReadSidecars:
    """What the sidecars held at one moment, and what tells it from what they hold at others."""

    mark: Mark
    sidecar: Sidecar


class SidecarFiles:
    """What the sidecars hold, shared by all snapshots of one index. Two stats a look."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._read = ReadSidecars((), EMPTY)

    def read(self, adapter: VaultAdapter) -> ReadSidecars:
        """Return the sidecars as they are on disk now."""
        mark = adapter.sidecars()
        with self._mutex:
            if mark != self._read.mark:
                self._read = ReadSidecars(mark, sum((_read(adapter, stamp.path) for stamp in mark), EMPTY))
            return self._read


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
