"""The worker's side: a process that holds the data sets and forks for every query.

A query runs in a child that the kernel ends at its time limit, bounded in memory and without the right
to open any file or connection; what it does to itself ends with it, and the data stays loaded. The worker
ends when the other end of its socket closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

from wikimcp.errors import QueryRejected, WikimcpError
from wikimcp.triples import frames
from wikimcp.triples.answers import Row, graph_answer, rows_answer
from wikimcp.triples.gate import Parser, plan_query
from wikimcp.triples.vocabulary import vocabulary_terms

_SIZE = struct.Struct("<Q")
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
_GUESS = 2 << 30
_NICENESS = 5  # a query yields to calls that are not SPARQL


class Engine(Protocol):
    """One data set, as a member of the family implements it."""

    def add(self, lines: bytes) -> None:
        """Add N-Triples."""

    def remove(self, lines: bytes) -> None:
        """Remove N-Triples."""

    def remove_page(self, iri: str) -> None:
        """Remove all that is said of a page and of its parts."""

    def size(self) -> int:
        """Return the number of triples."""

    def terms(self) -> Collection[str]:
        """Return the classes and properties of vocabulary and data."""

    def rows(self, text: str, columns: tuple[str, ...]) -> Iterator[Row]:
        """Yield the rows of a SELECT."""

    def truth(self, text: str) -> bool:
        """Return the answer of an ASK."""

    def graph(self, text: str) -> Iterator[Row]:
        """Yield the triples of a CONSTRUCT or DESCRIBE."""

    def complaint(self, text: str) -> str:
        """Return what the engine's own parser has against a text; empty when nothing."""


