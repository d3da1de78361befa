"""Writers of tantivy indexes: opened when another process lets go, committed at once, kept while they merge.

A writer that is let go of while it merges segments throws the work away, so that the next commit
begins it anew. Imports nothing of the library: its objects are given.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wikimcp.lexical.segments import Segments

_LOCK_SECONDS = 10.0  # that a write waits for another process
_LOOK = 0.05  # seconds between two looks whether a merge is done, or the lock wanted elsewhere


class Writers:
    """The writers of several indexes in one folder, by name. The caller takes care that one thread writes."""

    def __init__(self, folder: Path, indexes: Mapping[str, Any]) -> None:
        self._folder = folder
        self._indexes = indexes
        self._merging: dict[str, Any] = {}
        self._mutex = threading.Lock()

    def take(self, heaps: Mapping[str, int]) -> dict[str, Any]:
        """Return a writer for each name. Raises ValueError when another process keeps writing."""
        with self._mutex:
            kept, self._merging = self._merging, {}
        return {name: kept.get(name) or self._opened(name, heap) for name, heap in heaps.items()}

    def _opened(self, name: str, heap: int) -> Any:  # noqa: ANN401 - tantivy ships no types
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                writer = self._indexes[name].writer(heap, 1)
                drop_uncommitted(self._folder / name)
                return writer
            except ValueError as error:
                if "LockBusy" not in str(error) or time.monotonic() > deadline:
                    raise
            with suppress(OSError):  # another process merges: ask it to leave that for later
                self._wanted.touch()
            time.sleep(_LOOK / 5)

    def commit(self, writers: dict[str, Any]) -> None:
        """Commit all writers, each in a thread of its own: most of a commit is waiting for the disk.

        Takes them out of the mapping. Writers whose commit started a merge are kept until it is done.
        """
        failed: list[BaseException] = []

        def commit(writer: Any) -> None:  # noqa: ANN401
            try:
                writer.commit()
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=commit, args=(writer,)) for writer in writers.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        due = {name: writers.pop(name) for name in list(writers) if self._merge_due(name)}
        writers.clear()
        if due:
            with self._mutex:
                self._merging = due
            threading.Thread(target=self._let_go, args=(due,), name="wikimcp-merge", daemon=True).start()

    def _merge_due(self, name: str) -> bool:
        try:
            return Segments.read(self._folder / name).merge_due()
        except (OSError, ValueError, LookupError):
            return False

    def _let_go(self, kept: dict[str, Any]) -> None:
        """Let go of the writers of one commit one by one as their merges end, or all when asked to."""
        while True:
            time.sleep(_LOOK)
            with self._mutex:
                if self._merging is not kept:
                    return  # a later write took them over
                for name in list(kept):
                    if self._asked_to_yield() or not self._merge_due(name):
                        del kept[name]
                if not kept:
                    return

    @property
    def _wanted(self) -> Path:
        return self._folder / "wanted"

    def _asked_to_yield(self) -> bool:
        try:
            return time.time() - self._wanted.stat().st_mtime < 2 * _LOOK
        except OSError:
            return False

    def close(self) -> None:
        """Let go of all writers."""
        with self._mutex:
            self._merging = {}


def drop_uncommitted(folder: Path) -> None:
    """Remove lists of deleted documents that a killed writer left before its commit. Under the writer's lock.

    The next writer counts on from the last commit, would give its list the same name, and the library
    refuses to write over a file.
    """
    with suppress(OSError, ValueError, LookupError):
        committed = int(json.loads((folder / "meta.json").read_text(encoding="utf-8"))["opstamp"])
        for file in folder.glob("*.del"):
            if int(file.name.split(".")[1]) > committed:
                file.unlink()
