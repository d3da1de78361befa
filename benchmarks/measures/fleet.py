"""Several servers started at once on one cold vault: when all answer right, and who did the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, until, whole
from benchmarks.figures import BenchError, Recorder
from benchmarks.memory import cpu_seconds
from benchmarks.stdio_client import StdioClient

TITLE = "Several servers at once"
_NEW_PAGE = "bench-fleet.md"
_WORD = "zyxfleetword"


def measure(bench: Bench, recorder: Recorder) -> None:
    """Start one server, then several at once, each time on a state that nothing has used."""
    pages = bench.pages
    for _ in bench.repeat("servers at once"):
        for key, servers in (("fleet.one", 1), ("fleet.many", bench.effort.servers)):
            _one_fleet(bench, recorder, key, servers, pages)


def _one_fleet(bench: Bench, recorder: Recorder, key: str, servers: int, pages: int) -> None:
    state = bench.fresh_state()
    page = bench.vault / _NEW_PAGE
    name = "one server" if servers == 1 else f"{servers} servers"
    with ExitStack() as stack:
        builds = stack.enter_context(BuildWatch(state))
        clients = [stack.enter_context(bench.client(state)) for _ in range(servers)]
        begin = clients[0].started
        everyone = stack.enter_context(ThreadPoolExecutor(servers))

        def at(wait: Callable[[StdioClient], Any]) -> float:
            list(everyone.map(wait, clients))
            return time.perf_counter() - begin

        right = at(lambda client: _until_right(bench, client, pages))
        recorder.add(f"{key}.right", right, label=f"{name}: all answer from all pages", unit="s")
        dense = at(bench.rested)
        recorder.add(f"{key}.dense", dense, label=f"{name}: all answer with vectors", unit="s")
        used = [cpu_seconds(client.process.pid) for client in clients]
        if all(value is not None for value in used):
            total = sum(value for value in used if value is not None)
            recorder.add(f"{key}.cpu", total, label=f"{name}: processor time until then", unit="s")
        try:
            page.write_text(f"# {_WORD}\n\nA page about {_WORD}.\n", encoding="utf-8")
            saw = list(everyone.map(_sees, clients))
        finally:
            page.unlink(missing_ok=True)
    if not builds.seen:
        raise BenchError("no index folder was seen: builds cannot be counted")
    share = 100 * sum(saw) / servers
    recorder.add(f"{key}.builds", len(builds.seen), label=f"{name}: index builds", unit="count")
    recorder.add(
        f"{key}.edit", share, label=f"{name}: share that has a new page in the next answer", unit="%"
    )
    bench.drop(state)


def _until_right(bench: Bench, client: StdioClient, pages: int) -> None:
    client.handshake()
    until(client, bench.question, lambda answer: bool(answer["sections"]) and whole(answer, pages))


def _sees(client: StdioClient) -> bool:
    answer = client.try_call("assemble_bundle", {"query": _WORD})
    return answer is not None and any(_WORD in section["text"] for section in answer["sections"])


class BuildWatch:
    """Counts the index folders that ever appear in a state directory: one for each build that was begun."""

    def __init__(self, state: Path) -> None:
        self.seen: set[str] = set()
        self._state = state
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> BuildWatch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.seen.update(folder.name for folder in self._state.glob("*/index-*"))
            if self._stop.wait(0.05):
                return
