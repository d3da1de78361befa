"""What the worker process runs: one member of the family behind the gate of rdflib's parser."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping

from wikimcp.triples.frames import PipeWire, SocketWire, Wire
from wikimcp.triples.pyoxigraph import PyoxigraphEngine
from wikimcp.triples.rdflib import RdflibEngine, parse
from wikimcp.triples.running import Engine
from wikimcp.triples.serving import serve_data_sets

_ENGINES: Mapping[str, Callable[[], Engine]] = {"pyoxigraph": PyoxigraphEngine, "rdflib": RdflibEngine}


def serve(name: str, descriptor: int | None = None) -> None:
    """Serve data sets with the engine of that name until the store closes its end.

    Over the socket ``descriptor`` queries are forked; without one all goes over stdin and stdout.
    """
    if descriptor is not None:
        wire: Wire = SocketWire(socket.socket(fileno=descriptor))
    else:
        writer = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what a library prints is no frame
        wire = PipeWire(sys.stdin.buffer, writer)
    serve_data_sets(wire, _ENGINES[name], parse, forks=descriptor is not None)
