"""Parsing many files with a second process beside this one, since parsing holds the interpreter lock.

The worker is this very module run by the same interpreter: it reads pickled batches from its stdin
and ends when its parent closes the pipe or dies. The parent parses too while it waits.
"""

from __future__ import annotations

import gc
import os
import pickle  # nosec B403 # see where it is loaded
import selectors
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

from wikimcp.index.prepare import Prepared, Skipped, prepare_batch
from wikimcp.ports import PageAnalysis, VaultAdapter

_BATCH, _SMALLEST_BATCH = 48, 8
_AHEAD = 3  # batches a worker has in hand, so that it never waits for the parent
_LENGTH = struct.Struct("<Q")
POOL_FROM = 600  # files; below, starting a process costs more than it brings


def prepare_all(
    adapter: VaultAdapter, paths: Sequence[str], *, analyze: PageAnalysis, workers: int | None = None
) -> Iterator[Prepared | Skipped]:
    """Yield every file prepared, in no fixed order. ``workers`` None: decided by size and cores."""
    if workers is None:
        workers = spare_workers() if len(paths) >= POOL_FROM else 0
    if workers <= 0:
        for at in range(0, len(paths), _BATCH):
            yield from prepare_batch(adapter, paths[at : at + _BATCH], analyze=analyze)
        return
    yield from _with_workers(adapter, paths, analyze, workers)


def spare_workers() -> int:
    """Return how many processes may parse beside this one."""
    return min((os.cpu_count() or 1) - 1, 3)


def _with_workers(
    adapter: VaultAdapter, paths: Sequence[str], analyze: PageAnalysis, workers: int
) -> Iterator[Prepared | Skipped]:
    batches = deque(_batches(paths, workers + 1))
    pool = [_Worker(adapter, analyze) for _ in range(workers)]
    try:
        with selectors.DefaultSelector() as selector:
            for worker in pool:
                selector.register(worker.stdout, selectors.EVENT_READ, worker)
            while batches or any(worker.sent for worker in pool):
                for worker in pool:
                    while batches and worker.alive and len(worker.sent) < _AHEAD:
                        worker.send(batches.popleft())
                ready = selector.select(timeout=0 if batches else None)
                for key, _ in ready:
                    results = key.data.receive()
                    if results is None:  # the worker died: its batches are parsed here instead
                        batches.extendleft(key.data.sent)
                        key.data.sent.clear()
                        selector.unregister(key.fileobj)
                    else:
                        yield from results
                if not ready and batches:
                    yield from prepare_batch(adapter, batches.popleft(), analyze=analyze)
    finally:
        for worker in pool:
            worker.stop()


def _batches(paths: Sequence[str], processes: int) -> Iterator[Sequence[str]]:
    """Yield the paths in batches, smaller ones towards the end: then a worker's batches are waited for."""
    at = 0
    while at < len(paths):
        share = (len(paths) - at) // (2 * _AHEAD * processes)
        size = min(max(share, _SMALLEST_BATCH), _BATCH)
        yield paths[at : at + size]
        at += size


class _Worker:
    """A child process and the batches it was sent and has not answered."""

    def __init__(self, adapter: VaultAdapter, analyze: PageAnalysis) -> None:
        self._process = subprocess.Popen(  # nosec B603 # our own words, no shell
            # -P: nothing that lies in the current folder, perhaps a vault, is ever imported.
            [sys.executable, "-P", "-c", "from wikimcp.index.parse_pool import work; work()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self.stdout: IO[bytes] = self._process.stdout
        self.sent: deque[Sequence[str]] = deque()
        self.alive = True
        self._put((adapter, analyze))

    def _put(self, value: object) -> None:
        try:
            _write_frame(self._stdin, value)
        except OSError:
            self.alive = False

    def send(self, batch: Sequence[str]) -> None:
        """Hand over a batch of paths."""
        self.sent.append(batch)
        self._put(batch)

    def receive(self) -> list[Prepared | Skipped] | None:
        """Take the results of the oldest batch; None when the worker is gone."""
        try:
            results: list[Prepared | Skipped] = _read_frame(self.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.alive = False
            return None
        self.sent.popleft()
        return results

    def stop(self) -> None:
        """End the child and free its pipes."""
        for stream in (self._stdin, self.stdout):
            with suppress(OSError):
                stream.close()
        self._process.kill()
        self._process.wait()


def work() -> None:
    """Run the worker's side: how to read first, then batches of paths until stdin closes."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints while parsing must not break the frames
    gc.disable()  # what parsing makes goes by itself; looking for circles in it finds none
    try:
        adapter, analyze = _read_frame(stdin)
        while True:
            batch = _read_frame(stdin)
            _write_frame(stdout, prepare_batch(adapter, batch, analyze=analyze))
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _write_frame(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _read_frame(stream: IO[bytes]) -> Any:  # noqa: ANN401 - frames are of several types
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(header)
    return pickle.loads(stream.read(length))  # nosec B301 # from our own child or parent alone
