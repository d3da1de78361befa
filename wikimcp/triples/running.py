"""One query in the worker: through the gate, to the engine, into an answer, bounded in time and memory."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from wikimcp.errors import QueryRejected, WikimcpError
from wikimcp.triples.answers import Row, graph_answer, rows_answer
from wikimcp.triples.gate import Parser, Plan, plan_query
from wikimcp.triples.reach import Reach

if sys.platform != "win32":
    import resource

_GUESS = 2 << 30


class Engine(Protocol):
    """One data set, as a member of the family implements it."""

    def add(self, lines: bytes) -> None:
        """Add N-Triples."""

    def remove(self, lines: bytes) -> None:
        """Remove N-Triples."""

    def remove_page(self, iri: str) -> None:
        """Remove all that is said of a page and of its parts."""

    def dump(self) -> bytes:
        """Return all triples as N-Triples."""

    def has_term(self, iri: str) -> bool:
        """Whether vocabulary or data have this class or property."""

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


class Held(Protocol):
    """A data set, of which a part may not be loaded yet."""

    engine: Engine
    plans: dict[str, Plan]
    """By text what passed the gate, as long as the data is the same."""

    def holds(self, reach: Reach) -> bool:
        """Whether all that a query can touch is loaded."""

    def has_term(self, iri: str) -> bool:
        """Whether vocabulary or data have this class or property, loaded or not."""

    def terms(self) -> Collection[str]:
        """Return the classes and properties of vocabulary and data, loaded or not."""


_MOST_PLANS = 64


def answer_of(data: Held, request: dict[str, Any], parse: Parser) -> dict[str, Any]:
    """Run the query of a request; returns the answer or the error as JSON holds it.

    The error ``not_loaded`` is for the store: what the query can touch is not all there yet.
    """
    engine = data.engine
    try:
        plan = _plan(data, request["text"], parse)
        if not data.holds(plan.reach):
            return {"error": "not_loaded"}
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


def _plan(data: Held, text: str, parse: Parser) -> Plan:
    plan = data.plans.get(text)
    if plan is None:
        plan = plan_query(
            text,
            lambda query: _parsed(data.engine, query, parse),
            has_term=data.has_term,
            terms=data.terms,
        )
        while len(data.plans) >= _MOST_PLANS:
            del data.plans[next(iter(data.plans))]
        data.plans[text] = plan
    return plan


def _parsed(engine: Engine, text: str, parse: Parser) -> Any:  # noqa: ANN401 - see gate.Parser
    """Parse for the gate; where that fails, say it in the engine's words if it is more exact."""
    try:
        return parse(text)
    except QueryRejected as error:
        if complaint := engine.complaint(text):
            raise QueryRejected(complaint, hint=error.hint) from None
        raise


def limit_time(seconds: float) -> None:
    """Have the kernel's clock end this process after some seconds; 0: not any more."""
    if sys.platform == "win32":
        raise NotImplementedError  # nothing forks there
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def confine(memory_bytes: int, *, answer: int = -1) -> None:
    """Bound this process for good: memory, and no new file or connection.

    ``answer`` is a descriptor that was received: its number alone can be taken again when it is closed.
    """
    if sys.platform == "win32":
        raise NotImplementedError  # nothing forks there
    nothing = os.open(os.devnull, os.O_RDWR)
    while nothing < answer:  # no number below it stays free
        nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 2)  # an allocator that gives up says so
    os.close(nothing)
    if sys.platform == "linux":
        most = _address_space() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (answer + 1, answer + 1))


@contextmanager
def bounded(request: dict[str, Any]) -> Iterator[None]:
    """Bound memory, files and connections for a while, where the system can; time is the store's matter."""
    if sys.platform == "win32":
        yield
        return
    wanted = {resource.RLIMIT_NOFILE: 0}
    if sys.platform == "linux":
        wanted[resource.RLIMIT_AS] = _address_space() + request["memory_bytes"]
    before = {what: resource.getrlimit(what) for what in wanted}
    for what, most in wanted.items():
        resource.setrlimit(what, (most, before[what][1]))
    try:
        yield
    finally:
        for what, both in before.items():
            resource.setrlimit(what, both)


def _address_space() -> int:
    """Return the bytes of address space in use; a generous guess where the system does not tell."""
    if sys.platform == "win32":
        return _GUESS
    try:
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return _GUESS
