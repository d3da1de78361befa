"""The live index of one process: first load, following the vault, and views for its readers.

Every process freshens before it answers; one process at a time, the holder of the leader lock,
also does what nobody waits for: it follows edits between calls and grows the vectors.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from wikimcp.errors import StateError, Unavailable, WikimcpError
from wikimcp.index.changes import other_content
from wikimcp.index.dense_state import DenseState
from wikimcp.index.embedding import EmbedderVectors
from wikimcp.index.freshness import Freshness
from wikimcp.index.history import COMMAND_SECONDS, PASS_SECONDS
from wikimcp.index.lock import ProcessLock
from wikimcp.index.memory import give_back
from wikimcp.index.page_record import PageRecord
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.store import IndexStore
from wikimcp.index.view import Reading, View
from wikimcp.models import ANONYMOUS, Audience

log = logging.getLogger("wikimcp.index")

_TICK = 0.1  # seconds between two looks of the background threads
_START_IS_OVER = 1.0  # seconds after the start's reconciling, when its first calls are answered
_BETWEEN_COMMITS = 1.0  # seconds between two looks whether git's HEAD has moved
_RETRY = 1.0  # seconds between two tries to begin where beginning failed
_QUIET = 300.0  # seconds without an edit before what edits have worn out is made anew
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
        self.freshness = Freshness(store, watch=watch)
        self._wait_seconds = wait_seconds
        self._leader = ProcessLock(store.state.root / f"leader-{store.key}.lock")
        self._stop = threading.Event()
        self._settled = threading.Event()
        self._failure: WikimcpError | None = None
        self._tried = 0.0
        self._threads: list[threading.Thread] = []
        self._views: dict[Audience, View] = {}
        self._views_mutex = threading.Lock()
        self._better_on = False
        self._listeners: list[Callable[[], None]] = []
        self._works: list[Callable[[], None]] = []
        self._announced: Snapshot | None = None

    # Life

    def start(self) -> None:
        """Load, reconcile and watch in the background; returns at once."""
        for target in (self._follow, self._embed, self._number, self._work_ahead):
            thread = threading.Thread(target=target, name=f"wikimcp{target.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Stop the threads and release locks and files. Idempotent."""
        if self._stop.is_set():
            return
        self._stop.set()
        self.store.stop()
        self.store.loaded.set()
        for thread in self._threads:
            thread.join(timeout=1.0)
        self.freshness.close()
        self._leader.release()
        self.store.close()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever a snapshot or the vectors in use may have changed."""
        self._listeners.append(listener)

    def work_ahead(self, work: Callable[[], None]) -> None:
        """Call ``work`` once after the start, when nobody waits for it, in the process that leads."""
        self._works.append(work)

    def _work_ahead(self) -> None:
        while not self._stop.wait(_START_IS_OVER):
            if self._settled.is_set() and self._leader.held and self._failure is None:
                for work in self._works:
                    try:
                        work()
                    except WikimcpError:
                        pass  # whoever asks is told
                    except Exception:
                        log.exception("working ahead failed")
                return

    def open(self, *, report: Report | None = None) -> None:
        """Load the index and bring it in line with the disk, in this thread.

        Leaves it unsettled while another process is making the index.
        """
        self._tried = time.monotonic()
        try:
            if self.store.snapshot is None:
                self.store.open()
            self.freshness.begin()
            if self.store.refresh(report=report):
                self.freshness.note_walk()
                self._settled.set()
            else:
                self.store.sync()
            self._failure = None
        except WikimcpError as error:
            self._failure = error
            self._settled.set()
            if not self._stop.is_set():
                log.error("%s", error)
        finally:
            self._announce()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                if self._failure is not None:
                    if time.monotonic() - self._tried > _RETRY:
                        self.open()
                elif not self._settled.is_set():
                    self.open()
                    if self._settled.is_set():  # what a build or a load left behind would stay as long as we
                        give_back()
                elif self.store.needs_rebuild:
                    self.store.refresh()
                    self._announce()
                elif self._leader.held or self._leader.acquire(timeout=0):
                    self.freshen()
                    self.freshness.sweep()
                    if self.freshness.quiet_seconds > _QUIET:
                        self.store.renew()
                    self._announce()
                else:
                    self.store.sync()
                    self._announce()
            except (WikimcpError, OSError) as error:
                log.warning("%s", error)
            except Exception:
                log.exception("following the vault failed; trying again")
            self._stop.wait(_TICK)

    # Freshness

    def freshen(self) -> None:
        """Bring the snapshot in line with all that happened before this call. Called before answers."""
        if self._settled.is_set() and self._failure is None:
            self.freshness.freshen()
        else:
            self.store.sync()
        self._announce()

    def scan(self) -> None:
        """Walk the whole vault and refresh what differs."""
        self.freshness.walk()
        self._announce()

    def doubt(self, paths: Collection[str]) -> None:
        """Have files read again that an answer found to be other than indexed."""
        self.freshness.doubt(paths)

    def moved(self) -> bool:
        """Whether anything has moved on disk since the last look that the index does not know yet."""
        return self.freshness.peek()

    def mend(self, error: StateError, snapshot: Snapshot) -> None:
        """Have an index made anew that could not be read, and wait a moment for it."""
        self.store.suspect(error, snapshot)
        if not self._threads:
            self.store.refresh()
            return
        deadline = time.monotonic() + self._wait_seconds
        while self.store.needs_rebuild and time.monotonic() < deadline and not self._stop.is_set():
            self._stop.wait(_TICK / 4)

    def _announce(self) -> None:
        """Tell the listeners when there is another snapshot than the last time."""
        snapshot = self.store.snapshot
        if snapshot is not self._announced or self._failure is not None:
            self._announced = snapshot
            for listener in self._listeners:
                listener()

    # Reading

    def reading(self, audience: Audience = ANONYMOUS, *, without: Collection[str] = ()) -> Reading:
        """Return a handle on what is there now for an audience.

        Pages at paths ``without``, and those that moved but could not be taken into the index yet, are
        left out. Waits a moment for the first load. Raises Unavailable with the progress while there is
        nothing to read yet, or the error that keeps the index from being made.
        """
        snapshot = self._awaited()
        left_out = {path for path in (*without, *self.freshness.behind) if path in snapshot.records}
        if left_out:
            view = View(snapshot.without(left_out), audience, self.store.adapter)
        else:
            view = self.view(snapshot, audience)
        static = self.floor.load() if self.floor is not None else None
        return Reading(
            view,
            dense=self._dense(view),
            static=static if static and static.count else None,
            left_out=frozenset(left_out),
            history=self.store.history,
        )

    def _awaited(self) -> Snapshot:
        """Return the newest snapshot; wait a moment where there is none, or none in line with the disk."""
        deadline = time.monotonic() + self._wait_seconds
        if not self._settled.is_set():
            while self.store.snapshot is None and self._failure is None and time.monotonic() < deadline:
                if self.store.loaded.wait(timeout=_TICK):
                    break
            if (snapshot := self.store.snapshot) is not None and snapshot.complete:
                self._settled.wait(timeout=max(0.0, deadline - time.monotonic()))
        snapshot = self.store.snapshot
        if snapshot is None:
            raise self._failure or self.unfinished()
        return snapshot

    def unfinished(self) -> Unavailable:
        """Return the error of an index that is still being made."""
        return Unavailable(str(self.store.progress()), hint="Ask again in a few seconds.")

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

    @property
    def failure(self) -> WikimcpError | None:
        """What keeps the index from being made, if anything does."""
        return self._failure

    def stale(self, pages: Iterable[PageRecord]) -> list[str]:
        """Return the paths of pages whose files are not as they were when indexed."""
        stat, trouble = self.store.adapter.stat, bool(self.store.vault_trouble)
        found = ((page, stat(page.path)) for page in pages)
        # In a vault that cannot be seen nothing is there; that is no reason to drop it.
        return [page.path for page, now in found if now != page.stamp and not (now is None and trouble)]

    def verify(self, *, report: Report | None = None) -> None:
        """Compare the hash of every file with the indexed one: a stamp can stay as it was over an edit."""
        if (snapshot := self.store.snapshot) is not None:
            other = other_content(self.store.adapter, snapshot.records.values(), report=report)
            if other:
                self.doubt(other)
                self.freshen()

    def rebuild(self, *, report: Report | None = None) -> None:
        """Make the index anew beside the old one and swap it in."""
        self.store.rebuild(report=report)
        self._announce()

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
            age_seconds=round(time.monotonic() - self.freshness.verified),
            dense=dense,
        )

    def _state(self, snapshot: Snapshot) -> str:
        if not snapshot.complete:
            return "building"
        if self.store.degraded or self.store.state.note:
            return "degraded"
        return "ready" if self._settled.is_set() and not self.freshness.pending else "reconciling"

    def _pending(self, view: View, state: DenseState | None) -> tuple[int, str]:
        if self.floor is None and self.better is None:
            return 0, "off"
        if state is None:
            return sum(page.chunk_count for page in view.pages), "warming" if view.pages else "ready"
        missing = view.chunk_rows(state).missing
        return missing, "warming" if missing else "ready"

    # Versions

    def _number(self) -> None:
        """Give the pages the versions that git knows, behind all else; from what is kept at first."""
        pause, loaded = _TICK / 4, False
        while not self._stop.wait(pause):
            if self.store.snapshot is None:
                continue
            # What is kept comes first; git is asked once the first calls are over.
            leads = loaded and self._settled.is_set() and self._leader.held
            loaded = True
            pause = _BETWEEN_COMMITS
            try:
                self.number(seconds=PASS_SECONDS if leads else 0)
            except Exception:
                log.exception("reading the history of versions failed")

    def number(self, *, seconds: float) -> None:
        """Take over the versions that are kept, brought in line with git first if there is time for it."""
        history = self.store.history
        if history is None:
            return
        if history.refresh(self._stop, seconds=seconds) if seconds else history.load():
            self.store.renumber()
            self._announce()

    # Vectors

    def _embed(self) -> None:
        done: Snapshot | None = None
        while not self._stop.wait(_TICK):
            snapshot = self.store.snapshot
            if snapshot is None or snapshot is done or not self._leader.held:
                continue
            try:
                if not self.grow():
                    continue  # another process appends vectors
            except WikimcpError as error:
                log.warning("%s", error)
            except Exception:
                log.exception("embedding failed")
            done = snapshot

    def grow(self, *, report: Report | None = None) -> bool:
        """Embed every chunk that lacks a vector: the floor first, then the better embedder.

        Returns False when another process is at it.
        """
        wanted = [vectors for vectors in (self.floor, self.better) if vectors is not None]
        return all([self._grow(vectors, report=report) for vectors in wanted])

    def _grow(self, vectors: EmbedderVectors, *, report: Report | None) -> bool:
        with vectors.lock.hold(timeout=0) as mine:
            snapshot = self.store.snapshot
            if mine and snapshot is not None:
                pages = snapshot.embedded(drafts=self.store.keeps_drafts)
                vectors.grow(snapshot, self.store.adapter, pages, stop=self._stop, report=report)
        return mine

    def wait(
        self,
        *,
        vectors: str = "floor",
        history_seconds: float = COMMAND_SECONDS,
        report: Report | None = None,
    ) -> None:
        """Do the work of the background here and now.

        ``vectors`` says how far: ``none`` is the lexical index, ``floor`` the first embedder's
        vectors, ``all`` those of the better one too. Reading git's history may take ``history_seconds``.
        Raises what keeps the index from being made.
        """
        while not self._settled.is_set() and not self._stop.is_set():
            if not self._threads:
                self.open(report=report)
            if not self._settled.wait(timeout=_TICK) and report:
                at = self.store.progress()
                report("reading", at.done, at.total)
        if self._failure is not None:
            raise self._failure
        if not self._threads:
            self.number(seconds=history_seconds)
        wanted = {"none": (), "floor": (self.floor,), "all": (self.floor, self.better)}[vectors]
        for embedder in wanted:
            while embedder is not None and not self._stop.is_set() and self._lacking(embedder):
                if self._grow(embedder, report=report):
                    break
                time.sleep(_TICK)  # another process embeds: its vectors will do

    def _lacking(self, vectors: EmbedderVectors) -> int:
        """Return how many chunks of the newest snapshot an embedder has no vector for."""
        snapshot = self.store.snapshot
        return self.view(snapshot, ANONYMOUS).chunk_rows(vectors.load()).missing if snapshot else 0
