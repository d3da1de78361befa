"""The second member, and the parser whose algebra the gate walks. The only importer of rdflib."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from typing import Any

from wikimcp.errors import QueryRejected
from wikimcp.triples.answers import Row, Term
from wikimcp.triples.terms import DCTERMS, OWL, PREFIXES, XSD

_DECLARED = ("Class", "ObjectProperty", "DatatypeProperty")

logging.getLogger("rdflib.term").setLevel(logging.ERROR)  # odd literals are a page's matter, not the log's


class RdflibEngine:
    """One data set in a graph of rdflib: slower, by another reader of SPARQL."""

    name = "rdflib"

    def __init__(self) -> None:
        import rdflib
        from rdflib.plugins import sparql

        sparql.SPARQL_LOAD_GRAPHS = False  # or FROM <file:...> would read files
        rdflib.NORMALIZE_LITERALS = False
        self._library = rdflib
        self._graph = rdflib.Graph()
        self._declared = [rdflib.URIRef(f"{OWL}{kind}") for kind in _DECLARED]

    def add(self, lines: bytes) -> None:
        """Add N-Triples."""
        self._graph.parse(data=lines, format="nt")

    def remove(self, lines: bytes) -> None:
        """Remove N-Triples."""
        gone = self._library.Graph()
        gone.parse(data=lines, format="nt")
        for triple in gone:
            self._graph.remove(triple)

    def remove_page(self, iri: str) -> None:
        """Remove all that is said of a page and of its parts."""
        page, part_of = self._library.URIRef(iri), self._library.URIRef(f"{DCTERMS}isPartOf")
        for subject in (page, *list(self._graph.subjects(part_of, page))):
            self._graph.remove((subject, None, None))

    def dump(self) -> bytes:
        """Return all triples as N-Triples."""
        lines = (" ".join(term.n3() for term in triple) for triple in self._graph)
        return "".join(f"{line} .\n" for line in lines).encode()

    def has_term(self, iri: str) -> bool:
        """Whether vocabulary or data have this class or property."""
        term = self._library.URIRef(iri)
        declared = ((term, self._library.RDF.type, kind) for kind in self._declared)
        return (None, term, None) in self._graph or any(triple in self._graph for triple in declared)

    def terms(self) -> Collection[str]:
        """Return the classes and properties of vocabulary and data."""
        declared = (
            term for kind in self._declared for term in self._graph.subjects(self._library.RDF.type, kind)
        )
        return {str(term) for term in (*self._graph.predicates(unique=True), *declared)}

    def rows(self, text: str, columns: tuple[str, ...]) -> Iterator[Row]:
        """Yield the rows of a SELECT."""
        asked = [self._library.Variable(name) for name in columns]
        for bindings in self._query(text).bindings:
            yield tuple(self._term(bindings.get(name)) for name in asked)

    def truth(self, text: str) -> bool:
        """Return the answer of an ASK."""
        return bool(self._query(text).askAnswer)

    def graph(self, text: str) -> Iterator[Row]:
        """Yield the triples of a CONSTRUCT or DESCRIBE."""
        for triple in self._query(text).graph:
            yield tuple(self._term(part) for part in triple)

    def complaint(self, text: str) -> str:
        """Return what this library's parser has against a text; empty when nothing."""
        try:
            parse(text)
        except QueryRejected as error:
            return error.message
        return ""

    def _query(self, text: str) -> Any:  # noqa: ANN401 - rdflib's results have no common type
        return self._graph.query(text, initNs=dict(PREFIXES))

    def _term(self, term: Any) -> Term | None:  # noqa: ANN401 - any node of rdflib
        if term is None:
            return None
        if isinstance(term, self._library.Literal):
            datatype = str(term.datatype or "")
            plain = "" if datatype == f"{XSD}string" else datatype
            return ("literal", str(term), plain, str(term.language or ""))
        return ("blank" if isinstance(term, self._library.BNode) else "iri", str(term), "", "")


def parse(text: str) -> list[Any]:
    """Return the parse tree and the algebra of a query, for the gate to walk.

    Raises QueryRejected with line and column where there are any.
    """
    from pyparsing.exceptions import ParseException
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        tree = parseQuery(text)
        algebra = translateQuery(tree, initNs=dict(PREFIXES)).algebra
    except ParseException as error:
        raise QueryRejected(f"syntax error at line {error.lineno}, column {error.column}") from error
    except RecursionError:
        raise QueryRejected("the query is nested too deep", hint="Ask for less at once.") from None
    except Exception as error:  # rdflib raises bare ones for what makes no sense
        raise QueryRejected(f"the query makes no sense ({str(error)[:200]})") from error
    return [tree, algebra]
