"""The worker's side: a process that holds the data sets and answers queries over them.

Where the system can fork, a query runs in a process of its own (``forking``), bounded in time and memory and
without the right to open any file or connection, and the data stays loaded. Elsewhere queries run in the
worker itself, one after the other, and the store ends the worker with a query that takes too long. The
worker ends when the other end of its wire closes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from wikimcp.errors import QueryRejected
from wikimcp.triples import frames
from wikimcp.triples.data_set import DataSet
from wikimcp.triples.gate import Parser
from wikimcp.triples.running import Engine, answer_of, bounded
from wikimcp.triples.vocabulary import vocabulary_terms

_PIECE = 1 << 20  # bytes of lines, which take some hundredths of a second

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class _Queries(Protocol):
    """How queries are run. Data never changes while one is at it."""

    def wait(self, work: Callable[[], bool]) -> None:
        """Wait for a frame, and work meanwhile for as long as there is something to do."""

    def get_ready(self) -> None:
        """Do beforehand what can be done for the next query."""

    def discard(self) -> None:
        """Undo that: the data changes now."""

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Run a query, or have it run, and see that it is answered."""

    def save(self, data: DataSet, payload: bytes) -> None:
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
    data_sets: dict[str, DataSet] = {}
    current = DataSet(new_engine())
    queries = _queries(wire, data_sets, parse, forks=forks)
    failed = b""
    while True:
        queries.wait(lambda: _settle_some(data_sets, queries))
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
        elif kind == frames.SAVE:
            _settle(data_sets, queries)
            queries.save(current, payload)
            wire.send(frames.SAVE)
        elif kind == frames.SETTLE:
            _settle(data_sets, queries)
        elif kind == frames.OPEN:
            current = data_sets.setdefault(payload.decode(), DataSet(new_engine()))
        elif kind == frames.SYNC:
            queries.discard()
            wire.send(frames.SYNC, failed)
            failed = b""
            with contextlib.suppress(OSError):
                queries.get_ready()
        else:
            queries.discard()
            if kind == frames.FORGET:
                if data_sets.pop(payload.decode(), None) is not None:
                    gc.collect()
            elif not current.change(kind, payload):
                failed = b"damaged"


def _queries(wire: frames.Wire, data_sets: dict[str, DataSet], parse: Parser, *, forks: bool) -> _Queries:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return answer_of(data_sets[request["dataset"]], request, parse)

    if not forks:
        return _Plain(wire, data_sets, answer)
    assert isinstance(wire, frames.SocketWire)
    from wikimcp.triples.forking import ForkedQueries

    return ForkedQueries(wire, answer, lambda: parse(_SAMPLE))


def _settle_some(data_sets: dict[str, DataSet], queries: _Queries) -> bool:
    """Load a piece of what waits in some data set; whether there is more."""
    data = next((data for data in data_sets.values() if not data.settled), None)
    if data is None:
        return False
    data.settle(_PIECE)
    if data.settled:  # until then a process that has less serves as well
        queries.discard()
        with contextlib.suppress(OSError):
            queries.get_ready()
    return True


def _settle(data_sets: dict[str, DataSet], queries: _Queries) -> None:
    """Load what waits in any data set."""
    for data in data_sets.values():
        if not data.settled:
            queries.discard()
            data.settle()


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


class _Plain:
    """Queries in this very process, whose files and memory are bounded meanwhile where that can be."""

    def __init__(self, wire: frames.Wire, data_sets: dict[str, DataSet], answer: Answer) -> None:
        self._wire = wire
        self._data_sets = data_sets
        self._answer = answer

    def wait(self, work: Callable[[], bool]) -> None:
        """Leave waiting to the receiver, and work to the next query."""

    def discard(self) -> None:
        """Nothing is ready."""

    def get_ready(self) -> None:
        """Nothing is to be made ready."""

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Answer a query."""
        request = json.loads(payload)
        self._data_sets[request["dataset"]].settle()
        self._wire.send(frames.BEGUN)
        with bounded(request):
            data = json.dumps(self._answer(request), separators=(",", ":")).encode()
        self._wire.send(frames.ANSWER, data)
        gc.collect()  # of the query's garbage

    def save(self, data: DataSet, payload: bytes) -> None:
        """Write the file: the query before it is answered, the next waits."""
        with contextlib.suppress(Exception):  # a copy that cannot be made is none
            data.save(payload)
