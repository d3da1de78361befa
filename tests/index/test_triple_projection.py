"""The wiki as triples: what is said of each page, and that an edit costs the pages it changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest

from tests.index.live_wiki import LiveWiki, until
from wikimcp.index import triples
from wikimcp.index.triples import PROJECTION_FORMAT, TripleProjection, TripleProjections
from wikimcp.index.view import View
from wikimcp.models import ANONYMOUS, Audience, GraphEdge
from wikimcp.triples.copies import read_copy
from wikimcp.triples.terms import PREFIXES, shortened
from wikimcp.triples.worker import WorkerStore

MILL = """\
---
id: 01MILL
title: The "old" mill \\ yard
type: Decision
status: active
summary: |
  Two
  lines
tags: [Water, water, power/steam]
cluster: works/mills
aliases: [Windmill]
created: 2031-02-03
updated: 2031-02-04T05:06:07+02:00
author: Mira
version: 7
sources: [report.pdf, "https://example.org/a b"]
count: 12
ratio: 0.5
built: true
when: 2031-02-03
odd key ~: x
nested: {a: 1}
none: null
mixed: [1, two, {b: 2}, [3]]
---
# Mill

See [[valve]], [[valve|again]], [[gone]], ![[chart.png]], [site](https://example.org), [[mill]].
%%[[pump]]%% The claim is [cited](cite://01VALVE/Valve?v=1&h=0123456789abcdef "turn the wheel").

## Grinding
"""


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("mill.md", MILL)
    wiki.write("valve.md", "---\nid: 01VALVE\ncluster: works\ntype: hub\n---\n# Valve\n\nTurn the wheel.\n")
    wiki.write("Ofen & Brot/ä ü.md", "# Brot\n\nSee [[mill]].\n")
    wiki.write("secret.md", "---\ndraft: true\ntags: [hush]\n---\n# Secret\n\n[[valve]]\n")
    wiki.write("chart.png", "")
    yield wiki
    wiki.stop()


def projection(
    wiki: LiveWiki, audience: Audience = ANONYMOUS, *, edges: tuple[GraphEdge, ...] = ()
) -> TripleProjection:
    wiki.service.keeper.freshen()
    return TripleProjection(wiki.service.keeper.reading(audience).view, lambda: edges)


def said(found: TripleProjection) -> list[str]:
    """Return all triples in short form, sorted; those of the vocabulary are left out."""
    lines = []
    for key, data in found.lines(list(found.signatures)):
        if key != "vocabulary":
            triples = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
            lines += [" ".join(map(short, (t.subject, t.predicate, t.object))) for t in triples]
    assert len(lines) == len(set(lines)), "no triple is in two pieces"
    return sorted(lines)


def short(term: object) -> str:
    return re.sub(r"<([^>]*)>", lambda iri: shortened(iri[1], PREFIXES), str(term))


def about(lines: list[str], subject: str) -> list[str]:
    return [line.removeprefix(f"{subject} ") for line in lines if line.startswith(f"{subject} ")]


def test_everything_that_a_page_says_is_there_typed(wiki: LiveWiki) -> None:
    assert about(said(projection(wiki)), "page:mill") == [
        'dcterms:created "2031-02-03T00:00:00Z"^^xsd:dateTime',
        'dcterms:creator "Mira"',
        'dcterms:description "Two lines"',
        'dcterms:identifier "01MILL"',
        'dcterms:modified "2031-02-04T05:06:07+02:00"^^xsd:dateTime',
        "dcterms:source source:https%3A%2F%2Fexample.org%2Fa%20b",
        "dcterms:source source:report.pdf",
        'dcterms:title "The \\"old\\" mill \\\\ yard"',
        "rdf:type wm:Decision",
        "rdf:type wm:Page",
        'skos:altLabel "Windmill"',
        "wm:cites page:valve",
        "wm:inCluster cluster:works%2Fmills",
        "wm:linksTo page:valve",
        'wm:path "mill.md"',
        'wm:slug "mill"',
        'wm:status "active"',
        "wm:tag tag:power%2Fsteam",
        "wm:tag tag:water",
        'wm:type "Decision"',
        'wm:unresolvedLink "gone"',
        'wm:version "7"^^xsd:integer',
        'wmf:aliases "Windmill"',
        'wmf:author "Mira"',
        'wmf:built "true"^^xsd:boolean',
        'wmf:cluster "works/mills"',
        'wmf:count "12"^^xsd:integer',
        'wmf:created "2031-02-03"^^xsd:date',
        'wmf:id "01MILL"',
        'wmf:mixed "1"^^xsd:integer',
        'wmf:mixed "two"',
        'wmf:odd%20key%20%7E "x"',
        'wmf:ratio "0.5"^^xsd:double',
        'wmf:sources "https://example.org/a b"',
        'wmf:sources "report.pdf"',
        'wmf:status "active"',
        'wmf:summary "Two\\nlines\\n"',
        'wmf:tags "Water"',
        'wmf:tags "power/steam"',
        'wmf:tags "water"',
        'wmf:title "The \\"old\\" mill \\\\ yard"',
        'wmf:type "Decision"',
        'wmf:updated "2031-02-04T05:06:07+02:00"^^xsd:dateTime',
        'wmf:version "7"^^xsd:integer',
        'wmf:when "2031-02-03"^^xsd:date',
    ]


def test_sections_tags_clusters_sources_and_citations_are_things_of_their_own(wiki: LiveWiki) -> None:
    lines = said(projection(wiki))
    assert about(lines, "<urn:wikimcp:section:mill:1>") == [
        "dcterms:isPartOf page:mill",
        "rdf:type wm:Section",
        'wm:firstLine "31"^^xsd:integer',
        'wm:heading "Grinding"',
        'wm:level "2"^^xsd:integer',
    ]
    assert about(lines, "tag:water") == ["rdf:type wm:Tag", 'rdfs:label "Water"']
    assert about(lines, "cluster:works") == ["rdf:type wm:Cluster", 'rdfs:label "works"', "wm:hub page:valve"]
    assert about(lines, "cluster:works%2Fmills") == [
        "rdf:type wm:Cluster",
        'rdfs:label "works/mills"',
        "skos:broader cluster:works",
    ]
    assert about(lines, "source:report.pdf") == ["rdf:type wm:Source", 'rdfs:label "report.pdf"']
    assert about(lines, "<urn:wikimcp:citation:mill:0>") == [
        "dcterms:isPartOf page:mill",
        "rdf:type wm:Citation",
        'wm:span "turn the wheel"',
        "wm:target page:valve",
        'wm:uri "cite://01VALVE/Valve?v=1&h=0123456789abcdef"',
    ]
    assert "page:Ofen%20%26%20Brot%2F%C3%A4%20%C3%BC wm:linksTo page:mill" in lines
    assert "rdf:type wm:Hub" in about(lines, "page:valve")


@pytest.mark.parametrize(
    ("written", "said_as"),
    [
        ("2031-02-04", "2031-02-04T00:00:00Z"),
        ("2031-02-04T05:06:07", "2031-02-04T05:06:07Z"),
        ("2031-02-04 05:06:07+02:00", "2031-02-04T05:06:07+02:00"),
    ],
)
def test_every_update_is_a_time_that_compares(tmp_path: Path, written: str, said_as: str) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("a.md", f"---\nupdated: {written}\n---\n# A\n")
    try:
        assert f'page:a dcterms:modified "{said_as}"^^xsd:dateTime' in said(projection(wiki))
        for year, earlier in ((2030, False), (2032, True)):
            moment = f'"{year}-01-01T00:00:00Z"^^xsd:dateTime'
            query = f"ASK {{ page:a dcterms:modified ?t FILTER(?t < {moment}) }}"
            assert wiki.call("sparql_query", query=query)["boolean"] is earlier
    finally:
        wiki.stop()


def test_what_is_withheld_is_said_only_to_who_may_see_it(wiki: LiveWiki) -> None:
    assert "secret" not in str(said(projection(wiki)))
    assert "hush" not in str(said(projection(wiki)))


def test_edges_of_the_knowledge_graph_are_said_once_and_only_between_what_is_there(wiki: LiveWiki) -> None:
    edges = (
        GraphEdge("page:mill", "page:valve", "depends_on"),
        GraphEdge("page:mill", "page:valve", "cites"),
        GraphEdge("page:mill", "page:secret", "uses"),
        GraphEdge("page:secret", "page:mill", "uses"),
        GraphEdge("page:valve", "external:ACME Corp", "made by"),
        GraphEdge("external:ACME Corp", "tag:Water", "uses"),
        GraphEdge("page:mill", "page:valve", "depends_on"),
    )
    plain, found = said(projection(wiki)), said(projection(wiki, edges=edges))
    assert sorted(set(found) - set(plain)) == [
        "<urn:wikimcp:external:ACME%20Corp> wm:uses tag:water",
        "page:mill wm:depends_on page:valve",
        "page:valve wm:made%20by <urn:wikimcp:external:ACME%20Corp>",
    ]


def test_a_relation_called_like_a_term_of_the_vocabulary_is_not_counted_as_that_term(wiki: LiveWiki) -> None:
    wiki.write(
        "ada.md", "---\ntype: '[[person]]'\n---\nstatus:: [[mill]], tag:: [[mill]]\n\nhub:: [[valve]]\n"
    )
    wiki.write("people/bo.md", "text\n")
    projections = TripleProjections()
    wiki.service.keeper.freshen()
    lines = said(projections.of(wiki.service.keeper.reading().view))
    ada = about(lines, "page:ada")
    assert [line for line in ada if line.startswith(("wm:type", "wm:status", "wm:tag", "wm:hub"))] == [
        'wm:type "[[person]]"'
    ]
    assert {line for line in ada if line.startswith("wm:has_")} == {
        "wm:has_hub page:valve",
        "wm:has_status page:mill",
        "wm:has_type <urn:wikimcp:placeholder:person>",
    }
    people = wiki.call("query_nodes", node_type="person")["nodes"]
    assert [f"page:{node['slug'].replace('/', '%2F')}" for node in people] == [
        line.partition(" ")[0] for line in lines if line.endswith(" rdf:type wm:Person")
    ]
    assert len(people) == 2


def changed(wiki: LiveWiki, projections: TripleProjections, before: TripleProjection) -> set[str]:
    """Return the pieces that differ after an edit, in short form, having checked them against a new start."""
    wiki.service.keeper.freshen()
    view = wiki.service.keeper.reading().view
    after = projections.of(view)
    anew = TripleProjections().of(view)
    assert after.signatures == anew.signatures
    assert said(after) == said(anew)
    keys = before.signatures.keys() | after.signatures.keys()
    return {
        shortened(key) if ":" in key else key
        for key in keys
        if before.signatures.get(key) != after.signatures.get(key)
    }


def test_an_edit_changes_the_pieces_of_what_it_touches(wiki: LiveWiki) -> None:
    projections = TripleProjections()
    first = projections.of(wiki.service.keeper.reading().view)
    assert first.signatures
    wiki.write(
        "valve.md", "---\nid: 01VALVE\ncluster: works\ntype: hub\n---\n# Valve\n\nTurn it left. [[mill]]\n"
    )
    assert changed(wiki, projections, first) == {"page:valve"}
    second = projections.of(wiki.service.keeper.reading().view)
    assert second._said[1] is first._said[1], "what did not change is not read again"
    wiki.write("gone.md", "---\ntags: [new]\nsources: [x]\n---\n# Gone\n")
    assert changed(wiki, projections, second) == {"page:gone", "page:mill", "topics", "sources"}
    third = projections.of(wiki.service.keeper.reading().view)
    (wiki.vault / "valve.md").unlink()
    assert changed(wiki, projections, third) == {"page:valve", "page:mill", "page:gone", "topics", "nodes"}, (
        "gone and valve are named in one passage no more"
    )
    fourth = projections.of(wiki.service.keeper.reading().view)
    wiki.write("other.md", "---\nid: 01VALVE\n---\n# Other\n")
    assert changed(wiki, projections, fourth) == {"page:other", "page:mill", "page:gone", "nodes"}, (
        "the citation leads somewhere again"
    )


def test_a_view_that_was_never_asked_about_does_not_stand_in_the_way(wiki: LiveWiki) -> None:
    projections = TripleProjections()
    unread = projections.of(wiki.service.keeper.reading().view)
    wiki.write("valve.md", "# Valve\n\nOther.\n")
    wiki.service.keeper.freshen()
    view = wiki.service.keeper.reading().view
    assert projections.of(view).signatures == TripleProjections().of(view).signatures
    assert "_said" not in unread.__dict__


def test_an_answer_follows_an_edit(wiki: LiveWiki) -> None:
    query = "SELECT ?title { page:valve wm:linksTo*/dcterms:title ?title }"
    assert wiki.call("sparql_query", query=query)["rows"] == [["Valve"]]
    wiki.write("valve.md", "# Valve wheel\n\n[[Ofen & Brot/ä ü]]\n")
    titles = ['The "old" mill \\ yard', "Valve wheel", "Brot"]
    assert sorted(row[0] for row in wiki.call("sparql_query", query=query)["rows"]) == sorted(titles)
    (wiki.vault / "valve.md").unlink()
    assert wiki.call("sparql_query", query=query)["rows"] == []
    assert wiki.call("sparql_query", query="ASK { ?section dcterms:isPartOf page:valve }")["boolean"] is False


NAMED = "SELECT ?a ?how ?b { VALUES ?how { wm:mentions wm:co_mentioned } ?a ?how ?b }"


def test_what_pages_name_is_said_among_what_is_visible_and_follows_an_edit(wiki: LiveWiki) -> None:
    def named() -> list[list[str]]:
        return [list(row) for row in wiki.call("sparql_query", query=NAMED)["rows"]]

    wiki.write("hub.md", "# Hub\n\nThe valve of the windmill. A valve again.\n\nSecret talk of Nobody.\n")
    before = [row for row in named() if "page:hub" in row[0] or row[1] == "wm:co_mentioned"]
    assert ["page:hub", "wm:mentions", "page:valve"] in before
    assert ["page:hub", "wm:mentions", "page:mill"] in before, "by its alias"
    assert ["page:mill", "wm:co_mentioned", "page:valve"] in before
    assert not any("secret" in str(row) for row in named()), "a withheld page is named by nobody"
    wiki.write("hub.md", "# Hub\n\nThe valve.\n")
    after = [row for row in named() if "page:hub" in row[0]]
    assert ["page:hub", "wm:mentions", "page:valve"] in after
    assert ["page:hub", "wm:mentions", "page:mill"] not in after


def test_of_a_wiki_that_names_very_much_the_first_mentions_are_said(
    wiki: LiveWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# Hub\n\nThe valve of the windmill, Brot and the valve.\n"
    wiki.write("hub.md", text)
    assert len(wiki.call("sparql_query", query=NAMED)["rows"]) > 4
    monkeypatch.setattr(triples, "MOST_MENTION_EDGES", 1)
    wiki.write("hub.md", f"{text}\nMore.\n")
    few = wiki.call("sparql_query", query=NAMED)["rows"]
    assert sorted(row[1] for row in few) == ["wm:co_mentioned", "wm:mentions"]


ODD = {
    "numbers": "a: .nan\nb: .inf\nc: -.inf\nd: 1e400\ne: 123456789012345678901234567890\nf: 1_000\n",
    "dates": "a: 2031-13-45\nb: 0000-00-00\nc: 2031-02-30T25:61:00Z\nd: 2031-02-03 04:05:06\ne: 12:30:00\n",
    "texts": 'a: "\\u0000\\u0007\\ud800\\u202e\\" \\\\ \\n \\r \\t"\nb: "<script>"\n"": x\n" ": y\n? [k]\n: z\n',
    "names": "title: ' '\ntype: [a, b]\ntags: {x: 1}\ncluster: 'a b/ö <>\"{}|^`\\'\naliases: ['\"', '<>']\n",
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_frontmatter_makes_sound_triples(tmp_path: Path, odd: str) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("odd.md", f'---\n{ODD[odd]}---\n# <"Odd\\> \u202e\n\n[[a"b<c>]] [[x\\y]]\n')
    try:
        assert any(line.startswith("page:odd ") for line in said(projection(wiki)))
        rows = wiki.call("sparql_query", query="SELECT ?p ?o { page:odd ?p ?o }")["rows"]
        assert ["wm:slug", "odd"] in rows
        assert wiki.call("sparql_query", query="DESCRIBE page:odd")["turtle"]
    finally:
        wiki.stop()


SIDECAR = {
    "nodes": [
        {"id": "guild", "label": "Guild of Millers", "kind": "organization", "aliases": ["The guild"]},
        {"id": "x1", "label": "Grain", "kind": "crop"},
    ],
    "edges": [
        {"from": "guild", "to": "valve", "type": "uses"},
        {"from": "guild", "to": "x1", "type": "requires"},
        {"from": "valve", "to": "Nobody yet", "type": "part of"},
    ],
}


def test_what_has_no_page_has_a_class_a_name_and_a_kind(wiki: LiveWiki) -> None:
    wiki.write("graph/graph.json", json.dumps(SIDECAR))
    wiki.service.keeper.freshen()
    lines = said(TripleProjections().of(wiki.service.keeper.reading().view))
    assert about(lines, "<urn:wikimcp:entity:guild>") == [
        "rdf:type wm:Entity",
        "rdf:type wm:Organization",
        'rdfs:label "Guild of Millers"',
        'skos:altLabel "The guild"',
        'wm:kind "organization"',
        "wm:requires <urn:wikimcp:entity:x1>",
        "wm:uses page:valve",
    ]
    assert about(lines, "<urn:wikimcp:entity:x1>") == [
        "rdf:type wm:Entity",
        'rdfs:label "Grain"',
        'wm:kind "crop"',
    ]
    assert about(lines, "<urn:wikimcp:placeholder:Nobody%20yet>") == [
        "rdf:type wm:Placeholder",
        'rdfs:label "Nobody yet"',
    ]
    assert not any("rdf:type wm:Page" in line for line in lines if "entity:" in line), "counts of pages stay"


def test_an_answer_follows_an_edit_of_the_sidecar_alone(wiki: LiveWiki) -> None:
    query = "SELECT ?name ?end { ?e a wm:Entity ; rdfs:label ?name OPTIONAL { ?e wm:uses/wm:slug ?end } }"
    assert wiki.call("sparql_query", query=query)["rows"] == []
    wiki.write("graph/graph.json", json.dumps(SIDECAR))
    rows = wiki.call("sparql_query", query=query)["rows"]
    assert sorted(rows) == [["Grain", None], ["Guild of Millers", "valve"]]
    found = wiki.call("traverse", start_node="Guild of Millers", max_depth=1)
    assert {"page:valve", "entity:x1"} <= {node["id"] for node in found["nodes"]}
    other = {"edges": [{"from": "entity:guild", "to": "mill", "type": "uses"}]}
    wiki.write("graph/graph.json", json.dumps(other))
    assert wiki.call("sparql_query", query=query)["rows"] == [["guild", "mill"]]
    (wiki.vault / "graph/graph.json").unlink()
    assert wiki.call("sparql_query", query=query)["rows"] == []


def test_an_entity_of_a_withheld_page_is_none(wiki: LiveWiki) -> None:
    rows = {"nodes": [{"id": "hush", "label": "Hush", "kind": "tool", "source_page": "secret"}]}
    wiki.write("graph/graph.json", json.dumps(rows))
    assert wiki.call("sparql_query", query="SELECT ?e { ?e a wm:Entity }")["rows"] == []
    wiki.service.keeper.freshen()
    shown = said(TripleProjections().of(wiki.service.keeper.reading(Audience(drafts=True)).view))
    assert about(shown, "<urn:wikimcp:entity:hush>")[:2] == ["rdf:type wm:Entity", "rdf:type wm:Tool"]


def test_another_start_goes_on_from_the_copy_and_follows_what_changed_meanwhile(wiki: LiveWiki) -> None:
    query = "SELECT ?s ?p ?o { ?s ?p ?o }"

    def view() -> View:
        return wiki.service.keeper.reading().view

    def stopped() -> None:
        mark, place = TripleProjections().of(view()).mark, TripleProjections().of(view()).place
        assert place is not None
        until(lambda: (copy := read_copy(place)) is not None and copy.mark == mark, "the copy is there")
        wiki.stop()

    first = wiki.call("sparql_query", query=query)["rows"]
    stopped()
    assert wiki.call("sparql_query", query=query)["rows"] == first
    assert view().graphs._knowledge is None, "nothing is made of the pages"
    wiki.stop()
    wiki.write("valve.md", "---\nid: 01VALVE\n---\n# Valve\n\nTurn it left. [[mill]]\n")
    wiki.write("graph/graph.json", json.dumps(SIDECAR))
    second = wiki.call("sparql_query", query=query)["rows"]
    assert second != first
    stopped()
    (wiki.vault / "graph/graph.json").unlink()
    third = wiki.call("sparql_query", query=query)["rows"]
    assert not any("guild" in str(row) for row in third) and any("guild" in str(row) for row in second)
    stopped()
    assert wiki.call("sparql_query", query=query)["rows"] == third


def test_a_server_has_loaded_what_was_asked_for_before(wiki: LiveWiki) -> None:
    def worker() -> int | None:
        store = wiki.service._triples._store if wiki.service._triples is not None else None
        assert isinstance(store, WorkerStore)
        return store.worker_pid

    assert wiki.call("sparql_query", query="ASK { page:mill wm:linksTo page:valve }")["boolean"]
    place = TripleProjections().of(wiki.service.keeper.reading().view).place
    until(lambda: place is not None and place.exists(), "the copy is there")
    wiki.stop()
    wiki.write("valve.md", "# Valve\n\nSee [[pump]] and [[mill]].\n")
    assert worker() is None
    until(worker, "the worker is there before anybody asks")
    assert wiki.call("sparql_query", query="ASK { page:valve wm:linksTo page:mill }")["boolean"]


def test_what_is_said_is_of_the_format_that_copies_are_marked_with(wiki: LiveWiki) -> None:
    """Whoever changes what is said of a wiki raises PROJECTION_FORMAT, and puts the new digest here."""
    found = TripleProjections().of(wiki.service.keeper.reading().view)
    lines = [line for line in said(found) if "dcterms:modified" not in line]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (PROJECTION_FORMAT, digest) == (3, "3a2b5b92a56edf71")
