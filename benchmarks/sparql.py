"""SPARQL under load: how long the projection and common counts take, and what hostile queries leave behind.

`python -m benchmarks.sparql` measures the corpus beside the clone or any folder: the first query after a warm
start, the counts of the examples, and a run of hostile queries with processes, threads, open descriptors and
memory before and after. Prints one line for each figure; the index goes to a folder that is removed.
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

from benchmarks.memory import family, memory_of
from wikimcp.app import build_service
from wikimcp.errors import WikimcpError
from wikimcp.index.triples import TripleProjection
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings
from wikimcp.tools.get_ontology import EXAMPLES

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "wikantik-pages"
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
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flags: dict[str, object] = {"vault": str(asked.corpus), "state_dir": folder, "embedder": "none"}
        service = opened(flags)
        service.close()
        measure_projection(flags)
        measure_queries(flags)
        measure_hostile({**flags, "sparql.seconds": asked.seconds}, asked.queries, asked.seconds)
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
        projection = TripleProjection(view)
        return sum(lines.count(b"\n") for _, lines in projection.lines(list(projection.signatures)))

    seconds, triples = timed(project)
    print(f"projection of {len(view.pages):,} pages, {triples:,} triples: {seconds * 1000:,.0f} ms")
    service.close()


def measure_queries(flags: dict[str, object]) -> None:
    """Print the first query after a warm start, and the counts once the worker is warm."""
    service = opened(flags)

    def ask(query: str) -> float:
        return timed(lambda: service.call("sparql_query", {"query": query}, Caller()))[0]

    print(f"first query after a warm start: {ask('ASK { ?s a wm:Page }') * 1000:,.0f} ms")
    for name, query in COUNTS.items():
        times = sorted(ask(query) for _ in range(15))
        print(f"{name}: median {statistics.median(times) * 1000:.0f} ms, worst {times[-1] * 1000:.0f} ms")
    seconds, _ = timed(lambda: service.call("get_ontology", {}, Caller()))
    print(f"get_ontology: {seconds * 1000:,.0f} ms")
    service.close()


def measure_hostile(flags: dict[str, object], queries: int, limit: float) -> None:
    """Print what many hostile queries in a row come to and leave behind."""
    service = opened(flags)
    service.call("sparql_query", {"query": "ASK { ?s a wm:Page }"}, Caller())
    print(f"before {queries:,} hostile queries: {left_behind()}")
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    for number in range(queries):
        began = time.perf_counter()
        try:
            service.call("sparql_query", {"query": HOSTILE[number % len(HOSTILE)]}, Caller())
            outcomes["answered"] += 1
        except WikimcpError as error:
            outcomes[error.code] += 1
        slowest = max(slowest, time.perf_counter() - began)
        if number % (queries // 4 or 1) == queries // 8:
            print(f"  after {number + 1:,}: {left_behind()}")
    told = ", ".join(f"{code} {count:,}" for code, count in outcomes.most_common())
    print(f"outcomes: {told}; slowest {slowest:.2f} s at a limit of {limit} s")
    print(f"after: {left_behind()}")
    service.close()
    print(f"closed: {left_behind()}")


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
