"""The fault cases that show in triples, citations and graphs, each named after its entry in the list."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.index.live_wiki import LiveWiki
from tests.vaults.dialects import Served, put, served
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller

VALVE = "The valve closes at 40 C."


def rows(wiki: Served, query: str, **asked: object) -> list[list[str]]:
    found: list[list[str]] = wiki.call("sparql_query", query=query, **asked)["rows"]
    return found


def test_b03_triples_of_a_page_with_duplicate_keys_are_there_once_it_may_be_seen(tmp_path: Path) -> None:
    oak = "---\ntitle: Oak\nstatus: draft\nstatus: final\n---\nBody.\n"
    vault = put(tmp_path / "v", {"oak.md": oak, "other.md": "x"})
    query = "SELECT ?o { ?p wm:slug 'oak' ; ?about ?o }"
    with served(vault) as wiki:
        assert rows(wiki, query) == []
    put(vault, {"oak.md": "---\ntitle: Elm\ntitle: Oak\nstatus: final\nstatus: final\n---\nBody.\n"})
    with served(vault) as wiki:
        assert ["Oak"] in rows(wiki, query) and ["Elm"] not in rows(wiki, query)


def test_b10_dates_are_typed_literals_and_a_clock_is_text(tmp_path: Path) -> None:
    text = "---\ncreated: 2031-02-03\nat: 2031-02-03 04:05:06\nclock: 12:30\n---\nx\n"
    with served(put(tmp_path / "v", {"a.md": text})) as wiki:
        query = "SELECT ?o (DATATYPE(?o) AS ?t) { ?p wm:slug 'a' ; wmf:%s ?o }"
        found = {key: rows(wiki, query % key)[0] for key in ("created", "at", "clock")}
    assert found == {
        "created": ["2031-02-03", "xsd:date"],
        "at": ["2031-02-03T04:05:06", "xsd:dateTime"],
        "clock": ["12:30", "xsd:string"],
    }


def test_b39_the_iri_of_any_name_is_plain_ascii_and_leads_back(tmp_path: Path) -> None:
    names = ["🦊", "№", "--", "Сад", "日本語 メモ", "#1 & [x] (y)"]
    with served(put(tmp_path / "v", {f"{name}.md": "x" for name in names})) as wiki:
        found = dict(rows(wiki, "SELECT ?s (STR(?p) AS ?iri) { ?p wm:slug ?s }"))
        assert sorted(found) == sorted(names)
        for slug, iri in found.items():
            assert iri.isascii() and not set(iri) & set(' "<>[]{}|\\^`#')
            assert rows(wiki, f"SELECT ?s {{ <{iri}> wm:slug ?s }}") == [[slug]]


def test_b48_each_kind_of_change_has_its_verdict(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    head = "---\nid: V1\n---\n"

    def verdict() -> dict[str, Any]:
        (row,) = wiki.call("list_stale_citations", verify=[uri])["verified"]
        return dict(row)

    try:
        file = wiki.write("valve.md", f"{head}# Pump\n\n## Valve\n\n{VALVE}\n")
        (page,) = wiki.call("read_pages", slugs=["valve#Valve"])["pages"]
        uri = page["citation"]["uri"]
        assert verdict()["status"] == "current"
        wiki.write("valve.md", f"{head}\n\n# Pump\n\n## Valve\n\n{VALVE}\n")
        assert verdict()["status"] == "current"  # two lines lower, under the same heading
        wiki.write("valve.md", f"{head}# Pump\n\n## Valve\n\n{VALVE.replace('40', '45')}\n")
        assert verdict()["status"] == "stale"
        file.unlink()
        assert verdict()["status"] == "target_missing"
        wiki.write("shelf/tap.md", f"{head}# Pump\n\n## Valve\n\n{VALVE}\n")
        assert (verdict()["status"], verdict()["target"]) == ("current", "shelf/tap")
        wiki.write("shelf/tap.md", f"{head}# Tap\n\n## Valve\n\n{VALVE}\n")
        assert (verdict()["status"], verdict()["movedTo"]["headingPath"]) == ("moved", ["Tap", "Valve"])
        wiki.write("shelf/tap.md", f"{head}# Top\n\n## Valve\n\n{VALVE}\n\n## Valve\n\n{VALVE}\n")
        assert verdict()["status"] == "ambiguous"
    finally:
        wiki.stop()


def test_b66_a_path_that_a_move_broke_is_told_with_where_the_page_is_now(tmp_path: Path) -> None:
    files = {"shelf/spark.md": "x", "a.md": "[[desk/spark]] [[spark]] [y](desk/gone.md) [[desk/own]]"}
    hidden = {"shelf/own.md": "---\ndraft: true\n---\nx"}
    with served(put(tmp_path / "v", {**files, **hidden})) as wiki:
        notes = wiki.call("get_page", slug="a")["diagnostics"]
        assert [note["message"] for note in notes] == [
            "'desk/spark' leads to no page; perhaps shelf/spark is meant",
            "'desk/gone.md' leads to no page",
            "'desk/own' leads to no page",
        ]


def test_b80_answers_about_a_large_graph_stay_within_the_cap_and_count_what_is_left(tmp_path: Path) -> None:
    pages = {
        f"p{n:03}.md": f"---\ntype: tool\n---\n# Kestrel {n}\n\n[[hub]] [[p{n + 1:03}]]\n" for n in range(400)
    }
    with served(put(tmp_path / "v", {**pages, "hub.md": "# Hub\n"}), answer_tokens=2_000) as wiki:
        for tool, asked in (
            ("query_nodes", {"limit": 1_000}),
            ("search_knowledge", {"query": "kestrel", "limit": 1_000}),
            ("get_node", {"node": "hub"}),
            ("traverse", {"start_node": "hub", "max_nodes": 200}),
            ("discover_schema", {}),
        ):
            answer = wiki.call(tool, **asked)
            assert len(json.dumps(answer)) < 5 * 2_000, tool
        nodes = wiki.call("query_nodes", limit=1_000)
        assert nodes["total"] >= 401 > nodes["returned"] and nodes["nextCursor"]
        around = wiki.service.neighborhood("hub", Caller(), limit=50)
        assert (len(around["nodes"]), around["left_out"]) == (50, 352)


def test_b100_no_query_makes_the_server_call_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    with served(put(tmp_path / "v", {"a.md": "x"})) as wiki:
        for query in (
            "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
            "SELECT * FROM <http://127.0.0.1:9/x.ttl> { ?s ?p ?o }",
            "LOAD <http://127.0.0.1:9/x.ttl>",
        ):
            with pytest.raises(WikimcpError) as caught:
                wiki.call("sparql_query", query=query)
            assert caught.value.code == "query_rejected"


def test_b101_a_draft_is_in_no_triple_graph_or_briefing(tmp_path: Path) -> None:
    files = {
        "d.md": "---\ndraft: true\ntitle: Merger\ntags: [dealtag]\nid: 01DEAL\n---\n# Terms\n[[Open]]",
        "open.md": "See [[d|the deal]] and [[Merger]].",
    }
    with served(put(tmp_path / "v", files)) as wiki:
        triples = str(rows(wiki, "SELECT ?s ?p ?o { ?s ?p ?o }", limit=1_000))
        briefing = wiki.service.call("get_briefing", {"pins": ["open", "d"]}, Caller()).text
        graph = json.dumps(
            [wiki.service.graph(Caller()), wiki.call("query_nodes"), wiki.call("discover_schema")]
        )
        for word in ("dealtag", "01DEAL", "Terms"):
            assert word not in triples + briefing + graph
        nodes = {node["id"]: node["kind"] for node in wiki.service.graph(Caller())["nodes"]}
        assert nodes["placeholder:d"] == nodes["placeholder:Merger"] == "placeholder"
