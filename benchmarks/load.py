"""Load over HTTP: ``python -m benchmarks.load [--seconds N] [--clients N] [--vault DIR]``.

Many clients with mixed calls on two servers of one vault, half of the time beside one client that sends
the slowest calls there are on as many connections as it likes. Tells times by phase, errors, and memory.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.memory import memory_of
from benchmarks.processes import ROOT
from benchmarks.protocol_fuzz import http_server
from wikimcp.access.key_file import KeyFile
from wikimcp.access.keys import mint

SERVERS = 2
PATIENCE = 90.0
SLOWEST_SPARQL = (
    "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f "
    "FILTER(STRLEN(STR(?b)) > STRLEN(STR(?d)) + STRLEN(STR(?f))) }"
)
QUESTIONS = (
    *("does a failover help when the disk is full?", "how do we roll back a deploy", "who owns billing"),
    *("retries and the outbox", "knit a scarf", "connection pool", "what happened in January", "ADR"),
)
KEYS = 8
"""Keys that the ordinary clients share among them; the slowest client has one of its own."""

_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass
class Tally:
    """What clients saw: seconds of good answers by phase, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    slow_calls: int = 0

    def add(self, phase: str, seconds: float) -> None:
        """Note a good answer."""
        self.seconds.setdefault(phase, []).append(seconds)

    def p95(self, phase: str) -> float:
        """Return the 95th percentile of a phase, in seconds; 0 where nothing was asked."""
        found = self.seconds.get(phase, [])
        return statistics.quantiles(found, n=20)[-1] if len(found) > 1 else 0.0


@dataclass
class Clock:
    """The phase all threads are in: ``warm``, ``alone``, ``beside the slowest``; and whether it is over."""

    phase: str = "warm"
    over: threading.Event = field(default_factory=threading.Event)


def calls(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield calls of mixed tools without end."""
    chance = random.Random(seed)  # noqa: S311 - no secret is made of it
    while True:
        question = chance.choice(QUESTIONS)
        mixed: list[tuple[str, dict[str, Any]]] = [
            ("assemble_bundle", {"query": question, "token_budget": chance.choice((700, 2_000, 6_000))}),
            ("assemble_bundle", {"query": question, "mode": "lexical"}),
            ("retrieve_context", {"query": question, "max_pages": 3}),
            ("get_briefing", {"prompt": question, "budget": 1_500}),
            ("list_pages", {"limit": 20}),
            ("list_tags", {}),
            ("list_clusters", {}),
            ("query_nodes", {"limit": 10}),
            ("search_knowledge", {"query": question}),
            ("sparql_query", {"query": "SELECT (COUNT(*) AS ?n) { ?p wm:slug ?s }"}),
        ]
        chance.shuffle(mixed)
        yield from mixed


def ordinary_client(port: int, key: str, seed: int, clock: Clock, tally: Tally) -> None:
    """Call tool after tool until the time is over; every error counts."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        for tool, arguments in calls(seed):
            if clock.over.is_set():
                return
            phase, began = clock.phase, time.perf_counter()
            try:
                fault = _fault(_call(connection, key, tool, arguments))
            except (OSError, http.client.HTTPException, ValueError) as error:
                fault = repr(error)
                connection.close()
            if fault:
                tally.errors.append(f"{phase}: {tool}: {fault}")
            elif clock.phase == phase:
                tally.add(phase, time.perf_counter() - began)


def slowest_client(port: int, key: str, clock: Clock, tally: Tally) -> None:
    """Send the slowest calls one after another; what becomes of them is its own matter."""
    while not clock.over.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException, ValueError),
        ):
            _call(connection, key, "sparql_query", {"query": SLOWEST_SPARQL})
            tally.slow_calls += 1


def dripping_client(port: int, key: str, clock: Clock) -> None:
    """Send a head at once and its body byte by byte, again and again."""
    while not clock.over.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as wire:
            head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
            wire.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
            while not clock.over.wait(1.0):
                wire.sendall(b" ")


