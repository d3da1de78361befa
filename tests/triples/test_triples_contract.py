"""The contract of every member of the family: equal answers, in a fixed order, within the caps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.triples.small_store import ENGINES, LINKS, NUMBERS, WAYS, Pages, cells, store_of, way_name
from wikimcp.errors import QueryRejected
from wikimcp.triples.worker import WorkerStore

PAGE = "urn:wikimcp:page:"


@pytest.fixture(scope="module", params=WAYS, ids=way_name)
def store(request: pytest.FixtureRequest) -> Iterator[WorkerStore]:
    engine, forks = request.param
    with store_of(engine, forks=forks, seconds=30.0) as found:
        yield found


QUERIES: dict[str, list[tuple[str | None, ...]]] = {
    "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }": [("5",)],
    "SELECT (SUM(?v) AS ?n) { ?p wm:version ?v }": [("125",)],
    "SELECT ?t { ?p dcterms:title ?t }": [("Lone",), ("Mill",), ("Ofen & Brot",), ("Pump",), ("Valve",)],
    "SELECT ?t { ?p dcterms:title ?t } LIMIT 2 OFFSET 1": [("Mill",), ("Ofen & Brot",)],
    "SELECT ?t { ?p dcterms:title ?t } OFFSET 1 LIMIT 2 # LIMIT 1": [("Mill",), ("Ofen & Brot",)],
    "SELECT ?v { ?p wm:version ?v }": [("3",), ("3",), ("7",), ("12",), ("100",)],
    "SELECT DISTINCT ?v { ?p wm:version ?v } LIMIT 2": [("3",), ("7",)],
    "SELECT ?v ?t { ?p wm:version ?v ; dcterms:title ?t } ORDER BY ?v LIMIT 3 # the end": [
        ("3", "Pump"),
        ("3", "Valve"),
        ("7", "Ofen & Brot"),
    ],
    "SELECT ?t (COUNT(?from) AS ?n) { ?from wm:linksTo ?p . ?p dcterms:title ?t } GROUP BY ?t ORDER BY DESC(?n)": [
        ("Mill", "2"),
        ("Pump", "2"),
        ("Valve", "1"),
    ],
    "SELECT ?t { ?p a wm:Page ; dcterms:title ?t FILTER NOT EXISTS { ?from wm:linksTo ?p } }": [
        ("Lone",),
        ("Ofen & Brot",),
    ],
    "SELECT ?t { page:Valve wm:linksTo+ ?p . ?p dcterms:title ?t }": [("Mill",), ("Pump",), ("Valve",)],
    "SELECT ?t { ?p dcterms:title ?t FILTER REGEX(?t, '^[lm]', 'i') }": [("Lone",), ("Mill",)],
    "SELECT ?t ?to { ?p dcterms:title ?t OPTIONAL { ?p wm:linksTo ?to } FILTER(?t IN ('Lone', 'Pump')) }": [
        ("Lone", None),
        ("Pump", f"{PAGE}Mill"),
    ],
    "SELECT * { page:Valve wm:linksTo ?to . ?to wm:version ?number }": [(f"{PAGE}Pump", "3")],
    "SELECT ?p { VALUES ?p { page:Mill page:Gone } ?p a wm:Page }": [(f"{PAGE}Mill",)],
    "SELECT ?label { wm:Hub rdfs:label ?label ; rdfs:subClassOf wm:Page }": [("an entry page of a topic",)],
    "SELECT ?h { page:Ofen%20%26%20Brot ^dcterms:isPartOf/wm:heading ?h }": [("Part of Ofen & Brot",)],
    "PREFIX x: <https://wikimcp.dev/ns#> SELECT ?v { page:Lone x:version ?v }": [("100",)],
    "SELECT ?b { BIND(xsd:integer('7') + 1 AS ?b) }": [("8",)],
    "SELECT ?t { { SELECT ?p { ?p wm:version ?v } ORDER BY DESC(?v) LIMIT 1 } ?p dcterms:title ?t }": [
        ("Lone",)
    ],
    "SELECT ?x { page:Gone wm:linksTo ?x }": [],
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_same_rows_in_the_same_order_with_every_member(
    store: WorkerStore, query: str
) -> None:
    answer = store.query(query, Pages(), limit=1_000)
    assert (answer.kind, answer.truncated, answer.fixed) == ("rows", False, True)
    assert cells(answer) == QUERIES[query]


def test_terms_have_their_kind_and_datatype(store: WorkerStore) -> None:
    [row] = store.query(
        "SELECT ?p ?t ?v { ?p dcterms:title ?t ; wm:version ?v FILTER(?v > 50) }", Pages(), limit=9
    ).rows
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    assert row == (
        ("iri", f"{PAGE}Lone", "", ""),
        ("literal", "Lone", "", ""),
        ("literal", "100", integer, ""),
    )


def test_columns_are_in_the_order_of_the_query(store: WorkerStore) -> None:
    chosen = store.query("SELECT ?v ?p { ?p wm:version ?v }", Pages(), limit=1)
    everything = store.query("SELECT * { ?s wm:version ?o . ?s dcterms:title ?t }", Pages(), limit=1)
    assert (chosen.columns, everything.columns) == (("v", "p"), ("s", "o", "t"))


def test_ask_gives_a_truth(store: WorkerStore) -> None:
    assert store.query("ASK { page:Mill wm:linksTo page:Pump }", Pages(), limit=1).truth is True
    assert store.query("ASK { page:Pump wm:linksTo page:Valve }", Pages(), limit=1).truth is False


def test_construct_and_describe_give_turtle_in_a_fixed_order(store: WorkerStore) -> None:
    built = store.query("CONSTRUCT { ?b wm:contains ?a } WHERE { ?a wm:linksTo ?b }", Pages(), limit=100)
    assert built.turtle == (
        "@prefix wm: <https://wikimcp.dev/ns#> .",
        "@prefix page: <urn:wikimcp:page:> .",
        "page:Mill wm:contains page:Ofen%20%26%20Brot .",
        "page:Mill wm:contains page:Pump .",
        "page:Pump wm:contains page:Mill .",
        "page:Pump wm:contains page:Valve .",
        "page:Valve wm:contains page:Mill .",
    )
    told = store.query("DESCRIBE page:Lone", Pages(), limit=100)
    assert [line for line in told.turtle if not line.startswith("@prefix")] == [
        'page:Lone dcterms:title "Lone" .',
        "page:Lone rdf:type wm:Page .",
        'page:Lone wm:version "100"^^xsd:integer .',
    ]


def test_rows_and_statements_over_the_cap_are_cut_and_told(store: WorkerStore) -> None:
    rows = store.query("SELECT ?t { ?p dcterms:title ?t }", Pages(), limit=2)
    assert (cells(rows), rows.truncated) == ([("Lone",), ("Mill",)], True)
    ordered = store.query("SELECT ?t { ?p dcterms:title ?t } ORDER BY DESC(?t)", Pages(), limit=2)
    assert (cells(ordered), ordered.truncated) == ([("Valve",), ("Pump",)], True)
    exact = store.query("SELECT ?t { ?p dcterms:title ?t }", Pages(), limit=len(LINKS))
    assert (len(exact.rows), exact.truncated) == (len(LINKS), False)
    graph = store.query("CONSTRUCT WHERE { ?s wm:linksTo ?o }", Pages(), limit=1)
    assert (len(graph.turtle), graph.truncated) == (3, True)


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_over_the_cap_are_cut_and_told(engine: str) -> None:
    with store_of(engine, most_bytes=20) as store:
        answer = store.query("SELECT ?t { ?p dcterms:title ?t }", Pages(), limit=100)
        assert (cells(answer), answer.truncated) == ([("Lone",), ("Mill",)], True)


def test_an_edit_costs_its_page_and_leaves_nothing_behind(store: WorkerStore) -> None:
    pages = Pages(name="edited")
    query = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    [(before,)] = cells(store.query(query, pages, limit=1))
    assert len(pages.asked) == len(LINKS) + 1
    pages.asked.clear()
    pages.titles["Valve"] = "The valve"
    pages.links["Valve"] = ()
    del pages.links["Lone"]
    [(after,)] = cells(store.query(query, pages, limit=1))
    assert pages.asked == [f"{PAGE}Valve"]
    assert int(before or 0) - int(after or 0) == 5 + 1
    assert cells(store.query("SELECT ?t { page:Valve dcterms:title ?t }", pages, limit=9)) == [("The valve",)]
    assert (
        cells(store.query("SELECT ?h { ?part wm:heading ?h FILTER(?h = 'Part of Lone') }", pages, limit=9))
        == []
    )
    pages.asked.clear()
    store.query(query, pages, limit=1)
    assert pages.asked == []


def test_a_data_set_that_many_edits_have_worn_out_is_loaded_anew(
    store: WorkerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikimcp.triples.worker._MOST_DROPS", 3)
    pages = Pages(name="worn")
    query = "SELECT ?t { page:Valve dcterms:title ?t }"
    loads = []
    for number in range(6):
        pages.titles["Valve"] = f"Valve {number}"
        pages.asked.clear()
        assert cells(store.query(query, pages, limit=9)) == [(f"Valve {number}",)]
        loads.append(len(pages.asked))
    everything = len(LINKS) + 1
    assert loads == [everything, 1, 1, 1, 1, everything]


def test_data_sets_are_apart(store: WorkerStore) -> None:
    few = Pages(name="few", links={"Mill": ()})
    query = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"
    assert cells(store.query(query, few, limit=1)) == [("1",)]
    assert cells(store.query(query, Pages(), limit=1)) == [("5",)]
    with pytest.raises(QueryRejected, match="unknown term"):
        store.query("SELECT ?x { ?x wmf:secret ?y }", few, limit=1)


def test_many_data_sets_do_not_pile_up(store: WorkerStore) -> None:
    query = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"
    for number in range(6):
        pages = Pages(name=f"audience {number}", links=dict(list(LINKS.items())[: number % 3 + 1]))
        assert cells(store.query(query, pages, limit=1)) == [(str(number % 3 + 1),)]
    first = Pages(name="audience 0", links={"Mill": ()})
    assert cells(store.query(query, first, limit=1)) == [("1",)]
    assert len(first.asked) == 2, "it was forgotten meanwhile and is loaded again"


def test_the_numbers_of_this_suite_are_those_of_its_pages() -> None:
    assert sum(NUMBERS.values()) == 125
