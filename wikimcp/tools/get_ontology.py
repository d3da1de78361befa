"""get_ontology: the classes and properties by which sparql_query asks, with how often this wiki has each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from wikimcp.index.view import Reading
from wikimcp.ports import RdfTerm
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import IncludeDrafts, one_line
from wikimcp.tools.rendering import render_data
from wikimcp.tools.sparql_query import triples_of
from wikimcp.triples.terms import ID, OWL, PREFIXES, WM, WMF, shortened

_MOST_ROWS = 5_000
_TERMS = """
SELECT ?term ?kind ?label ?parent ?domain ?range WHERE {
  ?term a ?kind FILTER(?kind IN (owl:Class, owl:ObjectProperty, owl:DatatypeProperty))
  OPTIONAL { ?term rdfs:label ?label } OPTIONAL { ?term rdfs:subClassOf ?parent }
  OPTIONAL { ?term rdfs:domain ?domain } OPTIONAL { ?term rdfs:range ?range }
}"""
_USED_CLASSES = "SELECT ?term (COUNT(*) AS ?n) WHERE { ?s a ?term } GROUP BY ?term"
_USED_PROPERTIES = (
    f'SELECT ?term (COUNT(*) AS ?n) WHERE {{ ?s ?term ?o FILTER(STRSTARTS(STR(?s), "{ID}")) }} GROUP BY ?term'
)
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
    triples = triples_of(context)

    def counts(query: str) -> dict[str, int]:
        found = triples.ask(reading, query, limit=_MOST_ROWS)
        return {row[0][1]: int(row[1][1]) for row in found.rows if row[0] is not None and row[1] is not None}

    declared = triples.ask(reading, _TERMS, limit=_MOST_ROWS).rows
    members, uses = counts(_USED_CLASSES), counts(_USED_PROPERTIES)
    classes = [
        OntologyClass(
            name=shortened(row[0][1]),
            label=_text(row[2]),
            parent=_name(row[3]),
            count=members.get(row[0][1], 0),
        )
        for row in declared
        if row[0] is not None and _is(row[1], "Class")
    ]
    known = {row[0][1] for row in declared if row[0] is not None}
    return Ontology(
        namespace=WM,
        prefixes=dict(PREFIXES),
        examples=[OntologyExample(question=question, query=query) for question, query in EXAMPLES.items()],
        classes=sorted(classes, key=lambda item: (-item.count, item.name)),
        object_properties=_properties(declared, "ObjectProperty", uses, _undeclared(uses, known, WM)),
        datatype_properties=_properties(declared, "DatatypeProperty", uses, _undeclared(uses, known, WMF)),
    )


def _properties(
    declared: Iterable[tuple[RdfTerm | None, ...]], kind: str, uses: Mapping[str, int], more: Iterable[str]
) -> list[OntologyProperty]:
    found = [
        OntologyProperty(
            name=shortened(term[1]),
            label=_text(label),
            domain=_name(domain),
            range=_name(range_),
            count=uses.get(term[1], 0),
        )
        for term, what, label, _, domain, range_ in declared
        if term is not None and _is(what, kind)
    ]
    found += [OntologyProperty(name=shortened(iri), domain="wm:Page", count=uses[iri]) for iri in more]
    return sorted(found, key=lambda item: (-item.count, item.name))


def _undeclared(uses: Mapping[str, int], known: set[str], namespace: str) -> list[str]:
    return [iri for iri in uses if iri.startswith(namespace) and iri not in known]


def _is(term: RdfTerm | None, kind: str) -> bool:
    return term is not None and term[1] == f"{OWL}{kind}"


def _name(term: RdfTerm | None) -> str | None:
    return shortened(term[1]) if term is not None else None


def _text(term: RdfTerm | None) -> str | None:
    return one_line(term[1]) if term is not None else None


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
