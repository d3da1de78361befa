"""The store's side of the worker: starts it, keeps its data sets in line, asks it, and survives its death."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wikimcp.errors import QueryRejected, TimedOut, Unavailable
from wikimcp.ports import TripleAnswer, TripleLimits, TripleSet
from wikimcp.triples import frames
from wikimcp.triples.gate import check_text
from wikimcp.triples.terms import ID

_START_SECONDS = 20.0
_LOAD_SECONDS = 120.0
_FORK_SECONDS = 10.0  # until a query begins, on a machine that has much else to do
_GRACE = 0.3  # seconds after its limit in which a query is dead on a machine that has not
_MOST_DATA_SETS = 4
_MOST_AT_ONCE = 4
_BATCH = 1 << 18  # bytes of lines in one frame
_AHEAD = 1 << 25  # bytes of lines that are made while the worker starts
_MOST_DROPS = 20_000  # pieces of a data set; each leaves a little memory in an engine, so it is loaded anew
_TROUBLE_SECONDS = 30.0
_SIZE = struct.Struct("<Q")
_PAGE = f"{ID}page:"
_NOT_RUNNING = "the SPARQL worker process cannot run here"


class WorkerStore:
    """A TripleStore in a process of its own, which starts at the first query and comes back when it dies.

    ``command`` makes the worker; the number of its socket is added to it. Safe to use from several
    threads: queries run beside each other.
    """

    def __init__(self, command: Iterable[str], limits: TripleLimits) -> None:
        self._command = tuple(command)
        self._limits = limits
        self._mutex = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: socket.socket | None = None
        self._held: dict[str, Mapping[str, str]] = {}
        self._dropped: Counter[str] = Counter()
        self._greeted = False
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
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def query(self, text: str, data: TripleSet, *, limit: int) -> TripleAnswer:
        """Run one query; see ports.TripleStore."""
        check_text(text)
        if not self._places.acquire(timeout=self._limits.seconds):
            raise Unavailable("other queries are running", hint="Ask again in a moment.")
        try:
            mine, its = socket.socketpair()
            with mine:
                with its:
                    self._hand_over(text, data, limit, its.fileno())
                return self._awaited(mine)
        except OSError as error:
            raise self._broken(error) from error
        finally:
            self._places.release()

    def close(self) -> None:
        """End the worker and all its queries. Idempotent."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._mutex:
            self._end()

    # Asking

    def _hand_over(self, text: str, data: TripleSet, limit: int, descriptor: int) -> None:
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
                    wire = self._begin()
                    self._bring_in_line(wire, data)
                    frames.send_frame(wire, frames.QUERY, payload, descriptor=descriptor)
                    self._trouble = ("", 0.0)
                    return
                except (OSError, EOFError) as error:
                    self._end()
                    if attempt == 2 or self._closed or isinstance(error, TimeoutError):
                        raise self._broken(error) from error

    def _awaited(self, mine: socket.socket) -> TripleAnswer:
        """Read the answer; the kernel ends the query at its limit, whether anybody waits or not."""
        if not select.select([mine], [], [], _FORK_SECONDS)[0]:
            self._condemn()
            raise self._broken(TimeoutError())
        if not mine.recv(1):
            raise Unavailable("the query's process ended before it began", hint="Ask again.")
        began = time.monotonic()
        deadline = began + self._limits.seconds + _GRACE
        data = bytearray()
        while True:
            if not select.select([mine], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise self._out_of_time()
            part = mine.recv(1 << 16)
            if not part:
                break
            data += part
        if len(data) >= _SIZE.size and len(data) == _SIZE.size + _SIZE.unpack(data[: _SIZE.size])[0]:
            return self._answer_of(json.loads(data[_SIZE.size :]))
        if self._closed or self.worker_pid is None:
            raise Unavailable("the SPARQL worker was ended", hint="Ask again.")
        if time.monotonic() - began >= self._limits.seconds * 0.9:
            raise self._out_of_time()
        raise self._out_of_memory()

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

    def _begin(self) -> socket.socket:
        """Return the socket of the worker, which is started if none runs."""
        if self._closed:
            raise Unavailable("the server is stopping")
        if self._wire is not None and self.worker_pid is not None:
            return self._wire
        self._end()
        mine, its = socket.socketpair()
        with its:
            try:
                self._process = subprocess.Popen(  # nosec B603 # our own words, no shell
                    [*self._command, str(its.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,  # the protocol's stream is the server's alone
                    pass_fds=[its.fileno()],
                )
            except OSError:
                mine.close()
                raise
        mine.settimeout(_START_SECONDS)
        self._wire = mine
        return mine

    def _bring_in_line(self, wire: socket.socket, data: TripleSet) -> None:
        """Send what a data set lacks and drop what it has too much."""
        wanted, held = data.signatures, self._held.pop(data.name, None)
        if held is not None and (held is wanted or held == wanted):
            self._held[data.name] = wanted  # the last used stays longest
            return
        if self._dropped[data.name] > _MOST_DROPS:
            held = None
        before = held or {}
        lacking = [key for key, mark in wanted.items() if before.get(key) != mark]
        batches = self._batches(data, lacking)
        self._send_head(
            wire, data.name, before=held, gone=[key for key in before if before[key] != wanted.get(key)]
        )
        self._send_when_ready(wire, batches)
        frames.send_frame(wire, frames.SYNC)
        frames.receive_frame(wire)
        self._held[data.name] = wanted

    def _send_head(
        self, wire: socket.socket, name: str, *, before: Mapping[str, str] | None, gone: Iterable[str]
    ) -> None:
        if before is None:
            while len(self._held) >= _MOST_DATA_SETS:
                oldest = next(iter(self._held))
                del self._held[oldest]
                frames.send_frame(wire, frames.FORGET, oldest.encode())
            frames.send_frame(wire, frames.FORGET, name.encode())
            self._dropped[name] = 0
        frames.send_frame(wire, frames.OPEN, name.encode())
        if before is not None:
            self._greet(wire)
        for key in gone:
            self._dropped[name] += 1
            frames.send_frame(wire, frames.DROP, key.encode())

    def _batches(self, data: TripleSet, keys: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
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

    def _send_when_ready(self, wire: socket.socket, batches: Iterable[tuple[bytes, bytes]]) -> None:
        """Send frames; while the worker still starts, go on making them instead of waiting."""
        waiting: list[tuple[bytes, bytes]] = []
        size = 0
        for kind, payload in batches:
            waiting.append((kind, payload))
            size += len(payload)
            if self._greeted or size > _AHEAD or select.select([wire], [], [], 0)[0]:
                self._greet(wire)
                for frame in waiting:
                    frames.send_frame(wire, *frame)
                waiting, size = [], 0
        self._greet(wire)
        for frame in waiting:
            frames.send_frame(wire, *frame)

    def _greet(self, wire: socket.socket) -> None:
        """Wait until a new worker is ready."""
        if not self._greeted:
            frames.receive_frame(wire)
            self._greeted = True
            wire.settimeout(_LOAD_SECONDS)

    def _condemn(self) -> None:
        """End a worker that did not do as it should; the next query starts another."""
        with self._mutex:
            self._end()

    def _end(self) -> None:
        process, wire = self._process, self._wire
        self._process = self._wire = None
        self._held = {}
        self._dropped.clear()
        self._greeted = False
        if wire is not None:
            wire.close()
        if process is not None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5.0)

    def _broken(self, error: BaseException) -> Unavailable:
        if self._closed:
            return Unavailable("the server is stopping")
        reason = getattr(error, "strerror", None) or "it ended or did not answer"
        self._trouble = (f"{_NOT_RUNNING} ({reason})", time.monotonic())
        return Unavailable(self._trouble[0], hint="Other tools work; try again later.")
