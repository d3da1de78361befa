"""Keeps one process's index fresh: first load, reconciling, watching, embedding behind the answers.

Every process freshens before it answers; one process at a time, the holder of the leader lock,
also does what nobody waits for: it follows edits between calls and grows the vectors.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import Unavailable, WikimcpError
from wikimcp.index.dense_state import DenseState
from wikimcp.index.embedding import EmbedderVectors
from wikimcp.index.lock import ProcessLock
from wikimcp.index.records import PageRecord
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.store import IndexStore
from wikimcp.index.view import Reading, View
from wikimcp.index.watch import VaultWatcher
from wikimcp.models import ANONYMOUS, Audience

log = logging.getLogger("wikimcp.index")

_PAGE_SUFFIXES = (".md", ".markdown", ".org")
_TICK = 0.1  # seconds between two looks at the watcher by the leader
_SWEEP = 60.0  # seconds between full walks where the watcher works
# Where nothing can be watched, a walk precedes every answer while it is cheap; a longer one stays
# good for some multiple of the time it takes.
_CHEAP_SWEEP = 0.02
_SWEEP_SHARE = 10.0
_OTHER_FILES_SWEEP = 2.0  # seconds between walks for files that are no pages
_STAY_SHARE = 0.1  # a better embedder that took over stays while it lacks less than this
Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class IndexStamp:
    """The state of the index as every result carries it.

    ``pending`` counts chunks without a vector; ``age_seconds`` is how long ago the index was last
    known to be in line with the disk.
    """

    generation: int
    state: str
    pages: int
    pending: int
    skipped: int
    age_seconds: int
    dense: str


class IndexKeeper:
    """The live index of one process."""

    def __init__(
        self,
        store: IndexStore,
        *,
        floor: EmbedderVectors | None,
        better: EmbedderVectors | None = None,
        watch: bool = True,
        wait_seconds: float = 2.0,
    ) -> None:
        self.store = store
        self.floor = floor
        self.better = better
        self._watch = watch
        self._wait_seconds = wait_seconds
        self._watcher: VaultWatcher | None = None
        self._leader = ProcessLock(store.state.root / "leader.lock")
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._settled = threading.Event()
        self._failure: WikimcpError | None = None
        self._scanned = 0.0
        self._verified = time.monotonic()
        self._scan_wanted = False
        self._sweep_good_for = 0.0
        self._threads: list[threading.Thread] = []
        self._views: dict[Audience, View] = {}
        self._views_mutex = threading.Lock()
        self._better_on = False
        self._listeners: list[Callable[[], None]] = []

    # Life

    def start(self) -> None:
        """Load, reconcile and watch in the background; returns at once."""
        for target in (self._follow, self._embed):
            thread = threading.Thread(target=target, name=f"wikimcp{target.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Stop the threads and release locks and files. Idempotent."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._ready.set()
        for thread in self._threads:
            thread.join(timeout=1.0)
        if self._watcher is not None:
            self._watcher.close()
        self._leader.release()
        self.store.close()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever a snapshot or the vectors in use may have changed."""
        self._listeners.append(listener)

    def open(self, *, report: Report | None = None) -> None:
        """Load the index and bring it in line with the disk, in this thread."""
        try:
            self.store.open()
            if self.store.snapshot is not None:
                self._ready.set()
            if self._watch and self._watcher is None:
                self._watcher = VaultWatcher(self.store.adapter.source_root)
            self._scanned = time.monotonic()
            self.store.refresh(report=report)
            self._verified = time.monotonic()
            self._failure = None
        except WikimcpError as error:
            self._failure = error
            log.error("%s", error)
        finally:
            self._ready.set()
            self._settled.set()
            self._announce()

    def _follow(self) -> None:
        self.open()
        while not self._stop.wait(_TICK):
            try:
                if self._failure is not None or self.store.snapshot is None:
                    self._retry()
                elif self._leader.held or self._leader.acquire(timeout=0):
                    self.freshen()
                    due = _OTHER_FILES_SWEEP if self._scan_wanted else _SWEEP
                    if time.monotonic() - self._scanned > due:
                        self.scan()
            except WikimcpError as error:
                log.warning("%s", error)
            except Exception:
                log.exception("following the vault failed; trying again")

    def _retry(self) -> None:
        """Try again after a failed start: the vault may be there now, or be indexed by another process."""
        if time.monotonic() - self._scanned < 1.0:
            return
        self._scanned = time.monotonic()
        self.open()

    # Freshness

    def freshen(self) -> None:
        """Bring the snapshot in line with all that is known to have changed. Called before answers."""
        self.store.sync()
        watcher = self._watcher
        if watcher is not None and watcher.healthy:
            moved = watcher.drain()
            if moved:
                self._take(moved)
            if self._settled.is_set() and watcher.healthy:
                self._verified = time.monotonic()
        elif self._settled.is_set() and time.monotonic() - self._scanned >= self._sweep_good_for:
            self.scan()

    def scan(self) -> None:
        """Walk the whole vault and refresh what differs."""
        started, before = time.monotonic(), self.store.snapshot
        self._scan_wanted = False
        self.refresh(None)
        self._scanned = self._verified = time.monotonic()
        if self.store.snapshot is before:  # the time of a walk alone, without the work of a change
            took = self._scanned - started
            self._sweep_good_for = 0.0 if took < _CHEAP_SWEEP else _SWEEP_SHARE * took

    def refresh(self, paths: Collection[str] | None, *, reread: bool = False) -> None:
        """Refresh page files by path, or everything; ``reread`` distrusts the stamps of files."""
        before = self.store.snapshot
        self.store.refresh(paths, reread=reread)
        if self.store.snapshot is not before:
            self._announce()

    def _take(self, moved: Iterable[str]) -> None:
        root = self.store.adapter.source_root
        pages: set[str] = set()
        walk = False
        for absolute in moved:
            path = _relative(absolute, root)
            if path is None or any(part.startswith(".") for part in path.split("/")[:-1]):
                # Below a dot folder only its settings matter, and they change which pages there are.
                walk = walk or absolute.endswith((".obsidian/app.json",))
            elif path.lower().endswith(_PAGE_SUFFIXES):
                pages.add(path)
            elif not os.path.isfile(absolute):
                walk = True  # a folder came or went: watchers tell nothing of the files in it
            else:
                self._scan_wanted = True
        known = self.store.snapshot.records if self.store.snapshot else {}
        if walk or not pages <= known.keys():
            # A page that is new may be one that was renamed: both ends must be seen at once.
            self.scan()
        elif pages:
            self.refresh(pages)

    def _announce(self) -> None:
        for listener in self._listeners:
            listener()

    # Reading

    def reading(self, audience: Audience = ANONYMOUS) -> Reading:
        """Return a handle on what is there now for an audience.

        Waits a moment for the first load. Raises Unavailable with the progress while there is
        nothing to read yet, or the error that keeps the index from being made.
        """
        self._settled.wait(timeout=self._wait_seconds)
        snapshot = self.store.snapshot
        if snapshot is None:
            if self._failure is not None:
                raise self._failure
            at = self.store.building
            raise Unavailable(
                f"the index is being built: {at.done} of {at.total} files so far",
                hint="Ask again in a few seconds.",
            )
        view = self.view(snapshot, audience)
        static = self.floor.load() if self.floor is not None else None
        return Reading(view, dense=self._dense(view), static=static if static and static.count else None)

    def view(self, snapshot: Snapshot, audience: Audience) -> View:
        """Return what an audience may see of a snapshot, shared by all its calls."""
        with self._views_mutex:
            found = self._views.get(audience)
            if found is None or found.snapshot is not snapshot:
                if len(self._views) > 32:
                    self._views.clear()
                found = View(snapshot, audience, self.store.adapter, previous=found)
                self._views[audience] = found
            return found

    def _dense(self, view: View) -> DenseState | None:
        """Return the vectors that answer: the better ones once they cover every chunk."""
        if self.better is not None:
            state = self.better.load()
            if state.count:
                rows = view.chunk_rows(state)
                share = _STAY_SHARE if self._better_on else 0.0
                self._better_on = rows.missing <= share * rows.total
                if self._better_on:
                    return state
        if self.floor is None:
            return None
        state = self.floor.load()
        return state if state.count else None

    @property
    def settled(self) -> bool:
        """Whether the start's reconciling with the disk is done."""
        return self._settled.is_set()

    def stale(self, pages: Iterable[PageRecord]) -> list[str]:
        """Return the paths of pages whose files are not as they were when indexed."""
        stat = self.store.adapter.stat
        return [page.path for page in pages if stat(page.path) != page.stamp]

    def stamp(self, reading: Reading | None) -> IndexStamp:
        """Return the state of the index for a result that was read from ``reading``."""
        snapshot = reading.view.snapshot if reading else self.store.snapshot
        if snapshot is None:
            return IndexStamp(0, "building", 0, 0, 0, 0, "off" if self.floor is None else "warming")
        view = reading.view if reading else self.view(snapshot, ANONYMOUS)
        pending, dense = self._pending(view, reading.dense if reading else self._dense(view))
        return IndexStamp(
            generation=snapshot.generation,
            state=self._state(snapshot),
            pages=len(view.pages),
            pending=pending,
            skipped=view.skipped_count,
            age_seconds=round(time.monotonic() - self._verified),
            dense=dense,
        )

    def _state(self, snapshot: Snapshot) -> str:
        if self.store.degraded or self.store.state.note:
            return "degraded"
        if not snapshot.complete:
            return "building"
        return "ready" if self._settled.is_set() else "reconciling"

    def _pending(self, view: View, state: DenseState | None) -> tuple[int, str]:
        if self.floor is None and self.better is None:
            return 0, "off"
        if state is None:
            return sum(page.chunk_count for page in view.pages), "warming" if view.pages else "ready"
        missing = view.chunk_rows(state).missing
        return missing, "warming" if missing else "ready"

    # Vectors

    def _embed(self) -> None:
        done: tuple[int, bool] | None = None
        while not self._stop.wait(_TICK):
            snapshot = self.store.snapshot
            if snapshot is None or not self._leader.held or done == (id(snapshot), True):
                continue
            try:
                self.grow(stop=self._stop)
                done = (id(snapshot), self.store.snapshot is snapshot)
            except WikimcpError as error:
                log.warning("%s", error)
                done = (id(snapshot), True)
            except Exception:
                log.exception("embedding failed")
                done = (id(snapshot), True)

    def grow(self, *, stop: threading.Event | None = None, report: Report | None = None) -> None:
        """Embed every chunk that lacks a vector: the floor first, then the better embedder."""
        for vectors in (self.floor, self.better):
            if vectors is not None:
                self._grow(vectors, stop=stop or self._stop, report=report)

    def _grow(self, vectors: EmbedderVectors, *, stop: threading.Event, report: Report | None) -> None:
        snapshot = self.store.snapshot
        if snapshot is not None:
            pages = self._embedded_pages(snapshot)
            vectors.grow(snapshot, self.store.adapter, pages, stop=stop, report=report)
            self._announce()

    def _embedded_pages(self, snapshot: Snapshot) -> Sequence[PageRecord]:
        if snapshot.hidden is not None:
            return list(snapshot.records.values())
        return snapshot.visible(ANONYMOUS)

    def wait(self, *, vectors: str = "floor", report: Report | None = None) -> None:
        """Do the work of the background here and now.

        ``vectors`` says how far: ``none`` is the lexical index, ``floor`` the first embedder's
        vectors, ``all`` those of the better one too. Raises what keeps the index from being made.
        """
        if not self._settled.is_set() and not self._threads:
            self.open(report=report)
        self._settled.wait()
        if self._failure is not None:
            raise self._failure
        wanted = {"none": (), "floor": (self.floor,), "all": (self.floor, self.better)}[vectors]
        for embedder in wanted:
            while embedder is not None and not self._stop.is_set() and self._lacking(embedder):
                if self._leader.held or self._leader.acquire(timeout=0):
                    self._grow(embedder, stop=self._stop, report=report)
                    break
                time.sleep(_TICK)  # another process embeds: its vectors will do

    def _lacking(self, vectors: EmbedderVectors) -> int:
        """Return how many chunks of the newest snapshot an embedder has no vector for."""
        snapshot = self.store.snapshot
        return self.view(snapshot, ANONYMOUS).chunk_rows(vectors.load()).missing if snapshot else 0


def _relative(absolute: str, root: Path) -> str | None:
    prefix = f"{root}{os.sep}"
    if not absolute.startswith(prefix):
        return None
    return absolute[len(prefix) :].replace(os.sep, "/")
