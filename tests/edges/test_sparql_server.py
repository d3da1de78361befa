"""SPARQL behind a real server: other calls go on, and its worker ends with the server, however that ends."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.edges.processes import PATIENCE, StdioServer, call, environment, stdio_server
from tests.index.live_wiki import until

BOMB = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
COUNT = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"


@contextmanager
def served(tmp_path: Path, *flags: str) -> Iterator[StdioServer]:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(20):
        (vault / f"p{number}.md").write_text(f"# Page {number}\n\nSee [[p{(number + 1) % 20}]].\n")
    names = ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    env = environment(**{name: str(tmp_path / name.lower()) for name in names})
    command = ("-m", "wikimcp", "serve", str(vault), "--embedder", "none", *flags)
    with stdio_server(*command, env=env) as server:
        yield server


def asked(server: StdioServer, number: int, query: str) -> str:
    server.send(call(number, "sparql_query", query=query))
    answer = server.receive()
    assert answer["id"] == number
    return str(answer["result"]["content"][0]["text"])


def test_other_calls_are_answered_while_a_query_runs_into_its_limit(tmp_path: Path) -> None:
    with served(tmp_path, "--set", "sparql.seconds=3") as server:
        assert "[20]" in asked(server, 1, COUNT)
        server.send(call(2, "sparql_query", query=BOMB))
        for number in range(3, 9):
            server.send(call(number, "assemble_bundle", query="page"))
            assert server.receive()["id"] == number, "the slow query was waited for"
        slow = server.receive()
        assert slow["id"] == 2
        assert slow["result"]["isError"] is True
        assert slow["result"]["content"][0]["text"].startswith(
            "timeout: the query was stopped after 3 seconds"
        )
        assert "[20]" in asked(server, 9, COUNT)


@pytest.mark.parametrize("end", ["killed", "terminated", "left"])
def test_nothing_is_left_when_the_server_ends_during_a_query(tmp_path: Path, end: str) -> None:
    with served(tmp_path, "--set", "sparql.seconds=60") as server:
        assert "[20]" in asked(server, 1, COUNT)
        me = psutil.Process(server.process.pid)
        [worker] = [child for child in me.children() if "wikimcp.triples" in " ".join(child.cmdline())]
        server.send(call(2, "sparql_query", query=BOMB))
        until(lambda: len(worker.children()) > 1, "the query runs beside the process for the next one")
        family = [worker, *worker.children()]
        if end == "killed":
            server.process.send_signal(signal.SIGKILL)
        elif end == "terminated":
            server.process.terminate()
        else:
            assert server.process.stdin is not None
            server.process.stdin.close()
        server.process.wait(timeout=PATIENCE)
        # The reader threads see the end of stdout and stderr only when nobody else holds them.
        server.wait()
        gone = psutil.wait_procs(family, timeout=PATIENCE)[0]
        assert len(gone) == len(family)


def test_starting_and_other_calls_start_no_worker(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.send(call(1, "assemble_bundle", query="page"))
        assert server.receive()["id"] == 1
        children = psutil.Process(server.process.pid).children(recursive=True)
        assert not [child for child in children if "triples" in " ".join(child.cmdline())]