class _DataSet:
    """An engine, and the lines that are dropped by their key."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.kept: dict[str, bytes] = {}

    def keep(self, payload: bytes) -> None:
        length = int.from_bytes(payload[:4], "little")
        key, lines = payload[4 : 4 + length].decode(), payload[4 + length :]
        self.engine.add(lines)
        self.kept[key] = lines

    def drop(self, key: str) -> None:
        lines = self.kept.pop(key, None)
        if lines is None:
            self.engine.remove_page(key)
        else:
            self.engine.remove(lines)


def serve_data_sets(descriptor: int, new_engine: Callable[[], Engine], parse: Parser) -> None:
    """Serve the socket ``descriptor`` until its other end closes."""
    wire = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for queries: the kernel forgets them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle
    _warm_up(new_engine(), parse)
    frames.send_frame(wire, frames.SYNC)
    data_sets: dict[str, _DataSet] = {}
    current = _DataSet(new_engine())
    queries = _Queries(wire, data_sets, parse)
    gc.disable()  # what is loaded is shared with the queries: no collector may touch it
    while True:
        try:
            kind, payload, descriptors = frames.receive_frame(wire)
        except (EOFError, OSError):
            os._exit(0)
        if kind == frames.QUERY:
            queries.hand_over(descriptors[0], payload)
            with contextlib.suppress(OSError):  # the next query will be told
                queries.get_ready()
            continue
        queries.discard()
        if kind == frames.SYNC:
            frames.send_frame(wire, frames.SYNC)
            with contextlib.suppress(OSError):
                queries.get_ready()
        elif kind == frames.OPEN:
            current = data_sets.setdefault(payload.decode(), _DataSet(new_engine()))
        elif kind == frames.FORGET:
            if data_sets.pop(payload.decode(), None) is not None:
                gc.collect()
        elif kind == frames.ADD:
            current.engine.add(payload)
        elif kind == frames.KEEP:
            current.keep(payload)
        elif kind == frames.DROP:
            current.drop(payload.decode())


_SAMPLE = "SELECT ?s (COUNT(?o) AS ?n) WHERE { ?s wm:tag/rdfs:label ?o } GROUP BY ?s ORDER BY DESC(?n)"


def _warm_up(engine: Engine, parse: Parser) -> None:
    """Have everything imported that a query may need: its process can open no file."""
    for text in (
        'SELECT ?s (COUNT(*) AS ?n) WHERE { ?s ?p ?o FILTER REGEX(?o, "a", "i") } GROUP BY ?s ORDER BY ?n',
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


class _Queries:
    """Processes for queries: one waits ready, so that no query waits for a fork and its first page faults."""

    def __init__(self, wire: socket.socket, data_sets: dict[str, _DataSet], parse: Parser) -> None:
        self._wire = wire
        self._data_sets = data_sets
        self._parse = parse
        self._ready: socket.socket | None = None

    def discard(self) -> None:
        """End the process that waits: it has data that changes now."""
        if self._ready is not None:
            self._ready.close()
            self._ready = None

    def get_ready(self) -> None:
        """Start the process for the next query. Raises OSError where none can start."""
        if self._ready is None:
            mine, its = socket.socketpair()
            if os.fork():
                its.close()
                self._ready = mine
                return
            try:
                mine.close()
                self._wire.close()
                self._wait_and_run(its)
            finally:
                os._exit(0)

    def hand_over(self, descriptor: int, payload: bytes) -> None:
        """Give a query to the process that waits; an error goes to the descriptor."""
        try:
            self.get_ready()
            assert self._ready is not None
            frames.send_frame(self._ready, frames.QUERY, payload, descriptor=descriptor)
        except OSError as error:
            message = f"no process can start ({error.strerror})"
            with contextlib.suppress(OSError):
                os.write(descriptor, frames.BEGUN)
                _answer(descriptor, {"error": "unavailable", "message": message})
        os.close(descriptor)
        self.discard()

    def _wait_and_run(self, wire: socket.socket) -> None:
        _die_with_parent()
        gc.freeze()  # the collector of this process is for its own garbage alone
        gc.enable()
        self._parse(_SAMPLE)  # touches what every query will
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
        try:
            _, payload, descriptors = frames.receive_frame(wire)
        except (EOFError, OSError):
            return
        request = json.loads(payload)
        _confine(request)
        os.write(descriptors[0], frames.BEGUN)
        engine = self._data_sets[request["dataset"]].engine
        _answer(descriptors[0], _run(engine, request, self._parse))


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


def _confine(request: dict[str, Any]) -> None:
    """Bound this process: time by the kernel's clock, memory, and no new file or connection."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)  # an allocator that gives up says so
    os.close(nothing)
    if sys.platform == "linux":
        most = _address_space() + request["memory_bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _address_space() -> int:
    """Return the bytes of address space in use; a generous guess where the system does not tell."""
    try:
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return _GUESS


def _run(engine: Engine, request: dict[str, Any], parse: Parser) -> dict[str, Any]:
    """Return the answer or the error as JSON holds it."""
    text = request["text"]
    try:
        plan = plan_query(text, lambda query: _parsed(engine, query, parse), terms=engine.terms)
        caps = {"limit": request["limit"], "most_bytes": request["most_bytes"]}
        if plan.kind == "truth":
            return {"kind": "truth", "truth": engine.truth(plan.text)}
        if plan.kind == "graph":
            return {"kind": "graph", **graph_answer(engine.graph(plan.text), **caps)}
        rows = engine.rows(plan.text, plan.columns)
        return {"kind": "rows", **rows_answer(plan, rows, **caps)}
    except WikimcpError as error:
        return {"error": error.code, "message": error.message, "hint": error.hint}
    except MemoryError:
        return {"error": "memory"}
    except RecursionError:
        return {"error": "query_rejected", "message": "the query is nested too deep", "hint": ""}
    except Exception as error:  # a library's own: the query is what made it
        message = f"the query cannot be run ({type(error).__name__}: {str(error)[:200]})"
        return {"error": "query_rejected", "message": message, "hint": ""}


def _parsed(engine: Engine, text: str, parse: Parser) -> Any:  # noqa: ANN401 - see gate.Parser
    """Parse for the gate; where that fails, say it in the engine's words if it is more exact."""
    try:
        return parse(text)
    except QueryRejected as error:
        if complaint := engine.complaint(text):
            raise QueryRejected(complaint, hint=error.hint) from None
        raise


def _answer(descriptor: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer, separators=(",", ":")).encode()
    view = memoryview(_SIZE.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]
