"""The store's side of the worker: starts it, keeps its data sets in line, asks it, and survives its death."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikimcp.errors import QueryRejected, TimedOut, Unavailable
from wikimcp.ports import TripleAnswer, TripleLimits, TripleSet
from wikimcp.triples import frames
from wikimcp.triples.copies import head_of, read_copy
from wikimcp.triples.gate import check_text
from wikimcp.triples.processes import PendingAnswer, Worker
from wikimcp.triples.terms import ID

_BEGIN_SECONDS = 10.0  # that no query began: the worker hangs, however much else the machine has to do
_GRACE = 0.3  # seconds after its limit in which the kernel has ended a query, on a machine that has not
_LATEST = 0.5  # seconds after the limit, counted from the asking, at which whoever asked is answered
_MOST_DATA_SETS = 4
_MOST_AT_ONCE = 4
_BATCH = 1 << 18  # bytes of lines in one frame
_MOST_DROPS = 20_000  # pieces of a data set; each leaves a little memory in an engine, so it is loaded anew
_MOST_GONE = 0.5  # share of the pieces of a copy that others took the place of
_BETWEEN_COPIES = 60.0  # seconds between two copies of one data set
_HAND_OVER_SECONDS = 1.0  # that a copy may keep the store from closing
_TROUBLE_SECONDS = 30.0
_PAGE = f"{ID}page:"
_NOT_RUNNING = "the SPARQL worker process cannot run here"


@dataclass(frozen=True, slots=True)
class _Held:
    """What the worker has of a data set."""

    mark: str
    signatures: Mapping[str, str]


class WorkerStore:
    """A TripleStore in a process of its own, which starts at the first query and comes back when it dies.

    ``command`` makes the worker, in the way that ``way`` speaks to it. Safe to use from several threads:
    queries run beside each other where each has a process.
    """

    def __init__(self, command: Iterable[str], limits: TripleLimits, way: type[Worker]) -> None:
        self._command = tuple(command)
        self._limits = limits
        self._way = way
        self._mutex = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE if way.forks else 1)
        self._worker: Worker | None = None
        self._held: dict[str, _Held] = {}
        self._dropped: Counter[str] = Counter()
        self._copied: dict[str, tuple[str, float]] = {}  # by name: mark of the newest copy, when it was made
        self._saving = 0  # copies that the worker was told to make and has not answered for
        self._late_since = 0.0  # when the first of the queries was asked that did not begin; 0 when one did
        self._closed = False
        self._trouble = ("", 0.0)

    @property
    def trouble(self) -> str:
        """Why no query can run, for a while after that was found; empty when they can."""
        reason, since = self._trouble
        return reason if reason and time.monotonic() - since < _TROUBLE_SECONDS else ""

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker; None when none runs."""
        worker = self._worker
        return worker.pid if worker is not None else None

    def query(self, text: str, data: TripleSet, *, limit: int) -> TripleAnswer:
        """Run one query; see ports.TripleStore."""
        check_text(text)
        if not self._places.acquire(timeout=self._limits.seconds):
            raise Unavailable("other queries are running", hint="Ask again in a moment.")
        try:
            answer = self._asked(text, data, limit)
            if answer is None:
                answer = self._asked(text, data, limit, settled=True)
            assert answer is not None  # nothing waits to be loaded by now
            self._keep_copy(data)
            return answer
        except OSError as error:
            raise self._broken(error) from error
        finally:
            self._places.release()

    def prepare(self, data: TripleSet) -> bool:
        """Start the worker and load a data set before anybody asks; see ports.TripleStore."""
        if data.place is None or not data.place.exists() or self._worker is not None:
            return False
        try:
            with self._mutex:
                if not self._closed:
                    self._bring_in_line(self._begin(), data, settled=True)
        except (OSError, EOFError):
            self._condemn()
            return False  # whoever asks is told why
        return True

    def close(self) -> None:
        """End the worker and all its queries. Idempotent."""
        self._closed = True
        worker = self._worker
        if worker is not None:
            self._see_off_copies()
            worker.kill()
        with self._mutex:
            self._end()

    # Asking

    def _asked(self, text: str, data: TripleSet, limit: int, *, settled: bool = False) -> TripleAnswer | None:
        """Ask once; None where the query touches what is not loaded yet."""
        asked = self._hand_over(text, data, limit, settled=settled)
        try:
            return self._awaited(asked)
        finally:
            asked.close()

    def _hand_over(self, text: str, data: TripleSet, limit: int, *, settled: bool) -> PendingAnswer:
        """Bring the data set in line and send the query; once more with a new worker when this one died."""
        request = {
            "text": text,
            "dataset": data.name,
            "limit": limit,
            "most_bytes": self._limits.most_bytes,
            "seconds": self._limits.seconds,
            "memory_bytes": self._limits.memory_bytes,
        }
        payload = json.dumps(request).encode()
        with self._mutex:
            for attempt in (1, 2):
                try:
                    worker = self._begin()
                    self._bring_in_line(worker, data, settled=settled)
                    asked = worker.ask(payload)
                    self._trouble = ("", 0.0)
                    return asked
                except (OSError, EOFError) as error:
                    self._end()
                    if attempt == 2 or self._closed or isinstance(error, TimeoutError):
                        raise self._broken(error) from error
        raise AssertionError("not reached")

    def _awaited(self, asked: PendingAnswer) -> TripleAnswer | None:
        """Read the answer. Where queries have processes the kernel ends them, even when nobody waits."""
        forks, limit = self._way.forks, self._limits.seconds
        latest = time.monotonic() + limit + _LATEST
        self._await_begin(asked, latest)
        began = time.monotonic()
        try:
            data = asked.whole(min(began + limit + _GRACE, latest) if forks else began + limit)
        except TimeoutError:
            if not forks:
                self._condemn()
            raise self._out_of_time() from None
        if data is not None:
            answer = json.loads(data)
            return None if answer.get("error") == "not_loaded" else self._answer_of(answer)
        if not forks:
            self._condemn()  # it died of the query; nobody may take it for alive until the system says so
        if self._closed or (forks and self.worker_pid is None):
            raise Unavailable("the SPARQL worker was ended", hint="Ask again.")
        if time.monotonic() - began >= limit * 0.9:
            raise self._out_of_time()
        raise self._out_of_memory()

    def _await_begin(self, asked: PendingAnswer, latest: float) -> None:
        """Wait until a query begins. A busy machine may let it wait; a worker where none does is ended."""
        forks = self._way.forks
        now = time.monotonic()
        try:
            if not asked.begun(latest - now if forks else _BEGIN_SECONDS):
                if not forks:
                    self._condemn()
                raise Unavailable("the query's process ended before it began", hint="Ask again.")
        except TimeoutError as error:
            self._late_since = self._late_since or now
            if forks and time.monotonic() - self._late_since < _BEGIN_SECONDS:
                raise self._out_of_time() from None
            self._condemn()
            raise self._broken(error) from error
        self._late_since = 0.0

    def _answer_of(self, answer: Mapping[str, Any]) -> TripleAnswer:
        match answer.get("error"):
            case None:
                rows = tuple(
                    tuple(None if term is None else tuple(term) for term in row)
                    for row in answer.get("rows", ())
                )
                return TripleAnswer(
                    kind=answer["kind"],
                    columns=tuple(answer.get("columns", ())),
                    rows=rows,
                    truth=bool(answer.get("truth")),
                    turtle=tuple(answer.get("turtle", ())),
                    truncated=bool(answer.get("truncated")),
                    fixed=bool(answer.get("fixed", True)),
                )
            case "memory":
                raise self._out_of_memory()
            case "unavailable":
                raise Unavailable(answer["message"], hint="Ask again in a moment.")
        raise QueryRejected(answer["message"], hint=answer["hint"])

    def _out_of_time(self) -> TimedOut:
        return TimedOut(
            f"the query was stopped after {self._limits.seconds:g} seconds",
            hint="Join on fewer things, bind a page, tag or cluster first, or count less at once.",
        )

    def _out_of_memory(self) -> QueryRejected:
        return QueryRejected(
            f"the query was stopped: it needs more than {self._limits.memory_bytes >> 20} MB, or is too deep",
            hint="Join on fewer things, or ask for less at once.",
        )

    # The worker

    def _begin(self) -> Worker:
        """Return the worker, which is started if none runs."""
        if self._closed:
            raise Unavailable("the server is stopping")
        if self._worker is None or self._worker.pid is None:
            self._end()
            self._worker = self._way.start(self._command)
        return self._worker

    def _bring_in_line(
        self, worker: Worker, data: TripleSet, *, settled: bool = False, by_copy: bool = True
    ) -> None:
        """Send what a data set lacks and drop what it has too much; a new one begins with its copy.

        Of a copy only what most queries touch is loaded at once, all of it where it is to be ``settled``.
        """
        held = self._held.pop(data.name, None)
        if held is None or self._dropped[data.name] > _MOST_DROPS:
            held = None
            self._make_room(worker, data.name)
        if held is not None and held.mark == data.mark:
            self._held[data.name] = held  # the last used stays longest
            if settled:
                self._sync(worker, settled=True)
            return
        worker.send(frames.OPEN, data.name.encode())
        copy = read_copy(data.place) if held is None and by_copy and data.place is not None else None
        if copy is not None:
            worker.send(frames.LOAD, copy.body)
            held = _Held(copy.mark, copy.signatures)
        if held is None or held.mark != data.mark:
            before = held.signatures if held is not None else {}
            if copy is not None and _share_gone(before, data.signatures) > _MOST_GONE:
                before, copy = {}, None  # another wiki by now: to drop the most of it takes longest
                worker.send(frames.FORGET, data.name.encode())
                worker.send(frames.OPEN, data.name.encode())
            self._send_changes(worker, data, before)
            held = _Held(data.mark, data.signatures)
        if not self._sync(worker, settled=settled):  # the copy is damaged
            self._bring_in_line(worker, data, by_copy=False)
            return
        if copy is not None:
            self._copied[data.name] = (copy.mark, 0.0)
        self._held[data.name] = held

    def _sync(self, worker: Worker, *, settled: bool) -> bool:
        """Wait until the worker has done what it was told; False where a copy was damaged."""
        if settled:
            worker.send(frames.SETTLE)
        worker.send(frames.SYNC)
        kind, failed = worker.receive()
        while kind == frames.SAVE:  # of a copy that was made before
            self._saving -= 1
            kind, failed = worker.receive()
        return not failed

    def _make_room(self, worker: Worker, name: str) -> None:
        while len(self._held) >= _MOST_DATA_SETS:
            oldest = next(iter(self._held))
            del self._held[oldest]
            worker.send(frames.FORGET, oldest.encode())
        worker.send(frames.FORGET, name.encode())
        self._dropped[name] = 0

    def _send_changes(self, worker: Worker, data: TripleSet, before: Mapping[str, str]) -> None:
        wanted = data.signatures
        for key, mark in before.items():
            if mark != wanted.get(key):
                self._dropped[data.name] += 1
                worker.send(frames.DROP, key.encode())
        for kind, payload in _batches(data, [key for key, mark in wanted.items() if before.get(key) != mark]):
            worker.send(kind, payload)

    def _keep_copy(self, data: TripleSet) -> None:
        """Have the worker write the data set to its file, now and then, where it is another than there."""
        if data.place is None or not self._mutex.acquire(blocking=False):
            return  # the next query will
        try:
            held, worker = self._held.get(data.name), self._worker
            mark, when = self._copied.get(data.name, ("", 0.0))
            if held is None or worker is None or held.mark == mark:
                return
            if when and time.monotonic() - when < _BETWEEN_COPIES:
                return
            path = os.fsencode(data.place)
            head = head_of(held.mark, held.signatures)
            worker.send(frames.OPEN, data.name.encode())
            worker.send(frames.SAVE, b"".join((len(path).to_bytes(4, "little"), path, head)))
            self._saving += 1
            self._copied[data.name] = (held.mark, time.monotonic())
        except OSError:
            pass  # it ended; the next query starts another
        finally:
            self._mutex.release()

    def _see_off_copies(self) -> None:
        """Let the worker hand over the copies that it was told to make: one query may be all."""
        if self._mutex.acquire(timeout=_HAND_OVER_SECONDS):
            try:
                while self._saving and self._worker is not None:
                    self._worker.receive(_HAND_OVER_SECONDS)
                    self._saving -= 1
            except (OSError, EOFError):
                pass  # there will be a copy another time
            finally:
                self._mutex.release()

    def _condemn(self) -> None:
        """End a worker that did not do as it should; the next query starts another."""
        with self._mutex:
            self._end()

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        self._held = {}
        self._dropped.clear()
        self._saving = 0
        if worker is not None:
            worker.close()

    def _broken(self, error: BaseException) -> Unavailable:
        if self._closed:
            return Unavailable("the server is stopping")
        reason = getattr(error, "strerror", None) or "it ended or did not answer"
        self._trouble = (f"{_NOT_RUNNING} ({reason})", time.monotonic())
        return Unavailable(self._trouble[0], hint="Other tools work; try again later.")


def _share_gone(before: Mapping[str, str], wanted: Mapping[str, str]) -> float:
    """Return the share of pieces that are not as they were."""
    gone = sum(mark != wanted.get(key) for key, mark in before.items())
    return gone / len(before) if before else 0.0


def _batches(data: TripleSet, keys: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, payload) of the frames that add the lines of some keys."""
    parts: list[bytes] = []
    size = 0
    for key, lines in data.lines(keys):
        if not key.startswith(_PAGE):
            name = key.encode()
            yield frames.KEEP, b"".join((len(name).to_bytes(4, "little"), name, lines))
            continue
        parts.append(lines)
        size += len(lines)
        if size > _BATCH:
            yield frames.ADD, b"".join(parts)
            parts, size = [], 0
    if parts:
        yield frames.ADD, b"".join(parts)
