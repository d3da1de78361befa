"""Warm start: spawn, handshake and first bundle over real stdio, in both protocol eras."""

from __future__ import annotations

import sys
import time

from benchmarks.bench import Bench
from benchmarks.figures import BenchError, Recorder
from benchmarks.stdio_client import ERAS, Era

TITLE = "Warm start to first bundle"
_HANDSHAKES: dict[Era, str] = {"legacy": "initialize", "modern": "server/discover"}


def measure(bench: Bench, recorder: Recorder) -> None:
    """Start on a finished index, beside what Python and the MCP SDK's import take by themselves."""
    state = bench.warm_state
    pages = bench.pages  # asked of a server: afterwards all files are in the page cache
    times = bench.effort.runs * 3 if bench.effort.runs > 1 else 1
    recorder.remark(f"warm starts vary more and take less: {times} repetitions.")
    for _ in bench.repeat("warm", times):
        bare = bench.run([sys.executable, "-c", "pass"]).seconds
        sdk = bench.run([sys.executable, "-c", "import mcp.server"]).seconds
        recorder.add("warm.python", bare, label="python -c pass", unit="s")
        recorder.add("warm.sdk", sdk, label="python -c 'import mcp.server'", unit="s")
        for era in ERAS:
            with bench.client(state, era=era) as client:
                client.handshake()
                ready = time.perf_counter() - client.started
                answer = client.call("assemble_bundle", {"query": bench.question})
                total = time.perf_counter() - client.started
                first = client.seconds
                client.call("assemble_bundle", {"query": bench.question})
                again = client.seconds
            if not answer["sections"] or answer["index"]["pages"] != pages:
                raise BenchError(f"the first warm answer is not whole: {answer['index']}")
            if answer["index"]["state"] != "ready":
                recorder.remark(f"a first answer came while the index was {answer['index']['state']}")
            name = _HANDSHAKES[era]
            recorder.add(f"warm.{era}.handshake", ready, label=f"{era}: spawn and {name}", unit="s")
            recorder.add(f"warm.{era}.first_call", first, label=f"{era}: first assemble_bundle", unit="s")
            recorder.add(f"warm.{era}.total", total, label=f"{era}: spawn to first bundle", unit="s")
            recorder.add(
                f"warm.{era}.ratio", total / sdk, label=f"{era}: as a multiple of that import", unit="x"
            )
            recorder.add(f"warm.{era}.second_call", again, label=f"{era}: the same question again", unit="s")
