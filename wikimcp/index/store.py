"""The index as a whole: opens it, keeps it true to the vault, and hands out snapshots.

Any process may refresh, under an OS lock held for the moment of writing only; every process
notices what others committed by the generation number. Nothing here names a backend: adapter,
lexical and dense members are given.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import StateError, VaultError
from wikimcp.index.catalog import Catalog, check
from wikimcp.index.changes import Changes, compare, compare_some
from wikimcp.index.ledger import Ledger
from wikimcp.index.lock import ProcessLock
from wikimcp.index.parse_pool import POOL_FROM, spare_workers
from wikimcp.index.snapshot import Progress, Snapshot, with_records
from wikimcp.index.state import StateDir
from wikimcp.index.writer import Applied, IndexWriter
from wikimcp.index.writer import Progress as Report
from wikimcp.models import Scan
from wikimcp.ports import LexicalIndex, VaultAdapter

log = logging.getLogger("wikimcp.index")

_FIRST_SLICE = 2_000  # files of a first build that are published before the rest
_BUSY_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class _Opened:
    folder: Path
    catalog: Catalog
    lexical: LexicalIndex
    hidden: LexicalIndex | None

    def close(self) -> None:
        self.catalog.close()
        self.lexical.close()
        if self.hidden is not None:
            self.hidden.close()


class IndexStore:
    """One vault's index in one process.

    ``fingerprint`` names everything that shapes the index (adapter, globs, caps, drafts): an index
    of another fingerprint is not served but rebuilt beside and swapped.
    """

    def __init__(
        self,
        *,
        adapter: VaultAdapter,
        state: StateDir,
        open_lexical: Callable[[Path], LexicalIndex],
        fingerprint: dict[str, str],
        keep_hidden: bool = False,
    ) -> None:
        self.adapter = adapter
        self.state = state
        self.degraded = ""
        self.building = Progress()
        self._open_lexical = open_lexical
        self._fingerprint = json.dumps(fingerprint, sort_keys=True)
        self._keep_hidden = keep_hidden
        self._lock = ProcessLock(state.root / "write.lock")
        self._mutex = threading.RLock()
        self._opened: _Opened | None = None
        self._ledger: Ledger | None = None
        self._snapshot: Snapshot | None = None
        self._damaged = ""

    # Reading

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot loaded by this process; None before the first."""
        return self._snapshot

    def open(self) -> bool:
        """Load the index on disk if it fits; False when there is none that can be served."""
        with self._mutex:
            folder = self.state.current()
            if folder is None:
                return False
            reason = check(folder / "catalog.sqlite")
            if reason:
                self._damaged = reason
                log.warning("the index cannot be used and is rebuilt: %s", reason)
                return False
            try:
                opened = self._open_folder(folder)
            except (StateError, sqlite3.Error, OSError) as error:
                self._damaged = str(error)
                log.warning("the index cannot be opened and is rebuilt: %s", error)
                return False
            if opened.catalog.meta().get("fingerprint") != self._fingerprint:
                opened.close()
                self._damaged = "made with other settings"
                return False
            try:
                self._load(opened)
            except (StateError, sqlite3.Error) as error:
                opened.close()
                self._damaged = str(error)
                log.warning("the index cannot be read and is rebuilt: %s", error)
                return False
            return True

    def _open_folder(self, folder: Path) -> _Opened:
        catalog = Catalog(folder / "catalog.sqlite")
        lexical = self._open_lexical(folder / "lexical")
        hidden = self._open_lexical(folder / "hidden") if self._keep_hidden else None
        return _Opened(folder, catalog, lexical, hidden)

    def _load(self, opened: _Opened) -> None:
        """Load a whole snapshot; waits for a writer that is between its two commits."""
        deadline = time.monotonic() + 2.0
        while True:
            meta, records = opened.catalog.pages()
            searcher = opened.lexical.searcher()
            generation = int(meta["generation"])
            if searcher.generation == generation or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        if searcher.generation != generation:
            # A writer died between its commits. What is there is served; unknown revs are no hits.
            self._damaged = f"lexical generation {searcher.generation}, catalog {generation}"
        self._adopt(opened)
        self._snapshot = Snapshot(
            generation=generation,
            records={record.path: record for record in records},
            catalog=opened.catalog,
            ledger=self.state.ledger,
            searcher=searcher,
            hidden=opened.hidden.searcher() if opened.hidden else None,
            complete=meta.get("complete") == "1",
            attachments=self._attachments(),
        )

    def _attachments(self) -> frozenset[str]:
        return self._snapshot.attachments if self._snapshot else frozenset()

    def _adopt(self, opened: _Opened) -> None:
        previous, self._opened = self._opened, opened
        if previous is not None and previous is not opened:
            # Running calls may still read it: its files go when the last of them is done.
            previous.lexical.close()

    def sync(self) -> None:
        """Take over what another process committed. Costs microseconds when nothing moved."""
        opened, snapshot = self._opened, self._snapshot
        if opened is None or snapshot is None:
            if self.state.current() is not None:
                self.open()
            return
        try:
            generation = opened.catalog.generation()
        except sqlite3.Error:
            generation = -1
        if generation == snapshot.generation and opened.folder == self.state.current():
            return
        with self._mutex:
            if opened.folder != self.state.current() or generation < 0:
                self.open()
            elif self._snapshot is snapshot:
                self._load(opened)

    @property
    def needs_rebuild(self) -> str:
        """Why the index must be made anew; empty when it is sound."""
        if self._damaged:
            return self._damaged
        return "" if self._snapshot is not None else "no index yet"

    # Writing

    def refresh(
        self, paths: Collection[str] | None = None, *, reread: bool = False, report: Report | None = None
    ) -> bool:
        """Bring the index in line with the disk: all of it, or the given page files.

        ``reread`` distrusts the stamps of the given files.

        Returns False when another process is writing for longer than a refresh may take. Raises
        VaultError when the vault is not readable and nothing was indexed before.
        """
        with self._mutex, self._lock.hold(timeout=_BUSY_SECONDS) as mine:
            if not mine:
                self.sync()
                return False
            self.sync()
            if self.needs_rebuild or self._snapshot is None or not self._snapshot.complete:
                self._build(report)
                return True
            if paths is None:
                return self._refresh_all(report)
            stamps = {path: self.adapter.stat(path) for path in paths}
            changes = compare_some(stamps, self._snapshot.records, reread=reread)
            if changes.removed and self._vault_gone():
                return True
            self._apply(changes, report=report)
            return True

    def _vault_gone(self) -> bool:
        """Whether files vanish because the whole vault did: then nothing is dropped."""
        if self.adapter.source_root.is_dir():
            return False
        self.degraded = "the vault cannot be seen; its pages are kept as last read"
        return True

    def _refresh_all(self, report: Report | None) -> bool:
        assert self._snapshot is not None
        try:
            scan = self.adapter.scan()
        except VaultError as error:
            self.degraded = error.message
            return True
        changes = compare(scan, self._snapshot.records)
        self.degraded = changes.degraded
        self._snapshot.attachments = scan.attachments
        self._apply(changes, scan=scan, report=report)
        return True

    def _apply(self, changes: Changes, *, scan: Scan | None = None, report: Report | None = None) -> None:
        snapshot, opened = self._snapshot, self._opened
        assert snapshot is not None and opened is not None
        if not changes and scan is None:
            return
        writer = self._writer(opened)
        walked = scan.diagnostics if scan else None
        if not changes and walked == tuple(opened.catalog.skipped()):
            return
        applied = writer.apply(changes, dict(snapshot.records), walked=walked, progress=report)
        self._publish(applied, snapshot, opened)

    def _publish(self, applied: Applied, before: Snapshot, opened: _Opened, *, complete: bool = True) -> None:
        records = with_records(
            before.records, removed=applied.removed, added=[*applied.added, *applied.restamped]
        )
        moved = applied.generation != before.generation
        self._snapshot = Snapshot(
            generation=applied.generation,
            records=records,
            catalog=opened.catalog,
            ledger=self.state.ledger,
            searcher=opened.lexical.searcher() if moved else before.searcher,
            hidden=opened.hidden.searcher() if opened.hidden and moved else before.hidden,
            attachments=before.attachments,
            complete=complete,
        )

    def _writer(self, opened: _Opened) -> IndexWriter:
        if self._ledger is None:
            self._ledger = Ledger(self.state.ledger)
        self._ledger.sync()
        return IndexWriter(
            adapter=self.adapter,
            catalog=opened.catalog,
            lexical=opened.lexical,
            withheld=opened.hidden,
            ledger=self._ledger,
        )

    def rebuild(self, *, report: Report | None = None) -> None:
        """Make the index anew beside the old one and swap it in."""
        with self._mutex, self._lock.hold(timeout=600.0) as mine:
            if not mine:
                raise StateError("another process has been writing the index for ten minutes")
            self._build(report)

    def _build(self, report: Report | None) -> None:
        scan = self.adapter.scan()
        folder = self.state.new_index()
        Catalog.create(
            folder / "catalog.sqlite",
            {"fingerprint": self._fingerprint, "adapter": self.adapter.name, "complete": "0"},
        ).close()
        opened = self._open_folder(folder)
        old = self._snapshot
        serve_old = old is not None and old.complete and not self._damaged
        snapshot = Snapshot(
            generation=0,
            records={},
            catalog=opened.catalog,
            ledger=self.state.ledger,
            searcher=opened.lexical.searcher(),
            complete=False,
        )
        paths = [stamp.path for stamp in scan.files]
        slices = [paths[:_FIRST_SLICE], paths[_FIRST_SLICE:]] if len(paths) > _FIRST_SLICE else [paths]
        self.building = Progress(0, len(paths))
        workers = spare_workers() if len(paths) >= POOL_FROM else 0
        done = 0

        def progress(stage: str, at: int, _: int) -> None:
            self.building = Progress(done + at, len(paths))
            if report:
                report(stage, done + at, len(paths))

        for number, part in enumerate(slices):
            last = number == len(slices) - 1
            applied = self._writer(opened).apply(
                Changes(tuple(part), ()),
                dict(snapshot.records),
                walked=scan.diagnostics if last else None,
                complete=last,
                fresh=number == 0,
                workers=workers,
                progress=progress,
            )
            done += len(part)
            before, snapshot = snapshot, self._after_slice(applied, snapshot, opened, scan, complete=last)
            del before
            if last or not serve_old:
                self._adopt(opened)
                self._snapshot = snapshot
                self.state.publish(folder)
        self._damaged = ""
        self.degraded = compare(scan, snapshot.records).degraded
        self.building = Progress()

    def _after_slice(
        self, applied: Applied, before: Snapshot, opened: _Opened, scan: Scan, *, complete: bool
    ) -> Snapshot:
        return Snapshot(
            generation=applied.generation,
            records=with_records(before.records, removed=(), added=applied.added),
            catalog=opened.catalog,
            ledger=self.state.ledger,
            searcher=opened.lexical.searcher(),
            hidden=opened.hidden.searcher() if opened.hidden else None,
            attachments=scan.attachments,
            complete=complete,
        )

    def close(self) -> None:
        """Release files and locks."""
        with self._mutex:
            if self._opened is not None:
                self._opened.close()
                self._opened = None
            if self._ledger is not None:
                self._ledger.close()
                self._ledger = None
            self.state.close()
