"""The index as a whole: opens it, keeps it true to the vault, and hands out snapshots.

Any process may refresh, under an OS lock held for the moment of writing only; every process
notices what others committed by the generation number. Nothing here names a backend: adapter,
lexical and dense members are given.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from wikimcp.citations.anchors import SourceRoots
from wikimcp.errors import StateError, VaultError
from wikimcp.index.build import fill, snapshot_after, snapshot_loaded
from wikimcp.index.catalog import FORMAT, check
from wikimcp.index.changes import Changes, compare, compare_some, others_there
from wikimcp.index.folder import IndexFolder, Loaded, OpenLexical
from wikimcp.index.health import IndexHealth
from wikimcp.index.history import GitHistory
from wikimcp.index.ledger import Entry, Ledger, LedgerDamaged, open_ledger, set_aside
from wikimcp.index.lock import ProcessLock
from wikimcp.index.page_record import PageRecord
from wikimcp.index.snapshot import Progress, Snapshot
from wikimcp.index.stale import BusyError, IndexDamaged
from wikimcp.index.state import StateDir
from wikimcp.index.uncommitted import uncommitted_moves
from wikimcp.index.writer import IndexWriter, skipped_by_walk
from wikimcp.index.writer import Progress as Report
from wikimcp.models import Scan
from wikimcp.ports import VaultAdapter

log = logging.getLogger("wikimcp.index")

_BUSY_SECONDS = 3.0  # that a refresh waits for the one of another process
_BETWEEN_COMMITS = 2.0  # seconds that a writer may take from its first commit to its last
_WORN = 0.3  # share of deleted documents


class IndexStore:
    """One vault's index in one process.

    ``fingerprint`` names everything that shapes the index (adapter, globs, caps, drafts): servers of
    another fingerprint keep another index in the same state directory. ``keep_hidden``: withheld pages
    are searched for those who may see them; labelled pages always are.
    """

    def __init__(
        self,
        *,
        adapter: VaultAdapter,
        state: StateDir,
        open_lexical: OpenLexical,
        fingerprint: dict[str, str],
        keep_hidden: bool = False,
        sources: SourceRoots | None = None,
        history: GitHistory | None = None,
    ) -> None:
        self.adapter = adapter
        self.state = state
        self.building = Progress()
        self.loaded = threading.Event()
        self.walk_seconds = 0.0  # that the last walk over the vault took
        self._open_lexical = open_lexical
        self._fingerprint = json.dumps(fingerprint, sort_keys=True)
        self.key = hashlib.sha256(f"{FORMAT} {self._fingerprint}".encode()).hexdigest()[:12]
        self.keeps_drafts = keep_hidden
        self._sources = sources
        self.history = history
        # Who writes holds the lock first, then the mutex; who reads holds the mutex alone.
        self._lock = ProcessLock(state.root / "write.lock")
        self._mutex = threading.RLock()
        self._opened: IndexFolder | None = None
        self._ledger: Ledger | None = None
        self._snapshot: Snapshot | None = None
        self._closing = False
        self._health = IndexHealth()
        self.vault_trouble = ""
        self._write_trouble = ""

    # Reading

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot loaded by this process; None before the first."""
        return self._snapshot

    @property
    def degraded(self) -> str:
        """Why answers may not be all that the vault holds; empty when they are."""
        return self.vault_trouble or self._write_trouble

    @property
    def needs_rebuild(self) -> str:
        """Why the index must be made anew; empty when it is sound."""
        if self._health.reason:
            return self._health.reason
        return "" if self._snapshot is not None else "no index yet"

    def progress(self) -> Progress:
        """Return how far a build is, in this process or in another that shares the state directory."""
        return self.building if self.building.total else Progress(*self.state.progress())

    def _use(self, snapshot: Snapshot, fresh: Collection[PageRecord] | None = None) -> None:
        """Take a snapshot into use; ``fresh`` are its records that the last one had not (None: all)."""
        if self.history is not None and (counts := self.history.counts).commits:
            moves = uncommitted_moves(
                snapshot.records, counts, ledger=snapshot.ledger, there=self.history.there
            )
            snapshot = snapshot.numbered(counts.version, moves, fresh)
        self._snapshot = snapshot
        self.loaded.set()

    def renumber(self) -> None:
        """Give the pages the versions that the history tells now."""
        with self._mutex:
            if self._snapshot is not None:
                self._use(self._snapshot)

    def open(self) -> bool:
        """Load the index on disk if it fits; False when there is none that can be served."""
        with self._mutex:
            folder = self.state.current(self.key)
            if folder is None:
                return False
            reason = check(folder / "catalog.sqlite")
            opened: IndexFolder | None = None
            try:
                if reason:
                    raise StateError(reason)
                opened = IndexFolder.open(folder, self._open_lexical, keep_hidden=self.keeps_drafts)
                if opened.catalog.meta().get("fingerprint") != self._fingerprint:
                    raise StateError("it was made with other settings")
                loaded = self._load_whole(opened)
            except (StateError, OSError) as error:
                if opened is not None:
                    opened.close()
                if not isinstance(error, BusyError):
                    reason = error.message if isinstance(error, StateError) else str(error)
                    self._health.condemn(reason, folder)
                return False
            self.state.mark_used(self.key)
            self._adopt(opened)
            if loaded is not None:
                self._health.heal()
                attachments = self._snapshot.attachments if self._snapshot else frozenset()
                ledger = self.state.ledger
                self._use(snapshot_loaded(opened, loaded, ledger=ledger, attachments=attachments))
            return loaded is not None

    def _load_whole(self, opened: IndexFolder) -> Loaded | None:
        """Load everything; waits for a writer that is between its commits."""
        deadline = time.monotonic() + _BETWEEN_COMMITS
        while (loaded := opened.load()) is None and time.monotonic() < deadline:
            if self._lock.held:
                break
            time.sleep(0.005)
        return loaded

    def _adopt(self, opened: IndexFolder) -> None:
        # Running calls may still read the one before: its files go when the last of them is done.
        previous, self._opened = self._opened, opened
        if previous is not None and previous is not opened:
            previous.lexical.close()

    def sync(self) -> None:
        """Take over what another process committed. Costs microseconds when nothing moved."""
        if self._lock.held:
            return  # a refresh of this process is at it, and must not be kept from the mutex
        folder = self.state.current(self.key)
        opened, snapshot = self._opened, self._snapshot
        if folder is None or (self._health.reason and self._health.folder == folder):
            return
        if opened is not None and snapshot is not None and opened.path == folder:
            try:
                if opened.catalog.generation() == snapshot.generation:
                    return
            except StateError:
                return  # whoever reads more of it will be told
        if not self._mutex.acquire(timeout=0.0 if self.building.total else _BUSY_SECONDS):
            return
        try:
            self._catch_up(folder)
        finally:
            self._mutex.release()

    def _catch_up(self, folder: Path) -> None:
        """Load what is newer on disk than the snapshot, or another index that took its place."""
        opened, snapshot = self._opened, self._snapshot
        if opened is None or snapshot is None or opened.path != folder:
            self.open()
            return
        if opened.catalog.generation() == snapshot.generation:
            return
        deadline = time.monotonic() + _BETWEEN_COMMITS
        newest = snapshot.newest_rev
        while (loaded := opened.load(since=newest + 1)) is None:
            if self._lock.held or time.monotonic() > deadline:
                return
            time.sleep(0.002)
        present = set(loaded.revs)
        removed = [record for record in snapshot.records.values() if record.rev not in present]
        self._use(
            snapshot.changed(
                removed=removed,
                added=loaded.records,
                generation=loaded.generation,
                searcher=loaded.searcher,
                hidden=loaded.hidden,
                complete=loaded.complete,
            ),
            loaded.records,
        )

    def suspect(self, error: StateError, snapshot: Snapshot) -> None:
        """Take note that reading a snapshot failed: the next refresh makes the index anew."""
        current = self._snapshot
        if current is None or current.catalog is not snapshot.catalog or self._health.reason:
            return
        if self.state.current(self.key) is None:
            self._health.suspect("its folder is gone", None)
        elif isinstance(error, IndexDamaged):
            self._health.suspect(error.message, self._opened.path if self._opened else None)

    # Writing

    def refresh(
        self,
        paths: Collection[str] | None = None,
        *,
        reread: bool = False,
        report: Report | None = None,
    ) -> bool:
        """Bring the index in line with the disk: all of it, or the given page files.

        ``reread`` distrusts the stamps of the given files. Returns False when that cannot be done now:
        another process writes, this one builds, or the disk refuses (``degraded`` says so). Raises
        VaultError when the vault cannot be read and nothing was indexed before.
        """
        if self.building.total:
            return False
        timeout = 0.0 if self.state.progress()[1] else _BUSY_SECONDS
        try:
            with self._lock.hold(timeout=timeout) as mine:
                if not mine:
                    return False
                with self._mutex:
                    self._refresh(paths, reread=reread, report=report)
                    self._write_trouble = ""
                    return True
        except VaultError:
            raise
        except IndexDamaged as error:
            self._health.condemn(error.message, self._opened.path if self._opened else None)
        except LedgerDamaged as error:
            self._close_ledger()
            set_aside(self.state, error)
        except (StateError, OSError) as error:
            self._note_write_trouble(error)
        return False

    def _note_write_trouble(self, error: StateError | OSError) -> None:
        """Go on with what there is when the disk refuses; raise StateError when there is nothing."""
        reason = error.message if isinstance(error, StateError) else f"the disk refuses ({error.strerror})"
        if self._snapshot is None:
            raise StateError(reason) from error
        self._write_trouble = f"{reason}: pages are served as last indexed"

    def _refresh(self, paths: Collection[str] | None, *, reread: bool, report: Report | None) -> None:
        self._catch_up_locked()
        snapshot = self._snapshot
        if self.needs_rebuild or snapshot is None or not snapshot.complete:
            self._build(report)
        elif paths is None:
            self._refresh_all(report)
        elif paths:
            self._refresh_some(paths, reread, report)

    def _catch_up_locked(self) -> None:
        """Load what is newest, and find out whether the last writer came to its end."""
        folder = self.state.current(self.key)
        if folder is None:
            if self._snapshot is not None:
                self._health.condemn("its folder is gone", None)
            return
        if self._health.reason:
            if self._health.folder == folder:
                return
            self._health.heal()  # another process has made it anew
        try:
            self._catch_up(folder)
            if not self._health.reason and self._opened is not None and not self._opened.whole():
                self._health.condemn("a write to it was cut short", folder)
        except BusyError:
            raise
        except StateError as error:  # nobody else writes now: what cannot be read is no index
            self._health.condemn(error.message, folder)

    def _refresh_some(self, paths: Collection[str], reread: bool, report: Report | None) -> None:
        snapshot = self._snapshot
        assert snapshot is not None
        stamps = {path: self.adapter.stat(path) for path in paths}
        changes = compare_some(stamps, snapshot.records, reread=reread)
        gone = {record.path for record in changes.removed}
        if gone and not others_there(self.adapter, gone, snapshot.records):
            self._refresh_all(report)
        else:
            self._apply(changes, report=report)

    def _refresh_all(self, report: Report | None) -> None:
        assert self._snapshot is not None and self._opened is not None
        began = time.monotonic()
        try:
            scan = self.adapter.scan()
            self.walk_seconds = time.monotonic() - began
        except VaultError as error:
            self.vault_trouble = f"{error.message}: its pages are kept as last read"
            return
        skipped = {file.path: file.stamp for file in self._opened.catalog.skipped() if file.stamp}
        changes = compare(scan, self._snapshot.records.whole(), skipped)
        self.vault_trouble = changes.degraded
        if scan.attachments != self._snapshot.attachments:
            self._use(self._snapshot.changed(attachments=scan.attachments), ())
        self._apply(changes, scan=scan, report=report)

    def _apply(self, changes: Changes, *, scan: Scan | None = None, report: Report | None = None) -> None:
        snapshot, opened = self._snapshot, self._opened
        assert snapshot is not None and opened is not None
        if not changes and not changes.absent:
            before = opened.catalog.skipped()
            if scan is None or skipped_by_walk(scan, before) == before:
                return
        writer = self._writer(opened)
        applied = writer.apply(changes, snapshot.records, scan=scan, progress=report)
        if applied.moved_on or applied.restamped:
            self._use(snapshot_after(applied, snapshot, opened), applied.added)

    def _writer(self, opened: IndexFolder) -> IndexWriter:
        if self._ledger is None:
            self._ledger = open_ledger(self.state)
        self._ledger.seed(_entries(self._snapshot))
        return IndexWriter(
            adapter=self.adapter,
            folder=opened,
            ledger=self._ledger,
            sources=self._sources,
            number=self._number,
        )

    def _number(self, page: PageRecord) -> int:
        """Return the version that a page is shown at."""
        if self.history is None:
            return page.version
        moves = self._snapshot.moves if self._snapshot is not None else {}
        return self.history.counts.version(page, moves.get(page.path, ""))

    # Building

    def rebuild(self, *, report: Report | None = None) -> None:
        """Make the index anew beside the old one and swap it in."""
        with self._lock.hold(timeout=600.0) as mine:
            if not mine:
                raise StateError("another process has been writing the index for ten minutes")
            with self._mutex:
                self._build(report)

    def renew(self) -> bool:
        """Make the index anew where many edits have worn it out; returns whether they had."""
        opened = self._opened
        try:
            if opened is None or self.building.total or opened.lexical.waste() < _WORN:
                return False
        except StateError:
            return False  # whoever reads it will find out why
        log.info("the index is made anew: much of it is deleted")
        self.rebuild()
        return True

    def _build(self, report: Report | None) -> None:
        scan = self.adapter.scan()
        total = len(scan.files)
        old = self._snapshot
        serve_old = old is not None and old.complete and not self._health.reason

        def tell(stage: str, done: int) -> None:
            if self._closing:
                raise StateError("the index is not made to its end: the server stops")
            self.building = Progress(done, max(total, 1))
            self.state.tell_progress(done, max(total, 1))
            if report:
                report(stage, done, total)

        meta = {"fingerprint": self._fingerprint, "adapter": self.adapter.name, "complete": "0"}
        tell("reading", 0)
        folder = self.state.new_index()
        try:
            opened = IndexFolder.create(folder, self._open_lexical, keep_hidden=self.keeps_drafts, meta=meta)
            writer = self._writer(opened)
            writer.retire_absent(scan)
            for snapshot in fill(opened, scan, writer=writer, ledger=self.state.ledger, tell=tell):
                if snapshot.complete or not serve_old:
                    self.state.publish(self.key, folder)
                    self._adopt(opened)
                    self._use(snapshot)
        except BaseException:
            if self._opened is None or self._opened.path != folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            self.building = Progress()
            self.state.end_progress()
        self._health.heal()
        self.vault_trouble = compare(scan, snapshot.records.whole()).degraded

    def stop(self) -> None:
        """End a build that is under way at its next batch of files; what was served stays."""
        self._closing = True

    def close(self) -> None:
        """Release files and locks."""
        self.stop()
        with self._mutex:
            if self._opened is not None:
                self._opened.close()
                self._opened = None
            self._close_ledger()
            self.state.close()

    def _close_ledger(self) -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()


def _entries(snapshot: Snapshot | None) -> Iterator[Entry]:
    """Yield what a snapshot knows for a new ledger; no page is looked at before the first is asked for."""
    for page in snapshot.records.values() if snapshot is not None else ():
        declared = "" if page.id_derived else page.canonical_id
        yield Entry(page.path, declared, page.content_hash, page.version, False)
