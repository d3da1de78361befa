"""The tools of the knowledge graph over real services: contract, answers, caps, wrong input."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import networkx
import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import Ambiguous, BadArgument, NotFound, WikimcpError
from wikimcp.graph.knowledge import KnowledgeEdge
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Caller
from wikimcp.tools.graph_nodes import EdgeRow
from wikimcp.tools.registry import TOOLS, load
from wikimcp.tools.rendering import compact_json
from wikimcp.tools.schemas import input_schema, output_schema

SIGNATURES = {
    "discover_schema": ["include_drafts"],
    "query_nodes": [
        "node_type",
        "name",
        "source_page",
        "relation",
        "properties",
        "provenance",
        "limit",
        "cursor",
        "include_drafts",
    ],
    "get_node": ["node", "include_drafts"],
    "traverse": [
        "start_node",
        "max_depth",
        "relations",
        "direction",
        "max_nodes",
        "include_mentions",
        "include_drafts",
    ],
    "search_knowledge": ["query", "node_type", "limit", "include_drafts"],
    "find_similar": ["node", "limit", "include_drafts"],
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("discover_schema", {}),
    ("query_nodes", {"limit": 3}),
    ("query_nodes", {"node_type": "person", "properties": {"role": "miller"}}),
    ("get_node", {"node": "Ana Ruiz"}),
    ("get_node", {"node": "entity:guild"}),
    ("traverse", {"start_node": "mill"}),
    ("traverse", {"start_node": "mill", "include_mentions": True, "max_nodes": 3}),
    ("search_knowledge", {"query": "miller barley"}),
    ("find_similar", {"node": "mill", "limit": 2}),
]
validator: Any = import_module("jsonschema").Draft202012Validator


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path_factory.mktemp("graph"), watch=False, embedder="wordllama")
    wiki.write(
        "people/ana.md",
        "---\ntitle: Ana Ruiz\nrole: miller\naliases: [Ana of the mill]\ntags: [ops]\n---\nAna runs [[mill]].\n",
    )
    wiki.write("people/bo.md", "---\ntitle: Bo Lind\nrole: carter\n---\nBo Lind carts barley for Ana Ruiz.\n")
    wiki.write(
        "mill.md",
        "---\ntitle: Mill\nrelations: [{type: Depends On, target: river}]\n---\nThe stone turns. Ana Ruiz and Bo Lind work.\n",
    )
    wiki.write(
        "river.md", "---\ntitle: River\ntype: place\n---\nWater for the [[mill]].\n\npart of:: [[valley]]\n"
    )
    wiki.write("a/mercury.md", "---\ntitle: Mercury\n---\nA planet.\n")
    wiki.write("b/mercury.md", "---\ntitle: Mercury\n---\nA metal.\n")
    wiki.write(
        "graph/graph.json",
        '{"nodes": [{"id": "guild", "label": "Guild of Millers", "type": "organization", "founded": 1402}],'
        ' "edges": [{"from": "Ana Ruiz", "to": "guild", "type": "member of", "confidence": 0.8, "source_page": "mill"}]}',
    )
    wiki.call("list_pages")
    yield wiki
    wiki.stop()


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_tool_has_exactly_the_parameters_of_the_contract(name: str) -> None:
    tool = load(name)
    assert tool is not None
    schema = input_schema(tool)
    assert list(schema["properties"]) == SIGNATURES[name]
    assert all(facts.get("description") for facts in schema["properties"].values())
    assert schema["additionalProperties"] is False
    assert "graph" in TOOLS[name]
    assert len(tool.description) < 400


def test_bounds_are_those_of_the_contract() -> None:
    tool = load("traverse")
    assert tool is not None
    shown = input_schema(tool)["properties"]
    depth, most = shown["max_depth"], shown["max_nodes"]
    assert (depth["minimum"], depth["maximum"], depth["default"]) == (1, 4, 2)
    assert (most["minimum"], most["maximum"], most["default"]) == (1, 200, 50)
    assert shown["direction"]["enum"] == ["out", "in", "both"]


def scalars(data: object) -> list[str]:
    if isinstance(data, dict):
        return [found for value in data.values() for found in scalars(value)]
    if isinstance(data, list):
        return [found for value in data for found in scalars(value)]
    return [data if isinstance(data, str) else compact_json(data)]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_both_channels_hold_the_same_facts_and_keep_the_schema(
    wiki: LiveWiki, name: str, arguments: dict[str, Any]
) -> None:
    answer = wiki.service.call(name, arguments, Caller())
    tool = load(name)
    assert tool is not None and answer.structured is not None
    validator(output_schema(tool)).validate(answer.structured)
    facts = scalars({key: value for key, value in answer.structured.items() if key != "index"})
    assert [
        fact for fact in facts if fact not in answer.text and compact_json(fact)[1:-1] not in answer.text
    ] == []
    again = wiki.call(name, **arguments)
    assert {**again, "index": 0} == {**answer.structured, "index": 0}


def test_the_schema_counts_what_there_is(wiki: LiveWiki) -> None:
    schema = wiki.call("discover_schema")
    kinds = {row["type"]: row["count"] for row in schema["nodeTypes"]}
    assert kinds == {"page": 3, "person": 2, "place": 1, "organization": 1, "placeholder": 1}
    relations = {row["type"]: row["count"] for row in schema["relationTypes"]}
    stated = {key: relations[key] for key in ("depends_on", "part_of", "member_of", "links_to")}
    assert stated == {"depends_on": 1, "part_of": 1, "member_of": 1, "links_to": 3}
    assert schema["totals"]["nodes"] == 8
    assert {row["type"] for row in schema["provenance"]} == {"human-authored", "ai-inferred"}
    (role,) = [row for row in schema["properties"] if row["key"] == "role"]
    assert (role["count"], sorted(role["samples"])) == (2, ["carter", "miller"])


def names(answer: dict[str, Any]) -> list[str]:
    return [node["name"] for node in answer["nodes"]]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"node_type": "PERSON"}, ["Ana Ruiz", "Bo Lind"]),
        ({"name": "OF THE mill"}, ["Ana Ruiz"]),
        ({"relation": "member of"}, ["Ana Ruiz", "Guild of Millers"]),
        ({"properties": {"role": "Miller"}}, ["Ana Ruiz"]),
        ({"properties": {"founded": 1402}}, ["Guild of Millers"]),
        ({"properties": {"tags": "ops"}}, ["Ana Ruiz"]),
        ({"provenance": "ai-inferred"}, ["Guild of Millers"]),
        ({"source_page": "mill"}, ["Mill", "Ana Ruiz", "River", "Guild of Millers"]),
        ({"node_type": "person", "relation": "mentions", "properties": {"role": "carter"}}, ["Bo Lind"]),
        ({"node_type": "persn"}, []),
    ],
)
def test_nodes_are_filtered(wiki: LiveWiki, filters: dict[str, Any], expected: list[str]) -> None:
    answer = wiki.call("query_nodes", **filters)
    assert sorted(names(answer)) == sorted(expected)
    assert answer["total"] == len(expected)


def test_filters_work_before_paging_and_cursors_join_to_the_whole(wiki: LiveWiki) -> None:
    whole = names(wiki.call("query_nodes"))
    parts: list[str] = []
    cursor = ""
    while True:
        answer = wiki.call("query_nodes", limit=3, cursor=cursor)
        parts += names(answer)
        assert answer["total"] == len(whole) == 8
        if not (cursor := answer.get("nextCursor", "")):
            break
    assert parts == whole
    first = wiki.call("query_nodes", limit=3)["nextCursor"]
    with pytest.raises(BadArgument, match="cursor"):
        wiki.call("query_nodes", node_type="person", cursor=first)


def test_a_value_that_no_node_has_is_answered_with_the_nearest(wiki: LiveWiki) -> None:
    assert "nearest: 'person'" in str(wiki.call("query_nodes", node_type="persn")["notes"])
    assert "'depends_on'" in str(wiki.call("query_nodes", relation="depend on")["notes"])
    assert "nearest: 'role'" in str(wiki.call("query_nodes", properties={"rolle": "x"})["notes"])
    with pytest.raises(BadArgument, match="kind"):
        wiki.call("query_nodes", kind="person")


def test_a_profile_has_names_at_both_ends_and_a_citation_that_holds(wiki: LiveWiki) -> None:
    node = wiki.call("get_node", node="Ana of the mill")
    assert (node["name"], node["type"], node["slug"], node["aliases"]) == (
        "Ana Ruiz",
        "person",
        "people/ana",
        ["Ana of the mill"],
    )
    assert node["properties"]["role"] == "miller"
    assert (node["mentions"], node["mentioningPages"]) == (2, 2)
    edges = {(edge["direction"], edge["relation"], edge["name"]): edge for edge in node["edges"]}
    assert set(edges) == {("out", "links_to", "Mill"), ("out", "member_of", "Guild of Millers")}
    member = edges["out", "member_of", "Guild of Millers"]
    assert (member["provenance"], member["confidence"]) == ("ai-inferred", 0.8)
    (source,) = node["sources"]
    text = (wiki.vault / "people/ana.md").read_text().splitlines()
    assert source["slug"] == "people/ana"
    assert "Ana runs" in "\n".join(text[source["lines"][0] - 1 : source["lines"][1]])


def test_an_entity_without_a_page_cites_the_page_that_states_it(wiki: LiveWiki) -> None:
    node = wiki.call("get_node", node="guild of millers")
    assert (node["id"], node["type"], node["properties"]) == (
        "entity:guild",
        "organization",
        {"founded": 1402},
    )
    assert "mill" in [source["slug"] for source in node["sources"]]


def test_wrong_names_say_what_would_be_right(wiki: LiveWiki) -> None:
    with pytest.raises(NotFound, match="Anna Ruiz") as missing:
        wiki.call("get_node", node="Anna Ruiz")
    assert "Ana Ruiz" in missing.value.hint
    with pytest.raises(Ambiguous, match="a/mercury"):
        wiki.call("traverse", start_node="Mercury")
    for arguments in ({"node": ""}, {"node": ["a"]}, {}):
        with pytest.raises(WikimcpError):
            wiki.call("get_node", **arguments)


def test_numbers_out_of_range_are_clamped_and_said_so(wiki: LiveWiki) -> None:
    answer = wiki.call("traverse", start_node="mill", max_depth=9, max_nodes=0)
    assert len(answer["nodes"]) == 1
    assert "max_depth" in str(answer["notes"]) and "max_nodes" in str(answer["notes"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"direction": "out"}, {"mill": 0, "river": 1, "placeholder:valley": 2}),
        ({"direction": "in", "max_depth": 1}, {"mill": 0, "people/ana": 1, "river": 1}),
        ({"relations": ["depends_on"]}, {"mill": 0, "river": 1}),
        (
            {"relations": ["Member Of", "links to"], "max_depth": 2},
            {"mill": 0, "people/ana": 1, "river": 1, "entity:guild": 2},
        ),
    ],
)
def test_a_walk_goes_as_far_and_along_what_it_is_told(
    wiki: LiveWiki, arguments: dict[str, Any], expected: dict[str, int]
) -> None:
    answer = wiki.call("traverse", start_node="mill", **arguments)
    found = {node["id"].removeprefix("page:"): node["depth"] for node in answer["nodes"]}
    if "placeholder:valley" not in expected:
        found.pop("placeholder:valley", None)
    assert found == expected


def test_mentions_lead_further_when_they_are_asked_for(wiki: LiveWiki) -> None:
    stated = wiki.call("traverse", start_node="people/bo")
    assert names(stated) == ["Bo Lind"]
    answer = wiki.call("traverse", start_node="people/bo", include_mentions=True)
    assert {"Ana Ruiz", "Mill"} <= set(names(answer))
    relations = {edge["relation"]: edge["count"] for edge in answer["edges"] if "count" in edge}
    assert relations["co_mentioned"] >= 1 and relations["mentions"] >= 1


def test_what_the_cap_leaves_out_is_counted(wiki: LiveWiki) -> None:
    whole = wiki.call("traverse", start_node="mill", max_depth=1)
    cut = wiki.call("traverse", start_node="mill", max_depth=1, max_nodes=2)
    assert (cut["nodeCount"], cut["frontier"]) == (2, whole["nodeCount"] - 2)
    assert "max_nodes" in str(cut["notes"])


def test_search_finds_by_name_alias_property_and_summary(wiki: LiveWiki) -> None:
    assert names(wiki.call("search_knowledge", query="ruiz"))[0] == "Ana Ruiz"
    assert names(wiki.call("search_knowledge", query="carter")) == ["Bo Lind"]
    assert names(wiki.call("search_knowledge", query="1402")) == ["Guild of Millers"]
    assert names(wiki.call("search_knowledge", query="lind", node_type="place")) == []
    nothing = wiki.call("search_knowledge", query="zzyzx")
    assert (nothing["total"], nothing["nodes"]) == (0, [])
    assert "retrieve_context" in str(nothing["notes"])


def test_words_that_say_nothing_find_nothing_beside_others(wiki: LiveWiki) -> None:
    assert names(wiki.call("search_knowledge", query="who is the carter for them?")) == ["Bo Lind"]
    assert names(wiki.call("search_knowledge", query="what is a zzyzx")) == []
    assert "Mercury" in names(wiki.call("search_knowledge", query="a"))  # nothing else to go by


def test_a_node_of_a_sidecar_is_found_by_the_id_that_its_edges_have(wiki: LiveWiki) -> None:
    assert wiki.call("get_node", node="guild")["name"] == "Guild of Millers"
    with pytest.raises(NotFound) as missing:
        wiki.call("get_node", node="millers")
    assert missing.value.hint == "Named alike: Guild of Millers."


def test_the_name_of_a_file_is_a_name_where_the_title_is_another(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("Acme GmbH.md", "## History\n\nFounded late.\n")
    wiki.write("b.md", "# Letter\n\nWe wrote to ACME GmbH twice; Acme GmbH said nothing of history.\n")
    (node,) = wiki.call("query_nodes", name="acme")["nodes"]
    assert (node["id"], node["name"]) == ("page:Acme GmbH", "History")
    assert names(wiki.call("search_knowledge", query="acme"))[0] == "History"
    walk = wiki.call("traverse", start_node="b", include_mentions=True)
    (mention,) = [edge for edge in walk["edges"] if edge["relation"] == "mentions"]
    assert (mention["source"], mention["target"], mention["count"]) == ("page:b", "page:Acme GmbH", 3)
    wiki.stop()


def test_similar_nodes_come_with_the_pages_behind_them(wiki: LiveWiki) -> None:
    answer = wiki.call("find_similar", node="people/bo", limit=3)
    assert [node["slug"] for node in answer["nodes"]][0] in ("people/ana", "mill")
    scores = [node["similarity"] for node in answer["nodes"]]
    assert scores == sorted(scores, reverse=True) and scores[0] <= 1.0001
    assert all(node["pages"][0] == node["slug"] for node in answer["nodes"] if node.get("slug"))
    nowhere = wiki.call("find_similar", node="guild of millers")
    assert nowhere["nodes"] == [] and nowhere["notes"]


def test_a_random_wiki_is_walked_as_networkx_walks_it(tmp_path: Path) -> None:
    chance = random.Random(7)
    pages = [f"n{number}" for number in range(60)]
    drawn = networkx.DiGraph()
    drawn.add_nodes_from(pages)
    wiki = LiveWiki(tmp_path, watch=False)
    for page in pages:
        targets = chance.sample(pages, chance.randint(0, 3))
        wiki.write(f"{page}.md", "Links: " + " ".join(f"[[{target}]]" for target in targets) + "\n")
        drawn.add_edges_from((page, target) for target in targets if target != page)
    views = {"out": drawn, "in": drawn.reverse(), "both": drawn.to_undirected()}
    try:
        for start in pages[:15]:
            for direction, view in views.items():
                depth = chance.randint(1, 4)
                answer = wiki.call(
                    "traverse", start_node=start, direction=direction, max_depth=depth, max_nodes=200
                )
                expected = networkx.single_source_shortest_path_length(view, start, cutoff=depth)
                assert {node["slug"]: node["depth"] for node in answer["nodes"]} == expected
                among = drawn.subgraph(expected).edges
                if direction == "both":
                    assert answer["edgeCount"] == len(among)
    finally:
        wiki.stop()


def test_an_answer_stays_within_the_cap_though_nodes_have_long_names(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    title = "Very long names of very long pages " * 6
    for number in range(120):
        links = " ".join(f"[[p{other}]]" for other in range(0, 120, 3))
        wiki.write(f"p{number}.md", f"---\ntitle: {title}{number}\nsummary: {title}\n---\n{links}\n")
    try:
        for name, arguments in (
            ("traverse", {"start_node": "p0", "max_nodes": 200}),
            ("query_nodes", {"limit": 200}),
            ("get_node", {"node": "p0"}),
        ):
            answer = wiki.service.call(name, arguments, Caller())
            assert count_tokens(answer.text) <= 8_000
            assert count_tokens(compact_json(answer.structured)) <= 8_000
            assert re.search("cut after|left out", str(answer.structured))
    finally:
        wiki.stop()


def test_a_count_that_somebody_states_is_shown_only_where_it_is_a_number() -> None:
    for said, shown in ((3, 3), ("many", None), ([1, 2], None)):
        edge = KnowledgeEdge("page:a", "page:b", "mentions", ("ai-inferred",), None, {"count": said})
        assert EdgeRow.of(edge).wire().get("count") == shown
