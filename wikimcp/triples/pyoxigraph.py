"""The fast member: Oxigraph's store in memory. The only importer of pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from wikimcp.errors import QueryRejected
from wikimcp.triples.answers import Row, Term
from wikimcp.triples.terms import DCTERMS, OWL, PREFIXES, RDF, XSD

_DECLARED = ("Class", "ObjectProperty", "DatatypeProperty")
_TERMS = (
    "SELECT DISTINCT ?t { { ?s ?t ?o } UNION "
    f"{{ ?t a ?kind FILTER(?kind IN (<{OWL}Class>, <{OWL}ObjectProperty>, <{OWL}DatatypeProperty>)) }} }}"
)
_STRINGS = frozenset((f"{XSD}string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"))

_PLACE = re.compile(r"error at (\d+):(\d+): expected (.*)")
_SENTENCE = re.compile(r"(?<=, )[A-Z][A-Za-z]*(?: [A-Za-z]+){2,}(?=,|$)|^[A-Z][A-Za-z]*(?: [A-Za-z]+){2,}$")
_WORDS = re.compile(r"(?:one of )?[A-Z]+(?:, [A-Z]+){0,7}")


class PyoxigraphEngine:
    """One data set in an Oxigraph store."""

    name = "pyoxigraph"

    def __init__(self) -> None:
        import pyoxigraph

        self._library = pyoxigraph
        self._store = pyoxigraph.Store()
        self._part_of = pyoxigraph.NamedNode(f"{DCTERMS}isPartOf")

    def add(self, lines: bytes) -> None:
        """Add N-Triples."""
        self._store.load(lines, format=self._library.RdfFormat.N_TRIPLES, lenient=True)

    def remove(self, lines: bytes) -> None:
        """Remove N-Triples."""
        for triple in self._library.parse(lines, format=self._library.RdfFormat.N_TRIPLES, lenient=True):
            self._store.remove(self._library.Quad(triple.subject, triple.predicate, triple.object))

    def remove_page(self, iri: str) -> None:
        """Remove all that is said of a page and of its parts."""
        page = self._library.NamedNode(iri)
        parts = [quad.subject for quad in self._store.quads_for_pattern(None, self._part_of, page)]
        for subject in (page, *parts):
            for quad in list(self._store.quads_for_pattern(subject, None, None)):
                self._store.remove(quad)

    def dump(self) -> bytes:
        """Return all triples as N-Triples."""
        library = self._library
        found = self._store.dump(format=library.RdfFormat.N_TRIPLES, from_graph=library.DefaultGraph())
        assert found is not None
        return found

    def has_term(self, iri: str) -> bool:
        """Whether vocabulary or data have this class or property."""
        library = self._library
        try:
            term = library.NamedNode(iri)
        except ValueError:  # no IRI at all
            return False
        if next(self._store.quads_for_pattern(None, term, None), None) is not None:
            return True
        kinds = (library.NamedNode(f"{OWL}{kind}") for kind in _DECLARED)
        a = library.NamedNode(f"{RDF}type")
        return any(library.Quad(term, a, kind) in self._store for kind in kinds)

    def terms(self) -> Collection[str]:
        """Return the classes and properties of vocabulary and data."""
        found: Any = self._store.query(_TERMS)
        return {row[0].value for row in found}

    def rows(self, text: str, columns: tuple[str, ...]) -> Iterator[Row]:
        """Yield the rows of a SELECT."""
        solutions: Any = self._query(text)
        known = {variable.value for variable in solutions.variables}
        asked = [name if name in known else None for name in columns]
        for solution in solutions:
            yield tuple(None if name is None else self._term(solution[name]) for name in asked)

    def truth(self, text: str) -> bool:
        """Return the answer of an ASK."""
        return bool(self._query(text))

    def graph(self, text: str) -> Iterator[Row]:
        """Yield the triples of a CONSTRUCT or DESCRIBE."""
        triples: Any = self._query(text)
        for triple in triples:
            yield tuple(self._term(part) for part in (triple.subject, triple.predicate, triple.object))

    def complaint(self, text: str) -> str:
        """Return what this library's parser has against a text; empty when nothing. Runs no query."""
        try:
            self._library.Store().query(text, prefixes=dict(PREFIXES))
        except SyntaxError as error:
            return _complaint(str(error))
        except (ValueError, OSError):
            return ""
        return ""

    def _query(self, text: str) -> Any:  # noqa: ANN401 - one of three kinds
        try:
            return self._store.query(text, prefixes=dict(PREFIXES))
        except SyntaxError as error:
            raise QueryRejected(_complaint(str(error)) or "the query does not parse") from error

    def _term(self, term: Any) -> Term | None:  # noqa: ANN401 - any node of pyoxigraph
        library = self._library
        if isinstance(term, library.NamedNode):
            return ("iri", term.value, "", "")
        if isinstance(term, library.Literal):
            datatype = term.datatype.value
            return ("literal", term.value, "" if datatype in _STRINGS else datatype, term.language or "")
        return ("blank", term.value, "", "") if isinstance(term, library.BlankNode) else None


def _complaint(said: str) -> str:
    """Return the parser's words in the form ``syntax error at line 2, column 10: expected OPTIONAL``.

    It lists what it would have taken, character by character; a sentence among that is the reason.
    """
    place = _PLACE.match(" ".join(said.split()))
    if place is None:
        return ""
    line, column, expected = place.groups()
    reason = _SENTENCE.search(expected)
    words = reason[0] if reason else f"expected {expected}" if _WORDS.fullmatch(expected) else ""
    return f"syntax error at line {line}, column {column}{f': {words}' if words else ''}"
