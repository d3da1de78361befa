"""Chooses the member that answers SPARQL; it runs in a worker process (``engines``)."""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec

from wikimcp.ports import TripleLimits, TripleStore
from wikimcp.triples.processes import ForkingWorker, PlainWorker
from wikimcp.triples.worker import WorkerStore

ENGINES = ("pyoxigraph", "rdflib")
"""The members, the fastest first. Both need rdflib, whose parser stands before every query."""

CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
"""Whether a query can have a process of its own."""


def open_triples(
    limits: TripleLimits, engine: str = ENGINES[0], *, forks: bool = CAN_FORK
) -> TripleStore | str:
    """Return the store, which starts nothing before the first query, or why there can be none.

    Where ``forks`` is false, queries run one after the other in a worker that is started anew after each
    that had to be stopped.
    """
    absent = [name for name in dict.fromkeys((engine, "rdflib")) if find_spec(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    # -P: nothing that lies in the current folder, perhaps a vault, is ever imported.
    code = (  # what is imported stays: no collector need look at it again and again
        "import gc, sys; gc.disable(); "
        "from wikimcp.triples.engines import serve; serve(sys.argv[1], *map(int, sys.argv[2:]))"
    )
    way = ForkingWorker if forks else PlainWorker
    return WorkerStore([sys.executable, "-P", "-c", code, engine], limits, way)
