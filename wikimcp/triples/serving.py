"""The worker's side: a process that holds the data sets and answers queries over them.

Where the system can fork, a query runs in a child that the kernel ends at its time limit, bounded in memory
and without the right to open any file or connection; what it does to itself ends with it, and the data
stays loaded. Elsewhere queries run in the worker itself, one after the other, and the store ends the worker
with a query that takes too long. The worker ends when the other end of its wire closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from wikimcp.errors import QueryRejected
from wikimcp.triples import frames
from wikimcp.triples.copies import body_of, body_parts, write_copy
from wikimcp.triples.gate import Parser
from wikimcp.triples.running import Engine, answer_of, bounded, confine
from wikimcp.triples.vocabulary import vocabulary_terms

_SIZE = struct.Struct("<Q")
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
_NICENESS = 5  # a query yields to calls that are not SPARQL
_SAVING_NICENESS = 19


class _DataSet:
    """An engine, and the lines that are dropped by their key."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kept: dict[str, bytes] = {}

    def change(self, kind: bytes, payload: bytes) -> bool:
        """Do what a frame asks for; False where a copy is damaged: the store sends the lines instead."""
        if kind == frames.ADD:
            self.engine.add(payload)
        elif kind == frames.KEEP:
            self.keep(payload)
        elif kind == frames.DROP:
            self.drop(payload.decode())
        elif kind == frames.LOAD:
            try:
                self.load(payload)
            except Exception:
                return False
        return True

    def keep(self, payload: bytes) -> None:
        name, lines = _parted(payload)
        key = name.decode()
        self.engine.add(lines)
        self.kept[key] = lines

    def drop(self, key: str) -> None:
        lines = self.kept.pop(key, None)
        if lines is None:
            self.engine.remove_page(key)
        else:
            self.engine.remove(lines)

    def load(self, body: bytes) -> None:
        """Fill an empty data set with the body of a copy. Raises what an engine does for what is no lines."""
        kept, lines = body_parts(body)
        self.engine.add(lines)
        self.kept = kept

    def save(self, payload: bytes) -> None:
        path, head = _parted(payload)
        write_copy(Path(os.fsdecode(path)), head, body_of(self.kept, self.engine.dump()))


