"""A small wiki as triples, and stores over it that are closed at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from wikimcp.ports import RdfTerm, TripleAnswer, TripleLimits
from wikimcp.triples.selection import ENGINES, open_triples
from wikimcp.triples.terms import DCTERMS, RDF, WM, text_literal, thing, whole_literal
from wikimcp.triples.vocabulary import vocabulary_lines
from wikimcp.triples.worker import WorkerStore

__all__ = ["ENGINES", "WAYS", "Pages", "cells", "store_of", "way_name"]

LINKS = {
    "Mill": ("Valve", "Pump"),
    "Valve": ("Pump",),
    "Pump": ("Mill",),
    "Lone": (),
    "Ofen & Brot": ("Mill",),
}
NUMBERS = {"Mill": 12, "Valve": 3, "Pump": 3, "Lone": 100, "Ofen & Brot": 7}


def page(slug: str, links: Iterable[str], number: int, title: str) -> bytes:
    """Return the piece of one page with one section."""
    me, part = f"<{thing('page', slug)}>", f"<{thing('section', slug)}:0>"
    lines = [
        f"{me} <{RDF}type> <{WM}Page> .",
        f"{me} <{DCTERMS}title> {text_literal(title)} .",
        f"{me} <{WM}version> {whole_literal(number)} .",
        f"{part} <{DCTERMS}isPartOf> {me} .",
        f"{part} <{WM}heading> {text_literal('Part of ' + slug)} .",
        *(f"{me} <{WM}linksTo> <{thing('page', to)}> ." for to in links),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


@dataclass
class Pages:
    """A data set of pages (slug to links); ``asked`` lists the keys whose lines the store wanted."""

    name: str = "small"
    links: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(LINKS))
    titles: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    place: Path | None = None

    @property
    def mark(self) -> str:
        return repr(sorted(self.signatures.items()))

    @property
    def signatures(self) -> Mapping[str, str]:
        marks = {thing("page", slug): f"{to} {self.titles.get(slug)}" for slug, to in self.links.items()}
        return {"vocabulary": "", **marks}

    def lines(self, keys: Sequence[str]) -> Iterable[tuple[str, bytes]]:
        pieces = {
            thing("page", slug): page(slug, to, NUMBERS.get(slug, 1), self.titles.get(slug, slug))
            for slug, to in self.links.items()
        }
        for key in keys:
            self.asked.append(key)
            yield key, pieces[key] if key in pieces else vocabulary_lines().encode()


WAYS = [(engine, forks) for engine in ENGINES for forks in (True, False)]
"""Every member in both ways: queries in processes of their own, and in the worker itself."""


def way_name(way: tuple[str, bool]) -> str:
    """Return a way in words."""
    return f"{way[0]} {'forking' if way[1] else 'plain'}"


@contextmanager
def store_of(
    engine: str = ENGINES[0],
    *,
    forks: bool = True,
    seconds: float = 10.0,
    memory_mb: int = 256,
    most_bytes: int = 1_000_000,
) -> Iterator[WorkerStore]:
    """Open a store; its worker is ended at the end."""
    limits = TripleLimits(seconds=seconds, memory_bytes=memory_mb << 20, most_bytes=most_bytes)
    store = open_triples(limits, engine, forks=forks)
    assert isinstance(store, WorkerStore), store
    try:
        yield store
    finally:
        store.close()


def cells(answer: TripleAnswer) -> list[tuple[str | None, ...]]:
    """Return the rows of an answer by the values of their terms alone."""

    def value(term: RdfTerm | None) -> str | None:
        return None if term is None else term[1]

    return [tuple(value(term) for term in row) for row in answer.rows]
