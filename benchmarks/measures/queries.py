"""Time of each tool on a warm index: inside the server, and over stdio."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.figures import Recorder, percentile
from benchmarks.processes import inside
from benchmarks.workload import Calls, workload

TITLE = "Queries"
STATISTICS = ("p50", "p95", "max")


def measure(bench: Bench, recorder: Recorder) -> None:
    """Make the same calls, each once, in fresh processes: by the service's door, then over the wire."""
    with bench.client(bench.warm_state) as client:
        client.handshake()
        bench.settled(client)
        calls = workload(client, bench.questions, queries=bench.effort.queries, pages=bench.effort.pages)
    recorder.remark(
        "calls (a tool with few different arguments gets them again and again): "
        + ", ".join(f"{tool} {len(arguments)}" for tool, arguments in calls.items())
    )
    for _ in bench.repeat("queries inside the server"):
        command = inside("queries", str(bench.vault), str(bench.warm_state), bench.embedder)
        with bench.child(command, stdin=json.dumps(calls)) as child:
            pass
        for tool in calls:
            _add(recorder, "inside", tool, child.events[tool].facts["milliseconds"])
    for _ in bench.repeat("queries over stdio"):
        for tool, taken in _over_stdio(bench, calls).items():
            _add(recorder, "stdio", tool, taken)


def _over_stdio(bench: Bench, calls: Calls) -> dict[str, list[float]]:
    """Make all calls through one server; returns milliseconds by tool."""
    taken: dict[str, list[float]] = {}
    with bench.client(bench.warm_state) as client:
        client.handshake()
        bench.settled(client)
        for tool, arguments in calls.items():
            for asked in arguments:
                client.call(tool, asked)
                taken.setdefault(tool, []).append(client.seconds * 1000)
    return taken


def _add(recorder: Recorder, where: str, tool: str, taken: Sequence[float]) -> None:
    values = (percentile(taken, 0.5), percentile(taken, 0.95), max(taken))
    for statistic, value in zip(STATISTICS, values, strict=True):
        recorder.add(f"queries.{where}.{tool}.{statistic}", value, label=tool, unit="ms")