def _parted(payload: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(payload[:4], "little")
    return payload[4 : 4 + length], payload[4 + length :]


class _Queries(Protocol):
    """How queries are run. Data never changes while one is at it."""

    def get_ready(self) -> None:
        """Do beforehand what can be done for the next query."""

    def discard(self) -> None:
        """Undo that: the data changes now."""

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Run a query, or have it run, and see that it is answered."""

    def save(self, data: _DataSet, payload: bytes) -> None:
        """Write a data set to a file, or have it written."""


def serve_data_sets(
    wire: frames.Wire, new_engine: Callable[[], Engine], parse: Parser, *, forks: bool
) -> None:
    """Serve a wire until its other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle
    # Data can be loaded while what queries need is being imported.
    warming = threading.Thread(target=_warm_up, args=(new_engine, parse))
    warming.start()
    gc.disable()  # what is loaded is shared with the queries: no collector may touch it
    data_sets: dict[str, _DataSet] = {}
    current = _DataSet(new_engine())
    queries: _Queries = (_Forked if forks else _Plain)(wire, data_sets, parse)
    failed = b""
    while True:
        try:
            kind, payload, descriptors = wire.receive()
        except (EOFError, OSError):
            os._exit(0)
        if kind in (frames.QUERY, frames.SYNC, frames.SAVE):
            warming.join()  # nothing forks beside a thread
        if kind == frames.QUERY:
            queries.run(payload, descriptors)
            with contextlib.suppress(OSError):  # the next query will be told
                queries.get_ready()
            continue
        if kind == frames.SAVE:
            queries.save(current, payload)
            wire.send(frames.SAVE)
            continue
        if kind == frames.OPEN:
            current = data_sets.setdefault(payload.decode(), _DataSet(new_engine()))
            continue
        queries.discard()
        if kind == frames.SYNC:
            wire.send(frames.SYNC, failed)
            failed = b""
            with contextlib.suppress(OSError):
                queries.get_ready()
        elif kind == frames.FORGET:
            if data_sets.pop(payload.decode(), None) is not None:
                gc.collect()
        elif not current.change(kind, payload):
            failed = b"damaged"


_SAMPLE = "SELECT ?s (COUNT(?o) AS ?n) WHERE { ?s wm:tag/rdfs:label ?o } GROUP BY ?s ORDER BY DESC(?n)"


def _warm_up(new_engine: Callable[[], Engine], parse: Parser) -> None:
    """Have everything imported that a query may need: its process can open no file."""
    try:
        engine = new_engine()
        for text in (
            'SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o FILTER REGEX(?o, "a", "i") } GROUP BY ?s ORDER BY ?n',
            "ASK { ?s (a|!a)* ?o OPTIONAL { ?o ?p ?q } }",
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
            "DESCRIBE <urn:wikimcp:page:none>",
        ):
            parse(text)
            if text.startswith("SELECT"):
                list(engine.rows(text, ("s", "n")))
            elif text.startswith("ASK"):
                engine.truth(text)
            else:
                list(engine.graph(text))
        vocabulary_terms()
        json.dumps({"encoders": ["are", "loaded"]})
        with contextlib.suppress(QueryRejected):
            parse("SELECT")
        engine.complaint("SELECT")
        engine.dump()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # a worker that cannot answer is none


class _Forked:
    """Processes for queries: one waits ready, so that no query waits for a fork and its first page faults."""

    def __init__(self, wire: frames.Wire, data_sets: dict[str, _DataSet], parse: Parser) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for queries: the kernel forgets them
        self._wire = wire
        self._data_sets = data_sets
        self._parse = parse
        self._ready: frames.SocketWire | None = None

    def discard(self) -> None:
        """End the process that waits."""
        if self._ready is not None:
            self._ready.close()
            self._ready = None

    def get_ready(self) -> None:
        """Start the process for the next query. Raises OSError where none can start."""
        if self._ready is None:
            mine, its = socket.socketpair()
            if os.fork():
                its.close()
                self._ready = frames.SocketWire(mine)
                return
            try:
                mine.close()
                self._wire.close()
                self._wait_and_run(frames.SocketWire(its))
            finally:
                os._exit(0)

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Give a query to the process that waits; an error goes to the descriptor."""
        [descriptor] = descriptors
        try:
            self.get_ready()
            assert self._ready is not None
            self._ready.send(frames.QUERY, payload, descriptor=descriptor)
        except OSError as error:
            message = f"no process can start ({error.strerror})"
            with contextlib.suppress(OSError):
                os.write(descriptor, frames.BEGUN)
                _write(descriptor, {"error": "unavailable", "message": message})
        os.close(descriptor)
        self.discard()

    def save(self, data: _DataSet, payload: bytes) -> None:
        """Have a process write the file: it has the data as it is now, and ends by itself."""
        with contextlib.suppress(OSError):
            if os.fork():
                return
            try:
                self.discard()
                self._wire.close()
                os.nice(_SAVING_NICENESS)
                data.save(payload)
            finally:
                os._exit(0)

    def _wait_and_run(self, wire: frames.Wire) -> None:
        _die_with_parent()
        gc.freeze()  # the collector of this process is for its own garbage alone
        gc.enable()
        self._parse(_SAMPLE)  # touches what every query will, before its time counts
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
        try:
            _, payload, descriptors = wire.receive()
        except (EOFError, OSError):
            return
        request = json.loads(payload)
        confine(request)
        os.write(descriptors[0], frames.BEGUN)
        engine = self._data_sets[request["dataset"]].engine
        _write(descriptors[0], answer_of(engine, request, self._parse))


class _Plain:
    """Queries in this very process, whose files and memory are bounded meanwhile where that can be."""

    def __init__(self, wire: frames.Wire, data_sets: dict[str, _DataSet], parse: Parser) -> None:
        self._wire = wire
        self._data_sets = data_sets
        self._parse = parse

    def discard(self) -> None:
        """Nothing is ready."""

    def get_ready(self) -> None:
        """Nothing is to be made ready."""

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Answer a query."""
        request = json.loads(payload)
        self._wire.send(frames.BEGUN)
        with bounded(request):
            answer = answer_of(self._data_sets[request["dataset"]].engine, request, self._parse)
            data = json.dumps(answer, separators=(",", ":")).encode()
        self._wire.send(frames.ANSWER, data)
        gc.collect()  # of the query's garbage

    def save(self, data: _DataSet, payload: bytes) -> None:
        """Write the file: the query before it is answered, the next waits."""
        with contextlib.suppress(Exception):  # a copy that cannot be made is none
            data.save(payload)


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


def _write(descriptor: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer, separators=(",", ":")).encode()
    view = memoryview(_SIZE.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]
