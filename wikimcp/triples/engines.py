"""What the worker process runs: one member of the family behind the gate of rdflib's parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wikimcp.triples.pyoxigraph import PyoxigraphEngine
from wikimcp.triples.rdflib import RdflibEngine, parse
from wikimcp.triples.serving import Engine, serve_data_sets

_ENGINES: Mapping[str, Callable[[], Engine]] = {"pyoxigraph": PyoxigraphEngine, "rdflib": RdflibEngine}


def serve(name: str, descriptor: int) -> None:
    """Serve data sets with the engine of that name until the socket's other end closes."""
    serve_data_sets(descriptor, _ENGINES[name], parse)
