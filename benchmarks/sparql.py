"""SPARQL under load: how long the projection and common counts take, and what hostile queries leave behind.

`python -m benchmarks.sparql` measures the corpus beside the clone or any folder: the first query after a warm
start, the counts of the examples, and a run of hostile queries with processes, threads, open descriptors and
memory before and after, while another client asks for bundles. Prints one line for each figure; the index
goes to a folder that is removed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.corpus import titles
from benchmarks.memory import family, memory_of
from benchmarks.processes import CORPUS
from wikimcp.app import build_service
from wikimcp.errors import WikimcpError
from wikimcp.index.triples import TripleProjections
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings
from wikimcp.tools.get_ontology import EXAMPLES

FIRST = "ASK { ?s a wm:Page }"
PATIENCE = 60.0  # seconds until the copy of the data is there
AHEAD = 8.0  # seconds in which a server has made itself ready
BUNDLES, WARM_UP = 300, 50
SETTLING = 2.0  # seconds, until the last process is gone on a busy machine too
BETWEEN_BUNDLES = 0.05  # seconds, as of a client that reads what it got
COUNTS = {
    **EXAMPLES,
    "most linked pages": (
        "SELECT ?to (COUNT(?a) AS ?n) { ?a wm:linksTo/wm:slug ?to } GROUP BY ?to ORDER BY DESC(?n) LIMIT 10"
    ),
    "tags used once": (
        "SELECT ?tag { { SELECT ?t { ?p wm:tag ?t } GROUP BY ?t HAVING (COUNT(?p) = 1) } ?t rdfs:label ?tag }"
    ),
    "pages not updated since": (
        'SELECT (COUNT(*) AS ?n) { ?p dcterms:modified ?t FILTER(?t < "2026-01-01T00:00:00Z"^^xsd:dateTime) }'
    ),
}
HOSTILE = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a",
    "SELECT (COUNT(*) AS ?n) { ?a (wm:linksTo*/wm:linksTo*)* ?b . ?b (wm:linksTo|!wm:tag)* ?c }",
    "SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?d))) AS ?n) { ?a ?b ?c . ?d ?e ?f }",
    "SELECT ?t { ?p dcterms:title ?t FILTER REGEX(?t, '^(a|a?)+(b+)+$', 'i') . ?a ?b ?c . ?d ?e ?f }",
    "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * FROM <file:///etc/hostname> { ?s ?p ?o }",
    "INSERT DATA { <a:b> <a:b> <a:b> }",
    "SELECT * { " + "{" * 5_000,
    "SELECT ?x { BIND(" + "1+" * 4_000 + "1 AS ?x) }",
    "x" * 1_000_000,
)

T = TypeVar("T")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--queries", type=int, default=1_000, help="hostile queries (default 1000)")
    parser.add_argument("--seconds", type=float, default=0.2, help="time limit of each (default 0.2)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flags: dict[str, object] = {"vault": str(options.corpus), "state_dir": folder, "embedder": "none"}
        service = opened(flags)
        service.close()
        measure_projection(flags)
        measure_queries(flags)
        hostile = {**flags, "sparql.seconds": options.seconds}
        measure_hostile(hostile, options.queries, options.seconds, titles(options.corpus)[:BUNDLES])
    return 0


def opened(flags: dict[str, object]) -> WikiService:
    """Return a service that is ready."""
    service = build_service(load_settings(flags, env={}), background=False)
    service.wait_ready("none")
    return service


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that some work took, and its result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def measure_projection(flags: dict[str, object]) -> None:
    """Print how long it takes to put the whole wiki into triples, without the worker."""
    service = opened(flags)
    view = service.keeper.reading().view

    def project() -> int:
        projection = TripleProjections().of(view)
        return sum(lines.count(b"\n") for _, lines in projection.lines(list(projection.signatures)))

    seconds, triples = timed(project)
    print(f"projection of {len(view.pages):,} pages, {triples:,} triples: {seconds * 1000:,.0f} ms")
    service.close()


def measure_queries(flags: dict[str, object]) -> None:
    """Print the first query of all, the first after a warm start, and the counts once the worker is warm."""
    service = opened(flags)
    print(f"first query of all: {asked(service, FIRST) * 1000:,.0f} ms")
    place = TripleProjections().of(service.keeper.reading().view).place
    deadline = time.monotonic() + PATIENCE
    while place is not None and not place.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    service.close()
    times = []
    for _ in range(5):
        service = opened(flags)
        times.append(asked(service, FIRST))
        service.close()
    print(
        f"first query after a warm start: median {statistics.median(times) * 1000:,.0f} ms of {told(times)}"
    )
    service = build_service(load_settings(flags, env={}))
    service.wait_ready("none")
    time.sleep(AHEAD)
    print(f"{AHEAD:g} s after the start of a server: {asked(service, FIRST) * 1000:,.0f} ms")
    for name, query in COUNTS.items():
        times = sorted(asked(service, query) for _ in range(15))
        print(f"{name}: median {statistics.median(times) * 1000:.0f} ms, worst {times[-1] * 1000:.0f} ms")
    for _ in range(2):
        seconds, _ = timed(lambda: service.call("get_ontology", {}, Caller()))
        print(f"get_ontology: {seconds * 1000:,.0f} ms")
    service.close()


def asked(service: WikiService, query: str) -> float:
    """Return the seconds that a query takes."""
    return timed(lambda: service.call("sparql_query", {"query": query}, Caller()))[0]


def told(times: list[float]) -> str:
    """Return seconds as milliseconds."""
    return ", ".join(f"{seconds * 1000:,.0f}" for seconds in times)


def measure_hostile(flags: dict[str, object], queries: int, limit: float, questions: list[str]) -> None:
    """Print what many hostile queries in a row come to, what they leave behind, and how others fare."""
    service = opened(flags)
    asked(service, FIRST)
    bundles = Bundles(service, questions)
    for number in range(WARM_UP):
        bundles.ask(number)
    quiet = [bundles.ask(number) for number in range(BUNDLES)]
    print(f"before {queries:,} hostile queries: {left_behind()}")
    attack = Attack(service, queries, limit)
    thread = threading.Thread(target=attack.run)
    thread.start()
    meanwhile: list[float] = []
    while thread.is_alive():
        meanwhile.append(bundles.ask(len(meanwhile)))
        time.sleep(BETWEEN_BUNDLES)
    thread.join()
    del thread
    time.sleep(SETTLING)
    names = ", ".join(f"{code} {count:,}" for code, count in attack.outcomes.most_common())
    print(f"outcomes: {names}; slowest {attack.slowest:.2f} s at a limit of {limit} s")
    print(f"after: {left_behind()}")
    before, after = (sorted(times)[int(len(times) * 0.95)] for times in (quiet, meanwhile))
    print(
        f"bundles of another client: p95 {before * 1000:.1f} ms quiet, {after * 1000:.1f} ms meanwhile "
        f"({len(meanwhile):,} asked; {after / before:.2f} times)"
    )
    service.close()
    print(f"closed: {left_behind()}")


class Bundles:
    """A client that asks for bundles, one after the other."""

    def __init__(self, service: WikiService, questions: list[str]) -> None:
        self._service = service
        self._questions = questions

    def ask(self, number: int) -> float:
        """Ask one question; returns the seconds."""
        question = {"query": self._questions[number % len(self._questions)]}
        return timed(lambda: self._service.call("assemble_bundle", question, Caller()))[0]


class Attack:
    """A client that asks one hostile query after the other."""

    def __init__(self, service: WikiService, queries: int, limit: float) -> None:
        self._service = service
        self._queries = queries
        self._limit = limit
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0

    def run(self) -> None:
        """Ask them all."""
        for number in range(self._queries):
            began = time.perf_counter()
            try:
                self._service.call("sparql_query", {"query": HOSTILE[number % len(HOSTILE)]}, Caller())
                self.outcomes["answered"] += 1
            except WikimcpError as error:
                self.outcomes[error.code] += 1
            self.slowest = max(self.slowest, time.perf_counter() - began)


def left_behind() -> str:
    """Say what this process and those below it hold."""
    try:
        processes = family(os.getpid())
    except FileNotFoundError:  # one ended just now
        processes = family(os.getpid())
    memory = [found.share for pid in processes if (found := memory_of(pid)) is not None]
    descriptors = len(os.listdir("/proc/self/fd"))
    return (
        f"{len(processes)} processes, {threading.active_count()} threads, {descriptors} descriptors, "
        f"{sum(memory):.0f} MB (this one {memory[0]:.0f})"
    )


if __name__ == "__main__":
    raise SystemExit(main())
