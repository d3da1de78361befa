"""get_ontology: the classes and properties by which sparql_query asks, with how often this wiki has each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import IncludeDrafts, one_line
from wikimcp.tools.rendering import render_data
from wikimcp.tools.sparql_query import triples_of
from wikimcp.triples.terms import PREFIXES, WM, WMF, shortened
from wikimcp.triples.vocabulary import declared_terms, vocabulary_uses

_MOST_ROWS = 5_000
_USES = """
SELECT ?of ?term (COUNT(*) AS ?n) WHERE {
  { ?s a ?term BIND("class" AS ?of) } UNION { ?s ?term ?o BIND("property" AS ?of) }
} GROUP BY ?of ?term"""
EXAMPLES: Mapping[str, str] = {
    "pages per cluster": (
        "SELECT ?cluster (COUNT(?page) AS ?pages) WHERE { ?page wm:inCluster/rdfs:label ?cluster } "
        "GROUP BY ?cluster ORDER BY DESC(?pages)"
    ),
    "pages without summary": (
        "SELECT ?slug WHERE { ?page a wm:Page ; wm:slug ?slug "
        "FILTER NOT EXISTS { ?page dcterms:description ?summary } }"
    ),
}


class GetOntologyParams(Params):
    """Whose pages are counted."""

    include_drafts: IncludeDrafts = False


class OntologyClass(Wire):
    """A class; ``count`` things of this wiki are in it or in one below it."""

    name: str
    label: str | None = None
    parent: str | None = None
    count: int


class OntologyProperty(Wire):
    """A property; ``count`` statements of this wiki have it."""

    name: str
    label: str | None = None
    domain: str | None = None
    range: str | None = None
    count: int


class OntologyExample(Wire):
    """A question and the query that answers it."""

    question: str
    query: str


class Ontology(Result):
    """Terms, most used first; the frontmatter keys of the wiki are the datatype properties ``wmf:...``."""

    namespace: str
    prefixes: dict[str, str]
    examples: list[OntologyExample]
    classes: list[OntologyClass]
    object_properties: list[OntologyProperty]
    datatype_properties: list[OntologyProperty]

    cuttable: ClassVar[tuple[str, ...]] = ("datatype_properties", "object_properties", "classes")


def run(reading: Reading, params: GetOntologyParams, context: ToolContext) -> Ontology:
    """List the vocabulary and what else the data uses, with counts."""
    found = triples_of(context).ask_again(reading, _USES, limit=_MOST_ROWS)
    uses: dict[str, dict[str, int]] = {"class": {}, "property": {}}
    for of, term, count in found.rows:
        if of is not None and term is not None and count is not None:
            uses[of[1]][term[1]] = int(count[1])
    # The vocabulary lies beside the wiki in the data: what it says of its terms is no use of them.
    properties = {iri: count - vocabulary_uses().get(iri, 0) for iri, count in uses["property"].items()}
    classes = [
        OntologyClass(
            name=shortened(term.iri),
            label=_text(term.label),
            parent=_name(term.parent),
            count=uses["class"].get(term.iri, 0),
        )
        for term in declared_terms()
        if term.kind == "Class"
    ]
    return Ontology(
        namespace=WM,
        prefixes=dict(PREFIXES),
        examples=[OntologyExample(question=question, query=query) for question, query in EXAMPLES.items()],
        classes=sorted(classes, key=lambda item: (-item.count, item.name)),
        object_properties=_properties("ObjectProperty", properties, WM),
        datatype_properties=_properties("DatatypeProperty", properties, WMF),
    )


def _properties(kind: str, uses: Mapping[str, int], undeclared: str) -> list[OntologyProperty]:
    """Return the properties of a kind, and those that are used of a namespace without being declared."""
    declared = declared_terms()
    known = {term.iri for term in declared}
    found = [
        OntologyProperty(
            name=shortened(term.iri),
            label=_text(term.label),
            domain=_name(term.domain),
            range=_name(term.range),
            count=uses.get(term.iri, 0),
        )
        for term in declared
        if term.kind == kind
    ]
    found += [
        OntologyProperty(name=shortened(iri), domain="wm:Page", count=count)
        for iri, count in uses.items()
        if iri.startswith(undeclared) and iri not in known
    ]
    return sorted(found, key=lambda item: (-item.count, item.name))


def _name(iri: str) -> str | None:
    return shortened(iri) if iri else None


def _text(label: str) -> str | None:
    return one_line(label) if label else None


TOOL = Tool(
    name="get_ontology",
    title="Get the ontology",
    description=(
        "Classes and properties of the wiki as RDF with counts, prefixes and two example queries: use it "
        "before sparql_query."
    ),
    params=GetOntologyParams,
    result=Ontology,
    run=run,
    render=render_data,
)