def _call(
    connection: http.client.HTTPConnection, key: str, tool: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {**_JSON, "Authorization": f"Bearer {key}"}
    connection.request("POST", "/mcp", json.dumps(message), headers)
    reply = connection.getresponse()
    answer: dict[str, Any] = json.loads(reply.read())
    return {"status": reply.status, **answer}


def _fault(answer: Mapping[str, Any]) -> str:
    """Return what is wrong with an answer; empty when nothing is."""
    if answer["status"] != 200 or "result" not in answer:
        return json.dumps(answer)[:200]
    result = answer["result"]
    return result["content"][0]["text"][:200] if result.get("isError") else ""


def run(vault: Path, *, seconds: float, clients: int, slow: int, embedder: str) -> dict[str, Any]:
    """Load two servers and return what was seen; half of the time with ``slow`` slowest connections."""
    tally, clock = Tally(), Clock()
    memory: dict[str, list[float]] = {"alone": [], "beside the slowest": []}
    with tempfile.TemporaryDirectory(prefix="wikimcp-load-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        keys, more = _keys(folder), {"WIKIMCP_HTTP_KEYS_FILE": str(folder / "keys.json")}
        servers = [
            stack.enter_context(http_server(vault, folder, embedder=embedder, more=more))
            for _ in range(SERVERS)
        ]
        ports = [port for _, port in servers]
        threads = [
            threading.Thread(
                target=ordinary_client,
                args=(ports[number % SERVERS], keys[number % KEYS], number, clock, tally),
            )
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        clock.over.wait(min(10.0, seconds / 6))
        for phase in memory:
            clock.phase = phase
            if phase != "alone":
                threads += _started_slow(ports[0], keys[-1], slow, clock, tally)
            _watch(memory[phase], [process.pid for process, _ in servers], seconds / 2)
        clock.over.set()
        for thread in threads:
            thread.join()
    return {
        "clients": clients,
        "slow_connections": slow,
        "seconds": seconds,
        "calls": {phase: len(found) for phase, found in tally.seconds.items()},
        "p50_ms": {phase: round(statistics.median(found) * 1e3, 1) for phase, found in tally.seconds.items()},
        "p95_ms": {phase: round(tally.p95(phase) * 1e3, 1) for phase in tally.seconds},
        "errors": len(tally.errors),
        "first_errors": tally.errors[:5],
        "slow_calls": tally.slow_calls,
        "memory_mb": {phase: _growth(found) for phase, found in memory.items()},
    }


def _keys(folder: Path) -> list[str]:
    """Make keys for the ordinary clients, and as the last one that of the slowest."""
    file, texts = KeyFile(folder / "keys.json"), []
    for number in range(KEYS + 1):
        key, text = mint(f"client-{number}", scopes=["mcp_read"], now=datetime.now(UTC))
        file.add(key)
        texts.append(text)
    return texts


def _started_slow(port: int, key: str, slow: int, clock: Clock, tally: Tally) -> list[threading.Thread]:
    threads = [threading.Thread(target=slowest_client, args=(port, key, clock, tally)) for _ in range(slow)]
    threads += [threading.Thread(target=dripping_client, args=(port, key, clock)) for _ in range(slow)]
    for thread in threads:
        thread.start()
    return threads


def _watch(readings: list[float], pids: Sequence[int], seconds: float) -> None:
    """Add up the memory of the processes once in a while."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < end:
        found = [memory_of(pid) for pid in pids]
        readings.append(sum(one.resident for one in found if one is not None))
        pause.wait(min(1.0, seconds / 10))


def _growth(readings: Sequence[float]) -> dict[str, float]:
    """Return the memory at the first and at the last, as medians of a quarter of the readings each."""
    quarter = max(1, len(readings) // 4)
    first, last = statistics.median(readings[:quarter]), statistics.median(readings[-quarter:])
    return {"first": round(first, 1), "last": round(last, 1)}


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line; exit code 1 when a call of an ordinary client failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument(
        "--slow", type=int, default=16, help="connections of the client with the slowest calls"
    )
    parser.add_argument("--vault", type=Path, default=ROOT / "sample_vault")
    parser.add_argument("--embedder", default="wordllama")
    arguments = parser.parse_args(argv)
    found = run(
        arguments.vault,
        seconds=arguments.seconds,
        clients=arguments.clients,
        slow=arguments.slow,
        embedder=arguments.embedder,
    )
    print(json.dumps(found, indent=1))
    return 1 if found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
