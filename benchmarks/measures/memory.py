"""Memory: of building, of serving, and of several servers on one vault."""

from __future__ import annotations

import os
from contextlib import ExitStack
from itertools import cycle, islice

from benchmarks.bench import Bench
from benchmarks.figures import Recorder
from benchmarks.memory import FamilyWatch, memory_of
from benchmarks.processes import inside
from benchmarks.stdio_client import StdioClient

TITLE = "Memory"


def measure(bench: Bench, recorder: Recorder) -> None:
    """Build, serve from cold, serve from warm, serve several times; each in fresh processes."""
    recorder.remark(
        "MB are 1,000,000 bytes. Peaks are the kernel's (VmHWM) and count mapped index files; shares (PSS) "
        "count a page that n processes map as 1/n."
    )
    if memory_of(os.getpid()) is None:
        recorder.remark("this system does not tell the memory of its processes: nothing could be measured.")
        return
    for _ in bench.repeat("memory"):
        _of_building(bench, recorder)
        _of_a_first_session(bench, recorder)
        _of_serving(bench, recorder)
        _of_several(bench, recorder, bench.effort.servers)


def _of_building(bench: Bench, recorder: Recorder) -> None:
    state = bench.fresh_state()
    command = inside("build", str(bench.vault), str(state), bench.embedder)
    with bench.child(command) as child, FamilyWatch(child.process.pid) as watch:
        child.finish()
    bench.drop(state)
    recorder.add(
        "memory.lexical", child.fact("lexical", "peak_mb"), label="build by words, peak RSS", unit="MB"
    )
    if "dense" in child.events:
        recorder.add(
            "memory.dense", child.fact("dense", "peak_mb"), label="build with vectors, peak RSS", unit="MB"
        )
    recorder.add("memory.family", watch.peak, label="build with its workers, peak sum of PSS", unit="MB")


def _of_a_first_session(bench: Bench, recorder: Recorder) -> None:
    """One server on an empty state that indexes, embeds and answers: the most a process may take."""
    state = bench.fresh_state()
    with bench.client(state) as client:
        client.handshake()
        bench.rested(client)
        _ask(bench, client, bench.effort.queries)
        if memory := memory_of(client.process.pid):
            recorder.add(
                "memory.session",
                memory.peak,
                label="server from cold, after its queries, peak RSS",
                unit="MB",
            )
    bench.drop(state)


def _of_serving(bench: Bench, recorder: Recorder) -> None:
    with bench.client(bench.warm_state) as client:
        client.handshake()
        bench.settled(client)
        if memory := memory_of(client.process.pid):
            recorder.add("memory.warm", memory.resident, label="warm server, first answer, RSS", unit="MB")
        _ask(bench, client, bench.effort.queries)
        if memory := memory_of(client.process.pid):
            recorder.add(
                "memory.serving", memory.peak, label="warm server, after its queries, peak RSS", unit="MB"
            )
            recorder.add("memory.share.one", memory.share, label="one such server, PSS", unit="MB")


def _of_several(bench: Bench, recorder: Recorder, servers: int) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(bench.client(bench.warm_state)) for _ in range(servers)]
        for client in clients:
            client.handshake()
            bench.settled(client)
            _ask(bench, client, bench.effort.queries)
        found = [memory_of(client.process.pid) for client in clients]
    shares = [memory.share for memory in found if memory]
    if len(shares) == servers:
        label = f"{servers} such servers on one vault, sum of PSS"
        recorder.add("memory.share.many", sum(shares), label=label, unit="MB")


def _ask(bench: Bench, client: StdioClient, queries: int) -> None:
    """Ask so many questions, beginning anew when they run out."""
    for question in islice(cycle(bench.questions), queries):
        client.call("assemble_bundle", {"query": question})
