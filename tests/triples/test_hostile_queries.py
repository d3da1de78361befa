"""What is refused, what is stopped, and that the store answers again at once with nothing left behind."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.index.live_wiki import until
from tests.triples.small_store import WAYS, Pages, cells, store_of, way_name
from wikimcp.errors import QueryRejected, TimedOut, Unavailable, WikimcpError
from wikimcp.triples.selection import ENGINES as MEMBERS
from wikimcp.triples.worker import WorkerStore

LIMIT = 0.5
COUNT = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"
BIG = {f"P{i}": tuple(f"P{(i * 7 + j) % 300}" for j in range(12)) for i in range(300)}


@pytest.fixture(scope="module", params=[*WAYS[:2], WAYS[2]], ids=way_name)
def store(request: pytest.FixtureRequest) -> Iterator[WorkerStore]:
    engine, forks = request.param
    with store_of(engine, forks=forks, seconds=LIMIT) as found:
        found.query(COUNT, Pages(), limit=1)
        yield found


REFUSED = {
    "INSERT DATA { <a:b> <a:b> <a:b> }": "INSERT at line 1, column 1 is an update",
    "DELETE WHERE { ?s ?p ?o }": "DELETE at line 1, column 1 is an update",
    "PREFIX a: <a:b>\nBASE <a:c> DROP ALL": "DROP at line 2, column 12 is an update",
    "LOAD <file:///etc/passwd>": "LOAD at line 1, column 1 is an update",
    "# SELECT\n  CLEAR DEFAULT": "CLEAR at line 2, column 3 is an update",
    "WITH <a:b> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }": "WITH at line 1",
    "SELECT * { ?s ?p ?o } ; INSERT DATA { <a:b> <a:b> <a:b> }": "syntax error at line 1",
    "SELECT * { SERVICE <http://localhost:1/> { ?s ?p ?o } }": "SERVICE at line 1, column 12",
    "SELECT * { SERVICE SILENT ?s { ?s ?p ?o } }": "SERVICE at line 1, column 12",
    "SELECT * { OPTIONAL { { SELECT ?s {\n { SERVICE <a:b> { ?s ?p ?o } } } } } }": "SERVICE at line 2, column 4",
    "SELECT * { FILTER NOT EXISTS { SERVICE <a:b> { ?s ?p ?o } } }": "SERVICE",
    "SELECT (COUNT(*) AS ?n) { BIND(EXISTS { SERVICE <a:b> { ?s ?p ?o } } AS ?x) }": "SERVICE",
    "SELECT * { MINUS { ?s ?p ?o FILTER EXISTS { ?s ?p ?x . SERVICE <a:b> {} } } }": "SERVICE",
    "CONSTRUCT { ?s ?p ?o } WHERE { { } UNION { SERVICE <a:b> { ?s ?p ?o } } }": "SERVICE",
    "ASK { GRAPH ?g { SERVICE <a:b> { ?s ?p ?o } } }": "SERVICE",
    "SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (EXISTS { SERVICE <a:b> { ?s ?p ?o } })": "SERVICE",
    "SELECT ?s { ?s ?p ?o } ORDER BY (EXISTS { SERVICE <a:b> { ?s ?p ?o } })": "SERVICE",
    "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }": "FROM at line 1, column 10",
    "SELECT *\nFROM NAMED <http://localhost:1/> { GRAPH ?g { ?s ?p ?o } }": "FROM at line 2, column 1",
    "ASK FROM <a:b> { ?s ?p ?o }": "FROM at line 1, column 5",
    "DESCRIBE ?s FROM <a:b> { ?s ?p ?o }": "FROM",
    "CONSTRUCT { ?s ?p ?o } FROM <a:b> WHERE { ?s ?p ?o }": "FROM",
    'SELECT * { ?s ?p "a\\u0022 #" . SERVICE <a:b> { } }': "an escaped code point at line 1, column 20",
    "SELECT * { ?s <a:b\\u003E#> ?o . SERVICE <a:b> { ?x ?y ?z } }": "an escaped code point",
    "SELECT * { ?s ?p ?o FILTER(<http://example.org/run>(?o)) }": "no function <http://example.org/run>",
    "SELECT * { ?s wm:linkTo ?o }": "unknown term wm:linkTo at line 1, column 15. Did you mean wm:linksTo",
    "SELECT * {\n  ?s <https://wikimcp.dev/ns#Pages> ?o }": "wm:Pages at line 2, column 6. Did you mean wm:Page",
    "SELECT * {\n\n ?s dctems:title ?o }": "unknown prefix dctems: at line 3, column 5. Did you mean dcterms:",
    "SELECT * { ?s :title ?o }": "unknown prefix : at line 1, column 15",
    "SELECT * {\n ?s wm:linksTo }": "syntax error at line 2",
    "SELECT * { ?s ?p ?o": "syntax error at line 1",
    "SELCT * { ?s ?p ?o }": "Did you mean SELECT",
    "?": "a query begins with SELECT",
    "": "the query is empty",
    " \n\t": "the query is empty",
    "\x00": "query",
    "SELECT * { ?s ?p ?o } # "
    + "x" * 1_000_000: "the query has 1,000,024 characters; at most 20,000 are taken",
    "SELECT * " + "{" * 9_000 + "}" * 9_000: "nested 8999 deep at line 1, column 9009; at most 40",
    "SELECT * { ?s ?p ?o FILTER(" + "(" * 500 + "1" + ")" * 500 + ") }": "nested",
    "[" * 10_000: "nested",
}


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: query[:40])
def test_what_is_never_run_is_refused_with_its_place(store: WorkerStore, query: str) -> None:
    with pytest.raises(QueryRejected) as caught:
        store.query(query, Pages(), limit=10)
    assert REFUSED[query] in str(caught.value)
    assert len(str(caught.value)) < 1_000


STOPPED = {
    "a cross product": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "an ordered cross product": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a",
    "a property path bomb": "SELECT (COUNT(*) AS ?n) { ?a ((wm:linksTo*)*/(wm:linksTo|^wm:linksTo)*)* ?b . "
    "?b (wm:linksTo|!wm:tag)* ?c . ?c (wm:linksTo*/wm:linksTo*)* ?d }",
    "nested counting": "SELECT (COUNT(*) AS ?n) { ?a ?p ?b FILTER NOT EXISTS { ?c ?q ?d . ?e ?r ?f . "
    "?g ?s ?h FILTER(STR(?c) = CONCAT(STR(?g), STR(?e))) } }",
    "a long text": "SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?d), STR(?g))) AS ?n) "
    "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
}


@pytest.mark.parametrize("bomb", STOPPED)
def test_a_bomb_is_stopped_within_a_second_of_its_limit_and_the_store_answers_again(
    store: WorkerStore, bomb: str
) -> None:
    pages = Pages(name="big", links=BIG)
    assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]
    worker, began = store.worker_pid, time.monotonic()
    with pytest.raises((TimedOut, QueryRejected), match=r"was stopped( after 0\.5 seconds|: it needs)"):
        store.query(STOPPED[bomb], pages, limit=1_000)
    assert time.monotonic() - began < LIMIT + 1.0
    assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]
    if store._way.forks:
        assert store.worker_pid == worker, "the data stays loaded"


def test_regular_expressions_that_run_away_are_answered_or_stopped(store: WorkerStore) -> None:
    pages = Pages(name="text", titles={"Mill": "a" * 64 + "!"})
    began = time.monotonic()
    try:
        answer = store.query("SELECT ?t { ?p dcterms:title ?t FILTER REGEX(?t, '^(a+)+$') }", pages, limit=9)
        assert answer.rows == ()
    except TimedOut:
        pass
    assert time.monotonic() - began < LIMIT + 1.0 + 2.0  # the data set is loaded first
    assert cells(store.query(COUNT, pages, limit=1)) == [("5",)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { BIND(" + "1+" * 4_000 + "1 AS ?x) }",
        "SELECT * { " + "?s ?p ?o . " * 1_500 + "}",
        "SELECT * { " + "{ ?s ?p ?o } UNION " * 900 + "{ } }",
        "SELECT * { " + " . ".join(f"?s{i} ?p{i} ?o{i}" for i in range(900)) + " }",
        "SELECT * { ?s " + "wm:linksTo/" * 1_500 + "wm:linksTo ?o }",
        "SELECT * { VALUES ?x { " + "1 " * 9_000 + "} }",
        "SELECT ('" + "x" * 19_000 + "' AS ?x) { }",
        "SELECT * { " + "OPTIONAL { ?s ?p ?o } " * 800 + "}",
    ],
    ids=lambda query: query[:30],
)
def test_long_queries_are_answered_refused_or_stopped_in_time(store: WorkerStore, query: str) -> None:
    began = time.monotonic()
    with suppress(QueryRejected, TimedOut):
        store.query(query, Pages(), limit=10)
    assert time.monotonic() - began < LIMIT + 1.0
    assert cells(store.query(COUNT, Pages(), limit=1)) == [("5",)]


@pytest.mark.parametrize("forks", [True, False])
def test_memory_is_bounded(forks: bool) -> None:
    with store_of(forks=forks, seconds=20.0, memory_mb=64) as store:
        pages = Pages(name="big", links=BIG)
        text = "x" * 10_000
        hungry = (
            f"SELECT ?t {{ ?a ?b ?c . ?d ?e ?f BIND(CONCAT('{text}', STR(?a), STR(?d)) AS ?t) }} ORDER BY ?t"
        )
        with pytest.raises(QueryRejected, match="it needs more than 64 MB"):
            store.query(hungry, pages, limit=10)
        assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]


def test_no_connection_is_made_even_by_what_gets_past_the_gate(tmp_path: Path) -> None:
    """The engine is asked without a gate, in a child confined as queries are."""
    code = """
