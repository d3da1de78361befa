"""get_ontology and sparql_query over real files: forms of answers, caps in both channels, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import BadArgument, QueryRejected, TimedOut, Unavailable
from wikimcp.models import Caller
from wikimcp.tools.answers import answer_tokens
from wikimcp.tools.contract import Answer
from wikimcp.tools.registry import load
from wikimcp.tools.rendering import compact_json
from wikimcp.tools.schemas import output_schema

validator: Any = import_module("jsonschema").Draft202012Validator


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path_factory.mktemp("triples"), watch=False)
    wiki.write("mill.md", "---\nweight: 1.5\nbuilt: true\ncount: 3\n---\n# Mill\n\nSee [[valve]].\n")
    wiki.write("valve.md", '---\ntitle: "Valve \\u202e ; x=1 | <y> \\" \\u2028 end"\n---\nTurn.\n')
    for number in range(900):
        wiki.write(f"many/a-page-with-a-long-name-{number:03}.md", "# Many\n")
    yield wiki
    wiki.stop()


def ask(wiki: LiveWiki, tool: str, **arguments: object) -> Answer:
    answer = wiki.service.call(tool, arguments, Caller())
    schema = output_schema(load(tool))
    assert schema is not None and answer.structured is not None
    validator(schema).validate(answer.structured)
    assert set(answer.structured) <= set(schema["properties"])
    found = Answer(answer.structured, answer.text)
    assert answer_tokens(found) <= 8_000
    return found


def data(wiki: LiveWiki, **arguments: object) -> dict[str, Any]:
    return dict(ask(wiki, "sparql_query", **arguments).structured or {})


def test_a_table_has_plain_values(wiki: LiveWiki) -> None:
    query = (
        "SELECT ?p ?w ?b ?c ?none { ?p wmf:weight ?w ; wmf:built ?b ; wmf:count ?c "
        "OPTIONAL { ?p wm:status ?none } }"
    )
    answer = data(wiki, query=query)
    assert answer["columns"] == ["p", "w", "b", "c", "none"]
    assert answer["rows"] == [["page:mill", 1.5, True, 3, None]]
    assert answer["truncated"] is False
    assert data(wiki, query="SELECT (AVG(?c) AS ?n) { ?p wmf:count ?c }")["rows"] == [[3.0]]
    assert data(wiki, query="SELECT (1/0 AS ?n) (5 AS ?m) { }")["rows"] == [[None, 5]]


def test_json_has_the_bindings_of_the_sparql_results_format(wiki: LiveWiki) -> None:
    answer = data(wiki, query="SELECT ?p ?c ?no ('x'@en AS ?l) { ?p wmf:count ?c }", format="json")
    assert "rows" not in answer
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    assert answer["bindings"] == [
        {
            "p": {"type": "uri", "value": "urn:wikimcp:page:mill"},
            "c": {"type": "literal", "value": "3", "datatype": integer},
            "l": {"type": "literal", "value": "x", "xml:lang": "en"},
        }
    ]


def test_ask_construct_and_describe(wiki: LiveWiki) -> None:
    assert data(wiki, query="ASK { page:mill wm:linksTo page:valve }")["boolean"] is True
    turtle = data(wiki, query="CONSTRUCT WHERE { ?a wm:linksTo ?b }")["turtle"]
    assert turtle == [
        "@prefix wm: <https://wikimcp.dev/ns#> .",
        "@prefix page: <urn:wikimcp:page:> .",
        "page:mill wm:linksTo page:valve .",
    ]


def test_text_of_pages_stays_within_its_line_and_bounds(wiki: LiveWiki) -> None:
    for query in ("SELECT ?t { page:valve dcterms:title ?t }", "DESCRIBE page:valve"):
        answer = ask(wiki, "sparql_query", query=query)
        assert "\u202e" not in answer.text and "\u2028" not in answer.text
        assert answer.text.count("<vault-text ") == 1
    turtle = data(wiki, query="DESCRIBE page:valve")["turtle"]
    [title] = [line for line in turtle if "dcterms:title" in line]
    assert "\\u202E" in title


def test_both_channels_hold_the_same_facts(wiki: LiveWiki) -> None:
    answer = ask(wiki, "sparql_query", query="SELECT ?p ?o { ?p wm:slug ?o } LIMIT 5")
    assert answer.structured is not None
    for row in answer.structured["rows"]:
        assert compact_json(row) in answer.text
    assert "truncated=false" in answer.text and 'columns=["p","o"]' in answer.text


def test_rows_over_the_size_cap_are_cut_and_told(wiki: LiveWiki) -> None:
    answer = data(wiki, query="SELECT ?p ?s ?t { ?p wm:slug ?s ; dcterms:title ?t }")
    assert answer["truncated"] is True
    assert any("of 902 left out" in note for note in answer["notes"])
    capped = data(wiki, query="SELECT ?s { ?p wm:slug ?s }", limit=3)
    assert (len(capped["rows"]), capped["truncated"]) == (3, True)
    assert any("more than the 3 shown" in note for note in capped["notes"])
    graph = data(wiki, query="CONSTRUCT WHERE { ?s wm:slug ?o }")
    assert graph["truncated"] is True
    assert graph["turtle"][0].startswith("@prefix")


def test_the_ontology_lists_terms_with_counts_and_examples_that_run(wiki: LiveWiki) -> None:
    ontology = dict(ask(wiki, "get_ontology").structured or {})
    assert ontology["namespace"] == ontology["prefixes"]["wm"] == "https://wikimcp.dev/ns#"
    classes = {item["name"]: item for item in ontology["classes"]}
    assert (classes["wm:Page"]["count"], classes["wm:Section"]["count"]) == (902, 902)
    assert classes["wm:Person"] == {
        "name": "wm:Person",
        "label": "a person",
        "parent": "wm:Entity",
        "count": 0,
    }
    links = {item["name"]: item for item in ontology["objectProperties"]}["wm:linksTo"]
    assert (links["domain"], links["range"], links["count"]) == ("wm:Page", "wm:Page", 1)
    keys = {item["name"]: item["count"] for item in ontology["datatypeProperties"]}
    assert (keys["wmf:weight"], keys["wm:slug"], keys["dcterms:title"]) == (1, 902, 902)
    assert len(ontology["examples"]) == 2
    for example in ontology["examples"]:
        assert data(wiki, query=example["query"])["columns"]


def test_what_is_refused_comes_with_its_code_and_a_hint(wiki: LiveWiki) -> None:
    with pytest.raises(QueryRejected, match="SERVICE at line 1") as caught:
        data(wiki, query="SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }")
    assert (caught.value.code, bool(caught.value.hint)) == ("query_rejected", True)
    with pytest.raises(QueryRejected, match="Did you mean wmf:weight"):
        data(wiki, query="SELECT * { ?s wmf:wieght ?o }")
    with pytest.raises(QueryRejected, match=r"has 1,000,0\d\d characters; at most 20,000"):
        data(wiki, query=f"SELECT * {{ ?s ?p '{'x' * 1_000_000}' }}")
    with pytest.raises(BadArgument, match="query"):
        data(wiki)
    with pytest.raises(BadArgument):
        data(wiki, query="ASK { }", format="xml")


def test_a_long_query_is_run_whole(wiki: LiveWiki) -> None:
    words = " ".join(f"'a{number}'" for number in range(2_000))
    query = f"SELECT (COUNT(?x) AS ?n) {{ VALUES ?x {{ {words} }} }} LIMIT 10"
    assert 10_000 < len(query) < 20_000
    assert data(wiki, query=query)["rows"] == [[2_000]]


@pytest.mark.parametrize(
    "regex", ["^(a+)+$", "^(a|a?)+(b+)+$", "(.*a){25}", "(?:a{0,900}){0,900}", "^(([a-z])+.)+[A-Z]$"]
)
def test_a_regular_expression_made_to_run_away_is_answered_or_refused(wiki: LiveWiki, regex: str) -> None:
    query = f"SELECT ?t {{ ?p dcterms:title ?t FILTER REGEX(CONCAT(?t, '{'a' * 200}!'), '{regex}') }}"
    try:
        assert data(wiki, query=query)["columns"] == ["t"]
    except (QueryRejected, TimedOut) as error:
        assert "was stopped" in str(error)
    assert data(wiki, query="ASK { ?p a wm:Page }")["boolean"] is True


def test_a_sidecar_with_more_edges_than_are_read_is_served_with_a_note(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    for number in range(20):
        wiki.write(f"p{number}.md", f"# Page {number}\n")
    edges = [{"from": f"p{i % 20}", "to": f"p{i * 7 % 20}", "type": f"r{i % 500}"} for i in range(150_000)]
    wiki.write("graph/graph.json", json.dumps({"edges": edges}))
    try:
        walked = wiki.call("traverse", start_node="p1", max_nodes=3)
        assert "only the first 100,000 edges are used" in str(walked["notes"])
        assert walked["nodeCount"] == 3
        for relation in ("r0", "r499"):
            query = f"SELECT (COUNT(*) AS ?n) {{ ?a wm:{relation} ?b }}"
            ends = {(edge["from"], edge["to"]) for edge in edges[:100_000] if edge["type"] == relation}
            assert wiki.call("sparql_query", query=query)["rows"] == [[len(ends)]]
    finally:
        wiki.stop()


def test_without_a_triple_store_both_tools_are_off_and_say_why(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("a.md", "# A\n")
    try:
        wiki.service._triples = None
        off = wiki.service.off_tools()
        assert off["sparql_query"] == off["get_ontology"] == "there is no triple store"
        with pytest.raises(Unavailable, match="no triple store"):
            wiki.call("sparql_query", query="ASK { }")
    finally:
        wiki.stop()


def test_where_no_worker_can_start_the_tools_say_so_and_the_others_go_on(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("a.md", "# A\n")
    try:
        assert wiki.service._triples is not None
        store: Any = wiki.service._triples._store
        store._command = (str(tmp_path / "no-python"),)
        for _ in range(2):
            with pytest.raises(Unavailable, match="worker process cannot run here") as caught:
                wiki.call("sparql_query", query="ASK { }")
            assert str(tmp_path) not in str(caught.value)
        assert "cannot run here" in wiki.service.off_tools()["sparql_query"]
        assert wiki.slugs() == ["a"]
    finally:
        wiki.stop()
