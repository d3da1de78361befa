"""Cold index: from nothing to an index that answers by words, then by vectors; beside plain Python."""

from __future__ import annotations

import time

from benchmarks.bench import Bench, until, whole
from benchmarks.figures import Recorder
from benchmarks.processes import inside
from benchmarks.stdio_client import StdioClient

TITLE = "Cold index"


def measure(bench: Bench, recorder: Recorder) -> None:
    """Index an empty state in the product's own process, then through a server that a client starts."""
    bench.say("a first build, not timed")
    question = bench.question  # found with a warm index: afterwards all files are in the page cache
    for _ in bench.repeat("cold"):
        words = bench.run(inside("words", str(bench.vault))).fact("words", "seconds")
        state = bench.fresh_state()
        built = bench.build(state)
        bench.drop(state)
        lexical = built.fact("lexical", "seconds")
        assert words is not None and lexical is not None
        recorder.add("cold.words", words, label="plain Python reads all files, counts words", unit="s")
        recorder.add("cold.lexical", lexical, label="ready by words, in process", unit="s")
        recorder.add("cold.ratio", lexical / words, label="the same, as a multiple of plain Python", unit="x")
        recorder.add("cold.lexical_spawn", built.at("lexical"), label="ready by words, from spawn", unit="s")
        if "dense" in built.events:
            dense = built.fact("dense", "seconds")
            recorder.add("cold.dense", dense, label="ready by vectors, in process", unit="s")
            recorder.add(
                "cold.dense_spawn", built.at("dense"), label="ready by vectors, from spawn", unit="s"
            )
        recorder.add("cold.pages", built.fact("counts", "pages"), label="pages", unit="count")
        recorder.add("cold.chunks", built.fact("counts", "chunks"), label="chunks", unit="count")
        pages = int(built.fact("counts", "pages") or 0)
        _through_a_server(bench, recorder, question, pages)


def _through_a_server(bench: Bench, recorder: Recorder, question: str, pages: int) -> None:
    """Start a server on an empty state and ask at once, as an agent does."""
    state = bench.fresh_state()
    with bench.client(state) as client:
        client.handshake()
        recorder.add("cold.handshake", _since(client), label="server: spawn to initialize answered", unit="s")
        until(client, question, lambda answer: bool(answer["sections"]))
        recorder.add("cold.first_answer", _since(client), label="server: spawn to first sections", unit="s")
        until(
            client,
            question,
            lambda answer: bool(answer["sections"]) and whole(answer, pages),
        )
        recorder.add(
            "cold.right_answer",
            _since(client),
            label="server: spawn to first answer from all pages",
            unit="s",
        )
    bench.drop(state)


def _since(client: StdioClient) -> float:
    return time.perf_counter() - client.started
