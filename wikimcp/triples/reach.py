"""What a query can touch of the data, by its algebra: the predicates of its patterns, if all are fixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wikimcp.triples.terms import RDF

Reach = frozenset[tuple[str, str]] | None
"""Pairs of a predicate and, for ``rdf:type``, a class (else empty); None: anything may be touched."""

_TYPE = f"{RDF}type"
_GROUPS = frozenset(
    ("GroupGraphPatternSub", "GroupOrUnionGraphPattern", "OptionalGraphPattern", "MinusGraphPattern")
)


def reach_of(nodes: Iterable[Any], kind: str) -> Reach:
    """Return what the patterns among the nodes of an algebra can match; ``kind`` is that of the plan.

    A path of no length meets every node there is, and so does a description.
    """
    if kind == "graph":
        return None
    found: set[tuple[str, str]] = set()
    for node in nodes:
        if "Graph" in node.name and node.name not in _GROUPS:
            return None
        for predicate, value in _patterns(node):
            names = _names_in(predicate)
            if names is None:
                return None
            for name in names:
                if name == _TYPE and (name != str(predicate) or not _is_iri(value)):
                    return None
                found.add((name, str(value) if name == _TYPE else ""))
    return frozenset(found)


def _patterns(node: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - see gate._walk
    """Yield predicate and object of the patterns of a node.

    Those within EXISTS stand there as they were parsed: in lists of subject, predicate, object, subject ...
    """
    if node.name == "BGP":
        yield from ((predicate, value) for _, predicate, value in node["triples"])
    elif "triples" in node:
        for flat in node["triples"]:
            whole = len(flat) % 3 == 0
            yield from zip(flat[1::3], flat[2::3], strict=True) if whole else [(None, None)]


def _is_iri(term: object) -> bool:
    return type(term).__name__ == "URIRef"


def _names_in(predicate: Any) -> list[str] | None:  # noqa: ANN401 - a term or a path of the parser
    """Return the predicates of a path; None where it is a variable or may match others."""
    if _is_iri(predicate):
        return [str(predicate)]
    match type(predicate).__name__:
        case "SequencePath" | "AlternativePath":
            parts = predicate.args
        case "InvPath":
            parts = [predicate.arg]
        case "MulPath" if not predicate.zero:
            parts = [predicate.path]
        case _:
            return None
    found: list[str] = []
    for part in parts:
        names = _names_in(part)
        if names is None:
            return None
        found += names
    return found
