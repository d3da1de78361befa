"""Completions of argument values: slugs, clusters, tags, topics. View names only."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from wikimcp.index.names import fold
from wikimcp.index.view import Reading

MOST = 100  # what a client may be sent at once


def complete(reading: Reading, argument: str, value: str) -> list[str]:
    """Return names that begin like ``value``, then those that hold it, at most 100.

    In a comma-separated list the last name is completed and the others kept.
    """
    head, comma, tail = value.rpartition(",") if argument in ("pins", "clusters", "tags") else ("", "", value)
    wanted = fold(tail.strip())
    found = nsmallest(MOST, _ranked(_names(reading, argument), wanted))
    return [f"{head}{comma}{name}" for _, _, name in found]


def _names(reading: Reading, argument: str) -> Iterable[str]:
    if argument in ("slug", "pins", "slugs", "page"):
        return (page.slug for page in reading.pages if not page.conflict_copy)
    if argument in ("name", "cluster", "clusters"):
        return reading.clusters
    if argument in ("tag", "tags"):
        return reading.tags
    if argument == "topic":
        titles = (page.title for page in reading.pages if not page.conflict_copy)
        return dict.fromkeys([*reading.clusters, *titles, *reading.tags])
    return ()


def _ranked(names: Iterable[str], wanted: str) -> Iterable[tuple[int, str, str]]:
    for name in names:
        folded = fold(name)
        at = folded.find(wanted)
        if at >= 0:
            yield (min(at, 1), folded, name)
