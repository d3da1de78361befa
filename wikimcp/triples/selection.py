"""Chooses the member that answers SPARQL; it runs in a worker process (``engines``)."""

from __future__ import annotations

import os
import socket
import sys
from importlib.util import find_spec

from wikimcp.ports import TripleLimits, TripleStore
from wikimcp.triples.worker import WorkerStore

ENGINES = ("pyoxigraph", "rdflib")
"""The members, the fastest first. Both need rdflib, whose parser stands before every query."""


def open_triples(limits: TripleLimits, engine: str = ENGINES[0]) -> TripleStore | str:
    """Return the store, which starts nothing before the first query, or why there can be none."""
    if not (hasattr(os, "fork") and hasattr(socket, "send_fds")):
        return "SPARQL needs a system that can fork processes"
    absent = [name for name in dict.fromkeys((engine, "rdflib")) if find_spec(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    # -P: nothing that lies in the current folder, perhaps a vault, is ever imported.
    code = "import sys; from wikimcp.triples.engines import serve; serve(sys.argv[1], int(sys.argv[2]))"
    return WorkerStore([sys.executable, "-P", "-c", code, engine], limits)
