"""Processes for queries, forked from the worker that holds the data.

A process is confined for good with its first query, and the kernel ends it with one that takes too long;
what a query does to itself ends with it, and the data stays loaded. One that answers in time is kept for the
next query, as what it touched of the data is its own by then; it goes when that becomes much, when nobody
asks for a while, or when the data changes. One more waits ready, so that no query waits for a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from wikimcp.triples import frames
from wikimcp.triples.data_set import DataSet
from wikimcp.triples.running import confine, limit_time

_SIZE = struct.Struct("<Q")
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
_NICENESS = 5  # a query yields to calls that are not SPARQL
_SAVING_NICENESS = 19
_MOST_OWN = 64 << 20  # bytes of memory that a process which waits may have for itself
_MOST_WAITING = 2
_KEPT_SECONDS = 30.0
_BETWEEN_WORK = 0.005  # seconds in which a query may come, which is served first

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class ForkedQueries:
    """The processes of one worker. ``rehearse`` touches what every query will, before its time counts."""

    def __init__(self, wire: frames.SocketWire, answer: Answer, rehearse: Callable[[], object]) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for queries: the kernel forgets them
        self._wire = wire
        self._answer = answer
        self._rehearse = rehearse
        self._waiting: list[frames.SocketWire] = []  # the one that was used last stands last
        self._busy: list[frames.SocketWire] = []

    def wait(self, work: Callable[[], bool]) -> None:
        """Wait for a frame; meanwhile work while there is something to do, and take back processes."""
        more = True
        while True:
            found, _, _ = select.select([self._wire, *self._busy], [], [], _BETWEEN_WORK if more else None)
            if self._wire in found:
                return
            if found:
                self._gather()
            elif more:
                more = work()

    def discard(self) -> None:
        """Let go of all processes: those that wait end now, the others when they have answered."""
        for wire in (*self._waiting, *self._busy):
            wire.close()
        self._waiting, self._busy = [], []

    def get_ready(self) -> None:
        """See that a process waits for the next query. Raises OSError where none can start."""
        self._gather()
        if self._waiting:
            return
        mine, its = socket.socketpair()
        if os.fork():
            its.close()
            self._waiting.append(frames.SocketWire(mine))
            return
        try:
            mine.close()
            self._wire.close()
            self.discard()
            self._serve(frames.SocketWire(its))
        finally:
            os._exit(0)

    def run(self, payload: bytes, descriptors: list[int]) -> None:
        """Give a query to a process that waits; an error goes to the descriptor."""
        [descriptor] = descriptors
        try:
            self._hand_over(payload, descriptor)
        except OSError as error:
            message = f"no process can start ({error.strerror})"
            with contextlib.suppress(OSError):
                os.write(descriptor, frames.BEGUN)
                _write(descriptor, {"error": "unavailable", "message": message})
        os.close(descriptor)

    def save(self, data: DataSet, payload: bytes) -> None:
        """Have a process write the file: it has the data as it is now, and ends by itself."""
        with contextlib.suppress(OSError):
            if os.fork():
                return
            try:
                self.discard()
                self._wire.close()
                os.nice(_SAVING_NICENESS)
                data.save(payload)
            finally:
                os._exit(0)

    def _gather(self) -> None:
        """Take back the processes that have answered, and forget those that ended."""
        for wire in list(self._busy):
            if wire.waiting():
                self._busy.remove(wire)
                try:
                    wire.receive()
                    self._waiting.append(wire)
                except (EOFError, OSError):
                    wire.close()
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.pop(0).close()

    def _hand_over(self, payload: bytes, descriptor: int) -> None:
        while True:
            self.get_ready()
            wire = self._waiting.pop()
            try:
                wire.send(frames.QUERY, payload, descriptor=descriptor)
            except OSError:
                wire.close()  # it ended while it waited
                continue
            self._busy.append(wire)
            return

    # In the process

    def _serve(self, wire: frames.SocketWire) -> None:
        """Answer queries until there are none, or until this process has become large."""
        _die_with_parent()
        gc.freeze()  # the collector of this process is for its own garbage alone
        gc.enable()
        if not wire.waiting():  # else somebody waits for this one
            self._rehearse()
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
        confined = False
        while True:
            if confined and not wire.waiting(_KEPT_SECONDS):
                wire.refuse()  # what was sent until now is still read
            try:
                _, payload, [descriptor] = wire.receive()
            except (EOFError, OSError, ValueError):
                return
            request = json.loads(payload)
            limit_time(request["seconds"])
            if not confined:
                confine(request["memory_bytes"], answer=descriptor)
                confined = True
            os.write(descriptor, frames.BEGUN)
            _write(descriptor, self._answer(request))
            os.close(descriptor)
            limit_time(0.0)
            if _own_bytes() > min(_MOST_OWN, request["memory_bytes"] // 4):
                return
            wire.send(frames.IDLE)
            gc.collect()


def _own_bytes() -> int:
    """Return about how many bytes this process has come to have for itself: copied pages, and new ones."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt * resource.getpagesize()


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)


def _write(descriptor: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer, separators=(",", ":")).encode()
    view = memoryview(_SIZE.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]
