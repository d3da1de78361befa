"""The graph of a served vault: rows, sidecars merged in, withholding, and edits followed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import BadArgument, NotFound, Unavailable
from wikimcp.index import mention_tables
from wikimcp.models import Caller

ANYBODY = Caller()


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path, watch=False)
    yield wiki
    wiki.stop()


def edges(wiki: LiveWiki, caller: Caller = ANYBODY) -> set[tuple[str, str, str]]:
    rows = wiki.service.graph(caller)["edges"]
    return {(row["source"], row["relation"], row["target"]) for row in rows}


def metadata(wiki: LiveWiki, source: str, relation: str, target: str) -> dict[str, Any]:
    (row,) = [
        row
        for row in wiki.service.graph(ANYBODY)["edges"]
        if (row["source"], row["relation"], row["target"]) == (source, relation, target)
    ]
    return dict(row["metadata"])


def kinds(wiki: LiveWiki, caller: Caller = ANYBODY) -> dict[str, str]:
    return {row["id"]: row["kind"] for row in wiki.service.graph(caller)["nodes"]}


def sidecar(wiki: LiveWiki, value: object) -> None:
    wiki.write("graph/graph.json", json.dumps(value))


def test_a_page_gives_every_kind_of_row(wiki: LiveWiki) -> None:
    wiki.write(
        "a.md",
        "---\ntags: [ops]\nrelated: [b]\nrelations:\n- {type: Part Of, target: b}\nsources: ['https://x.org/1', paper.pdf]\n"
        "supersedes: '[[b]]'\n---\n# A\n\nSee [[b#Beta]], [[b#Gone]], ![[b]], [[Nowhere]], [[GH-42]] and "
        "<https://y.org>. `[[code]]` %%[[comment]]%%\n\ndepends on:: [[b]]\n\n## Deep\n\ntext\n",
    )
    wiki.write("b.md", "# B\n\n## Beta\n\ntext\n")
    page, other = "page:a", "page:b"
    assert edges(wiki) == {
        (page, "links_to", other),
        (page, "embeds", other),
        (page, "related_to", other),
        (page, "part_of", other),
        (page, "supersedes", other),
        (page, "depends_on", other),
        (page, "links_to", "placeholder:Nowhere"),
        (page, "links_to", "external:GH-42"),
        (page, "links_to", "external:https://y.org"),
        (page, "cites", "source:https://x.org/1"),
        (page, "cites", "source:paper.pdf"),
        (page, "tagged", "tag:ops"),
        (page, "contains", "heading:a#A"),
        ("heading:a#A", "contains", "heading:a#A#Deep"),
        (other, "contains", "heading:b#B"),
        ("heading:b#B", "contains", "heading:b#B#Beta"),
    }
    assert metadata(wiki, page, "links_to", other)["missing_heading"] == "Gone"
    assert metadata(wiki, page, "links_to", "placeholder:Nowhere")["resolved"] is False
    shown = kinds(wiki)
    assert shown["placeholder:Nowhere"] == "placeholder"
    assert shown["external:GH-42"] == "external"


def test_one_file_is_one_node_however_pages_write_the_way_to_it(wiki: LiveWiki) -> None:
    for file in ("x/i/p.png", "y/i/p.png", "keep/only.png"):
        wiki.write(file, "picture")
    wiki.write("x/a.md", "![](i/p.png) ![[x/i/p.png]] ![](/x/i/p.png) ![](../y/i/p.png) ![[only.png]]\n")
    wiki.write("y/b.md", "![](i/p.png) ![](./i/p.png) ![](i/gone.png)\n")
    assert {edge for edge in edges(wiki) if edge[0] in ("page:x/a", "page:y/b")} == {
        ("page:x/a", "links_to", "source:x/i/p.png"),
        ("page:x/a", "links_to", "source:y/i/p.png"),
        ("page:x/a", "links_to", "source:only.png"),
        ("page:y/b", "links_to", "source:y/i/p.png"),
        ("page:y/b", "links_to", "source:i/gone.png"),
    }


def test_a_node_row_has_the_shape_of_the_contract(wiki: LiveWiki) -> None:
    wiki.write("people/ana.md", "---\naliases: [A. Ruiz]\nsummary: Runs the mill.\n---\n# Ana\n")
    payload = wiki.service.graph(ANYBODY)
    node = next(row for row in payload["nodes"] if row["id"] == "page:people/ana")
    assert node == {
        "id": "page:people/ana",
        "label": "Ana",
        "kind": "page",
        "path": "people/ana.md",
        "metadata": {"entity_kind": "person", "summary": "Runs the mill.", "aliases": ["A. Ruiz"]},
    }
    assert set(payload["edges"][0]) == {"source", "target", "relation", "metadata"}
    assert payload["counts"] == {"nodes": 2, "edges": 1}


def test_names_that_differ_in_case_alone_are_one_placeholder_and_one_tag(wiki: LiveWiki) -> None:
    wiki.write("a.md", "# A\n\n[[New Idea]] #Ops\n")
    wiki.write("b.md", "# B\n\n[[new idea]] #ops\n")
    assert [name for name in kinds(wiki) if "idea" in name.lower()] == ["placeholder:New Idea"]
    assert [name for name in kinds(wiki) if name.startswith("tag:")] == ["tag:Ops"]


def test_ends_of_a_sidecar_resolve_by_id_title_path_and_qualified_path(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("quartz.config.ts", "export default {}")
    wiki.write("content/one.md", "---\nid: 01ONE\ntitle: The First\naliases: [Number One]\n---\nText.\n")
    wiki.write("content/two.md", "# Second\n\nText.\n")
    ends = [
        "page:one",
        "one",
        "01ONE",
        "The First",
        "the first",
        "one.md",
        "content/one.md",
        "content/one",
        "Number One",
    ]
    sidecar(wiki, [{"from": end, "to": "two", "type": f"r{at}"} for at, end in enumerate(ends)])
    wiki.write("content/graph/graph.json", json.dumps([{"from": "Second", "to": "one", "type": "back"}]))
    try:
        found = edges(wiki)
        assert {("page:one", f"r{at}", "page:two") for at in range(len(ends))} <= found
        assert ("page:two", "back", "page:one") in found
    finally:
        wiki.stop()


def test_unknown_ends_become_placeholders_externals_or_entities(wiki: LiveWiki) -> None:
    wiki.write("a.md", "# A\n")
    sidecar(
        wiki,
        {
            "nodes": [{"id": "ana", "label": "Ana Ruiz", "type": "person"}],
            "edges": [
                {"from": "a", "to": "Nobody", "type": "x"},
                {"from": "a", "to": "https://z.org", "type": "x"},
                {"from": "a", "to": "ABC-7", "type": "x"},
                {"from": "Ana Ruiz", "to": "a", "type": "wrote"},
            ],
        },
    )
    shown = kinds(wiki)
    assert {
        name: shown[name] for name in ("placeholder:Nobody", "external:https://z.org", "external:ABC-7")
    } == {
        "placeholder:Nobody": "placeholder",
        "external:https://z.org": "external",
        "external:ABC-7": "external",
    }
    assert shown["entity:ana"] == "person"
    assert ("entity:ana", "wrote", "page:a") in edges(wiki)
    assert metadata(wiki, "entity:ana", "wrote", "page:a") == {"provenance": "ai-inferred"}


def test_an_edge_of_page_and_sidecar_is_one_with_the_metadata_of_both(wiki: LiveWiki) -> None:
    wiki.write("a.md", "---\nrelations: [{type: uses, target: b}]\n---\n# A\n")
    wiki.write("b.md", "# B\n")
    sidecar(
        wiki,
        [
            {"from": "a", "to": "b", "type": "uses", "confidence": 0.5, "note": "first", "same": 1},
            {"from": "a", "to": "b", "type": "uses", "confidence": 0.9, "note": "second", "same": 1},
        ],
    )
    assert metadata(wiki, "page:a", "uses", "page:b") == {
        "provenance": ["human-authored", "ai-inferred"],
        "confidence": [0.5, 0.9],
        "note": ["first", "second"],
        "same": 1,
    }


def test_edits_of_the_sidecar_are_seen_while_it_is_served(wiki: LiveWiki) -> None:
    wiki.write("a.md", "# A\n")
    wiki.write("b.md", "# B\n")
    assert not any(relation == "uses" for _, relation, _ in edges(wiki))
    sidecar(wiki, [{"from": "a", "to": "b", "type": "uses"}])
    assert ("page:a", "uses", "page:b") in edges(wiki)
    assert "uses" in str(wiki.call("traverse", start_node="a"))
    wiki.write("graph/graph.json", "{broken")
    assert not any(relation == "uses" for _, relation, _ in edges(wiki))
    (why,) = wiki.service.graph(ANYBODY)["diagnostics"]
    assert (why["path"], why["code"], why["line"]) == ("graph/graph.json", "sidecar_broken", 1)
    assert "graph/graph.json: the sidecar is not JSON" in str(wiki.call("traverse", start_node="a")["notes"])
    (wiki.vault / "graph" / "graph.json").unlink()
    assert wiki.service.graph(ANYBODY)["diagnostics"] == []


SECRET_ROWS: list[dict[str, Any]] = [
    {"from": "open", "to": "secret/merger", "type": "quillhaven_by_slug"},
    {"from": "Merger", "to": "open", "type": "quillhaven_by_title"},
    {"from": "the deal", "to": "open", "type": "quillhaven_by_alias"},
    {"from": "01MERGER", "to": "open", "type": "quillhaven_by_id"},
    {"from": "secret/merger.md", "to": "open", "type": "quillhaven_by_path"},
    {"from": "heading:secret/merger#Terms", "to": "open", "type": "quillhaven_by_heading"},
    {"from": "open", "to": "other", "type": "quillhaven_source", "source_page": "secret/merger"},
    {
        "from": "open",
        "to": "other",
        "type": "quillhaven_evidence",
        "evidence": {"page": "secret/merger.md#L3"},
    },
    {"from": "osprey", "to": "open", "type": "quillhaven_node"},
    {"from": "open", "to": "Mira", "type": "quillhaven_entity"},
    {"from": "open", "to": "secret\\merger.md", "type": "quillhaven_by_windows_path"},
    {"from": "/secret/merger.md#Terms", "to": "open", "type": "quillhaven_by_anchor"},
    {"from": "open", "to": "[[Merger|the talks]]", "type": "quillhaven_by_link"},
    {"from": "open", "to": "source:secret/merger.md", "type": "quillhaven_by_source"},
    {"from": "open", "to": "placeholder:Merger", "type": "quillhaven_by_placeholder"},
    {"from": "open", "to": "old place/merger", "type": "quillhaven_by_file_name"},
    {"from": "Quillhaven buyer", "to": "Merger", "type": "quillhaven_other_end"},
]
SECRET_NODES = [
    {"id": "osprey", "label": "Osprey", "path": "secret/merger.md"},
    {"id": "Mira", "label": "Mira", "source_page": "Merger"},
]


@pytest.mark.parametrize("sign", ["draft: true", "visibility: board"])
def test_rows_of_a_sidecar_about_a_withheld_page_are_withheld(wiki: LiveWiki, sign: str) -> None:
    wiki.write("open.md", "# Open\n\nText.\n")
    wiki.write("other.md", "# Other\n\nText.\n")
    wiki.write(
        "secret/merger.md",
        f"---\n{sign}\nid: 01MERGER\ntitle: Merger\naliases: [the deal]\n---\nText.\n",
    )
    bare = json.dumps(wiki.service.graph(ANYBODY))
    sidecar(wiki, {"nodes": SECRET_NODES, "edges": SECRET_ROWS})
    assert json.dumps(wiki.service.graph(ANYBODY)) == bare
    told = [wiki.call("query_nodes"), wiki.call("discover_schema"), wiki.call("traverse", start_node="open")]
    assert not any(word in json.dumps(told).lower() for word in ("quillhaven", "osprey", "mira", "merger"))
    board = Caller(labels=frozenset({"board"}))
    shown = {relation for _, relation, _ in edges(wiki, board) if "quillhaven" in relation}
    assert len(shown) == (len(SECRET_ROWS) if sign.startswith("visibility") else 0)


@pytest.mark.parametrize(
    "name",
    [
        "alias.md",
        "alias",
        "also/in.md",
        "also/in",
        "whole/own/secret.md",
        "heading:alias.md#Part",
        "[[Alias]]",
    ],
)
def test_rows_that_name_a_withheld_page_by_a_link_to_it_are_withheld(wiki: LiveWiki, name: str) -> None:
    wiki.write("a.md", "# A\n")
    wiki.write("own/secret.md", "---\ndraft: true\n---\nx\n")
    wiki.write("own/in.md", "---\nstatus: private\n---\nx\n")
    wiki.write("open/seen.md", "# Seen\n")
    (wiki.vault / "alias.md").symlink_to("own/secret.md")
    (wiki.vault / "also").symlink_to("own")
    (wiki.vault / "twice").symlink_to("open")
    (wiki.vault / "whole").symlink_to(".")
    rows = [
        {"from": "a", "to": name, "type": "hides"},
        {"from": "a", "to": "Kestrel", "type": "tells", "evidence": {"page": name}},
        {"from": "a", "to": "twice/seen.md", "type": "shows"},
    ]
    wiki.write("graph/graph.json", json.dumps({"nodes": [{"id": "k", "path": name}], "edges": rows}))
    told = json.dumps(wiki.service.graph(ANYBODY))
    assert "hides" not in told and "tells" not in told and '"entity:k"' not in told
    assert "page:open/seen" in told and "shows" in told


def test_a_link_to_a_withheld_page_looks_like_one_to_a_page_that_is_not_there(wiki: LiveWiki) -> None:
    wiki.write("open.md", "# Open\n\n[[Merger]] and [[Absent]].\n")
    wiki.write("Merger.md", "---\ndraft: true\n---\n# Merger\n")
    rows = {row["id"]: row for row in wiki.service.graph(ANYBODY)["nodes"]}
    assert rows["placeholder:Merger"] == {
        **rows["placeholder:Absent"],
        "id": "placeholder:Merger",
        "label": "Merger",
    }
    assert "page:Merger" not in rows


@pytest.mark.parametrize("setting", ["ignore", "private"])
def test_a_sidecar_that_the_settings_keep_back_is_not_read(tmp_path: Path, setting: str) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{setting: ["graph/"]})
    wiki.write("a.md", "# A\n")
    sidecar(wiki, [{"from": "a", "to": "b", "type": "uses"}])
    try:
        assert not any(relation == "uses" for _, relation, _ in edges(wiki))
    finally:
        wiki.stop()


def test_a_sidecar_outside_of_the_vault_is_not_followed(wiki: LiveWiki, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "graph.json").write_text('[{"from": "a", "to": "b", "type": "uses"}]')
    wiki.write("a.md", "# A\n")
    (wiki.vault / "graph").symlink_to(tmp_path / "outside")
    assert not any(relation == "uses" for _, relation, _ in edges(wiki))


def test_a_neighborhood_goes_both_ways_as_far_as_it_is_told(wiki: LiveWiki) -> None:
    for at in range(5):
        wiki.write(f"p{at}.md", f"Text [[p{at + 1}]].\n" if at < 4 else "Text.\n")
    near = wiki.service.neighborhood("p2", ANYBODY)
    assert {row["id"] for row in near["nodes"]} == {"page:p1", "page:p2", "page:p3"}
    assert near["left_out"] == 0
    far = wiki.service.neighborhood("page:p2", ANYBODY, depth=2)
    assert len([row for row in far["nodes"] if row["kind"] == "page"]) == 5
    cut = wiki.service.neighborhood("p2", ANYBODY, depth=2, limit=2)
    assert (len(cut["nodes"]), cut["left_out"]) == (2, 2)
    with pytest.raises(BadArgument, match="depth must be a whole number from 1 to 4"):
        wiki.service.neighborhood("p2", ANYBODY, depth=9)
    with pytest.raises(BadArgument, match="limit must be a whole number from 1 to 2000"):
        wiki.service.neighborhood("p2", ANYBODY, limit=-5)
    with pytest.raises(NotFound, match="p9"):
        wiki.service.neighborhood("p9", ANYBODY)


def test_a_graph_that_is_off_is_said_to_be(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{"graph.enabled": False})
    wiki.write("a.md", "# A\n")
    try:
        assert wiki.service.off_tools()["traverse"] == "the knowledge graph is off"
        with pytest.raises(Unavailable, match="the graph is off"):
            wiki.service.graph(ANYBODY)
        with pytest.raises(Unavailable, match="traverse is off"):
            wiki.call("traverse", start_node="a")
    finally:
        wiki.stop()


@pytest.mark.parametrize("seed", range(3))
def test_after_any_edits_the_graph_is_that_of_a_rebuilt_index(wiki: LiveWiki, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"p{number}" for number in range(8)]

    def page() -> str:
        front = chance.choice(
            (
                "",
                "id: 01SHARED\n",
                "aliases: [Shared Name]\n",
                "draft: true\n",
                "related: [p1, p7]\n",
                "type: person\n",
            )
        )
        links = " ".join(
            f"[[{chance.choice([*names, 'Shared Name', 'gone'])}#{chance.choice('AB')}]]" for _ in range(3)
        )
        return f"---\n{front}---\n# {chance.choice('AB')}\n\n{links} names Shared Name and P3 here.\n\nuses:: [[p2]]\n"

    for name in names[:5]:
        wiki.write(f"{name}.md", page())
    sidecar(wiki, [{"from": "p1", "to": "p2", "type": "says"}, {"from": "Shared Name", "to": "p3"}])
    for _ in range(12):
        name = chance.choice(names)
        file = wiki.vault / f"{name}.md"
        if file.exists() and chance.random() < 0.3:
            file.unlink()
        else:
            wiki.write(f"{name}.md", page())
        carried = told(wiki)
        wiki.service.rebuild()
        assert told(wiki) == carried


def test_drafts_are_in_the_graph_where_operator_and_caller_both_want_them(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{"drafts.allow": True})
    wiki.write("open.md", "# Open\n\nSee [[Merger]].\n")
    wiki.write("Merger.md", "---\ndraft: true\ntype: project\n---\nBack to [[open]].\n")
    editor = Caller(may_see_drafts=True)
    try:
        shown = wiki.call("traverse", editor, start_node="open", include_drafts=True)
        assert [node["id"] for node in shown["nodes"]] == ["page:open", "page:Merger"]
        assert wiki.call("query_nodes", editor, node_type="project", include_drafts=True)["total"] == 1
        for caller, arguments in ((editor, {}), (ANYBODY, {"include_drafts": True})):
            plain = wiki.call("traverse", caller, start_node="open", **arguments)
            assert [node["id"] for node in plain["nodes"]] == ["page:open"]
            with pytest.raises(NotFound):
                wiki.call("get_node", caller, node="Merger", **arguments)
    finally:
        wiki.stop()


def test_headings_of_a_page_with_a_number_sign_in_its_name_are_its_own(wiki: LiveWiki) -> None:
    wiki.write("C#.md", "# Types\n")
    wiki.write("a.md", "[one](<C%23.md#types>) and [two](<C%23.md#gone>)\n")
    assert metadata(wiki, "page:a", "links_to", "page:C#")["missing_heading"] == "gone"


def test_a_wiki_too_large_for_all_mentions_says_so(wiki: LiveWiki, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mention_tables, "MOST_MENTION_TEXT", 60)
    wiki.write("alpha.md", "Beside Bravo.\n")
    wiki.write("bravo.md", "Beside Alpha. " * 20)
    answer = wiki.call("get_node", node="bravo")
    assert answer["mentions"] == 1
    assert wiki.call("get_node", node="alpha")["mentions"] == 0
    assert "mentions cover the first pages by path only" in str(answer["notes"])


def test_an_edit_reads_the_rows_of_one_page_alone(wiki: LiveWiki) -> None:
    for number in range(5):
        wiki.write(f"p{number}.md", "See [[p1]]. P2 is named.\n")
    wiki.call("get_node", node="p1")
    before = stored_rows(wiki)
    wiki.write("p3.md", "See [[p2]] now.\n")
    assert ("page:p3", "links_to", "page:p2") in edges(wiki)
    after = stored_rows(wiki)
    assert len(before) == len(after) == 5
    assert len(before & after) == 4


def stored_rows(wiki: LiveWiki) -> set[int]:
    tables = wiki.service.keeper.reading().graphs
    return {id(stored) for stored in tables._rows.values()}


def told(wiki: LiveWiki) -> object:
    nodes = wiki.call("query_nodes", limit=200)["nodes"]
    profiles = [wiki.call("get_node", node=node["id"]) for node in nodes]
    around = [wiki.call("traverse", start_node=node["id"], include_mentions=True) for node in nodes]
    answers = [wiki.service.graph(ANYBODY), nodes, *profiles, *around, wiki.call("discover_schema")]
    return [{**answer, "index": None} if isinstance(answer, dict) else answer for answer in answers]


def test_a_property_names_a_page_as_a_link_does(wiki: LiveWiki) -> None:
    wiki.write("people/Bo Lind.md", "---\ntitle: Bo\naliases: [Carter]\n---\ntext\n")
    wiki.write(
        "a.md",
        "---\ndepends_on: Bo Lind\nuses: [carter, bread]\npart-of: [bo lind.md]\nrequires: {page: Bo}\n---\ntext\n",
    )
    bo = "page:people/Bo Lind"
    assert {row for row in edges(wiki) if row[0] == "page:a"} == {
        ("page:a", relation, bo) for relation in ("depends_on", "uses", "part_of", "requires")
    }