import sys
from wikimcp.triples import running
from wikimcp.triples.pyoxigraph import PyoxigraphEngine
engine = PyoxigraphEngine()
running.confine(1 << 28)
try:
    print(list(engine.rows(sys.argv[1], ("s",))))
except BaseException as error:
    print(type(error).__name__)
try:
    open(sys.argv[2])
except OSError as error:
    print("no file")
"""
    import subprocess
    import sys

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        query = f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"
        done = subprocess.run(
            [sys.executable, "-c", code, query, __file__], capture_output=True, text=True, check=False
        )
        assert done.stdout.splitlines() == ["OSError", "no file"], done
        with pytest.raises(TimeoutError):
            server.accept()


def busy(store: WorkerStore) -> bool:
    """Whether a query is at work: the process that waits for the next one sleeps."""
    try:
        children = psutil.Process(store.worker_pid).children()
        return len(children) > 1 and any(child.status() == psutil.STATUS_RUNNING for child in children)
    except psutil.NoSuchProcess:  # one ended just now
        return False


def test_a_process_answers_again_and_again_but_not_when_the_data_changed() -> None:
    with store_of() as store:
        pages = Pages()
        store.query(COUNT, pages, limit=1)
        worker = psutil.Process(store.worker_pid)
        until(lambda: len(worker.children()) == 2, "one has answered, one waits")
        known = {child.pid for child in worker.children()}
        for number in range(20):
            until(lambda: not busy(store), "it waits again")
            found = store.query(f"SELECT ?n {{ VALUES ?n {{ {number % 3} }} ?p a wm:Page }}", pages, limit=9)
            assert cells(found) == [(str(number % 3),)] * 5
        assert known & {child.pid for child in worker.children()}
        pages.links["New"] = ("Mill",)
        assert cells(store.query(COUNT, pages, limit=1)) == [("6",)]
        assert not known & {child.pid for child in worker.children()}


def test_a_process_that_has_become_large_is_not_kept() -> None:
    with store_of(memory_mb=64) as store:
        pages = Pages(name="big", links=BIG)
        store.query(COUNT, pages, limit=1)
        worker = psutil.Process(store.worker_pid)
        until(lambda: len(worker.children()) == 2, "one has answered, one waits")
        text = "x" * 10_000
        large = (
            f"SELECT ?t {{ ?a a wm:Page . ?b a wm:Hub BIND(CONCAT('{text}', STR(?a)) AS ?t) }} ORDER BY ?t"
        )
        large = large.replace("?b a wm:Hub", "?b wm:linksTo <urn:wikimcp:page:P7>")
        # Page faults are counted, and with large pages there are few: it may take more than one.
        until(
            lambda: store.query(large, pages, limit=1_000).rows and len(worker.children()) == 1,
            "it is gone, another waits",
        )


def test_a_query_that_the_machine_lets_not_begin_is_answered_at_its_limit_and_the_worker_goes_on() -> None:
    with store_of(seconds=0.2) as store:
        pages = Pages()
        store.query(COUNT, pages, limit=1)
        worker = psutil.Process(store.worker_pid)
        until(lambda: len(worker.children()) == 2, "one has answered, one waits")
        stopped = [worker, *worker.children()]
        for process in stopped:
            process.suspend()
        began = time.monotonic()
        with pytest.raises(TimedOut, match=r"stopped after 0\.2 seconds"):
            store.query(COUNT, pages, limit=1)
        assert time.monotonic() - began < 0.2 + 1.0
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        until(lambda: not busy(store), "the late query is done")
        assert cells(store.query(COUNT, pages, limit=1)) == [("5",)]
        assert store.worker_pid == worker.pid


def test_a_slow_query_delays_no_other() -> None:
    with store_of(seconds=8.0) as store:
        pages = Pages(name="big", links=BIG)
        store.query(COUNT, pages, limit=1)
        ended = threading.Event()

        def slow() -> None:
            with pytest.raises(WikimcpError):
                store.query(STOPPED["a cross product"], pages, limit=1)
            ended.set()

        thread = threading.Thread(target=slow)
        thread.start()
        try:
            until(lambda: busy(store), "the slow query runs")
            assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]
            assert not ended.is_set()
        finally:
            store.close()
            thread.join(timeout=10.0)
        assert ended.is_set()


def test_a_worker_that_is_ended_with_its_query_leaves_nothing_behind() -> None:
    with store_of(forks=False, seconds=0.1) as store:
        pages = Pages(name="big", links=BIG)
        store.query("ASK { }", pages, limit=1)
        me = psutil.Process()
        before = (me.num_threads(), me.num_fds())
        workers = {store.worker_pid}
        for _ in range(3):
            with pytest.raises(TimedOut):
                store.query(STOPPED["a cross product"], pages, limit=1)
            assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]
            workers.add(store.worker_pid)
        assert len(workers) == 4
        assert (me.num_threads(), me.num_fds()) == before
        assert [child.pid for child in me.children()].count(store.worker_pid or 0) == 1
    assert not workers & {child.pid for child in me.children()}


def test_who_must_wait_for_too_long_is_told() -> None:
    with store_of(forks=False, seconds=1.0) as store:
        pages = Pages(name="big", links=BIG)
        store.query(COUNT, pages, limit=1)
        store._places.acquire()  # as a query that runs has it
        with pytest.raises(Unavailable, match="other queries are running"):
            store.query(COUNT, pages, limit=1)
        store._places.release()
        assert cells(store.query(COUNT, pages, limit=1)) == [("300",)]


def test_many_hostile_queries_leave_no_process_thread_or_descriptor_behind() -> None:
    with store_of(seconds=0.1) as store:
        pages = Pages(name="big", links=BIG)
        store.query("ASK { }", pages, limit=1)
        me = psutil.Process()
        before = (me.num_threads(), me.num_fds())
        hostile = [*STOPPED.values(), *list(REFUSED)[:12]]
        for query in hostile * 2:
            with pytest.raises((TimedOut, QueryRejected)):
                store.query(query, pages, limit=1_000)
        assert (me.num_threads(), me.num_fds()) == before
        worker = psutil.Process(store.worker_pid)
        until(lambda: len(worker.children()) <= 2, "no query is left but processes for the next")
        assert not busy(store)
        assert worker.num_threads() == 1
    assert not psutil.pid_exists(worker.pid) or worker.status() == psutil.STATUS_ZOMBIE


def test_a_worker_that_was_killed_comes_back() -> None:
    with store_of() as store:
        pages = Pages()
        store.query(COUNT, pages, limit=1)
        first = store.worker_pid
        assert first is not None
        os.kill(first, 9)
        until(lambda: store.worker_pid is None, "it is gone")
        assert cells(store.query(COUNT, pages, limit=1)) == [("5",)]
        assert store.worker_pid not in (None, first)


def test_where_no_worker_can_start_that_is_said_at_once_and_for_a_while() -> None:
    with store_of() as store:
        store._command = ("/nonexistent/python",)
        with pytest.raises(Unavailable, match="worker process cannot run here"):
            store.query(COUNT, Pages(), limit=1)
        assert "cannot run here" in store.trouble
        assert "/nonexistent" not in store.trouble
    import sys

    with store_of() as store:
        store._command = (sys.executable, "-c", "raise SystemExit(3)")
        with pytest.raises(Unavailable, match="worker process cannot run here"):
            store.query(COUNT, Pages(), limit=1)


def test_a_closed_store_is_unavailable() -> None:
    with store_of() as store:
        store.query(COUNT, Pages(), limit=1)
        store.close()
        store.close()
        assert store.worker_pid is None
        with pytest.raises(Unavailable, match="stopping"):
            store.query(COUNT, Pages(), limit=1)


def test_the_members_are_those_of_the_family() -> None:
    assert MEMBERS == ("pyoxigraph", "rdflib")
