"""Merging sidecars: rows and unknown keys of the old one stay, rows said again are brought up to date."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimcp.errors import BadArgument, TooLarge
from wikimcp.graph.sidecar import MOST_EDGES, read_sidecar
from wikimcp.graph.sidecar_merge import merge_sidecars

OLD = {
    "made by": "hand",
    "nodes": [{"id": "guild", "label": "Guild", "founded": 1402}, {"odd": True}],
    "edges": [
        {"source": "mill", "target": "river", "relation": "Depends On", "why": "water"},
        7,
        {"from": "a", "to": "b"},
    ],
    "layout": {"mill": [1, 2.5]},
}


def merged(old: Any, new: Any) -> Any:
    data = None if old is None else json.dumps(old).encode()
    return json.loads(merge_sidecars(data, json.dumps(new).encode()).text)


def test_rows_and_keys_of_the_old_sidecar_stay() -> None:
    new = {
        "about": "extracted",
        "nodes": [{"id": "guild", "kind": "organization"}, {"id": "ana"}],
        "edges": [
            {"from": "Mill", "to": "river", "type": "depends_on", "confidence": 0.9},
            {"from": "river", "to": "mill", "type": "depends_on"},
        ],
    }
    assert merged(OLD, new) == {
        "made by": "hand",
        "nodes": [
            {"id": "guild", "label": "Guild", "founded": 1402, "kind": "organization"},
            {"odd": True},
            {"id": "ana"},
        ],
        "edges": [
            {
                "source": "mill",
                "target": "river",
                "relation": "Depends On",
                "why": "water",
                "confidence": 0.9,
            },
            7,
            {"from": "a", "to": "b"},
            {"from": "river", "to": "mill", "type": "depends_on"},
        ],
        "layout": {"mill": [1, 2.5]},
        "about": "extracted",
    }
    told = merge_sidecars(json.dumps(OLD).encode(), json.dumps(new).encode())
    assert [kind for kind, _ in told.added] == ["node", "edge", "about"]
    assert [kind for kind, _ in told.changed] == ["node", "edge"]
    assert (told.unchanged, told.kept) == (0, 5)


def test_a_list_stays_a_list_until_nodes_come() -> None:
    edge, other = {"from": "a", "to": "b"}, {"from": "b", "to": "a"}
    assert merged([edge], [other]) == [edge, other]
    assert merged([edge], {"nodes": [{"id": "n"}]}) == {"edges": [edge], "nodes": [{"id": "n"}]}
    assert merged(None, [edge]) == {"edges": [edge]}
    assert merged({"links": [edge]}, [other]) == {"links": [edge, other]}


def test_nodes_by_their_id_stay_so() -> None:
    old = {"nodes": {"a": {"label": "A"}, "b": {"id": "bee"}}, "edges": []}
    new = {"nodes": [{"id": "a", "kind": "tool"}, {"id": "c", "label": "C"}, {"id": "bee", "x": 1}]}
    assert merged(old, new) == {
        "nodes": {"a": {"label": "A", "kind": "tool"}, "b": {"id": "bee", "x": 1}, "c": {"label": "C"}},
        "edges": [],
    }


def test_what_changes_nothing_gives_the_old_text_to_the_byte() -> None:
    old = b'{"edges":[ {"from":"a",  "to":"b"} ]}'
    told = merge_sidecars(old, b'[{"from": "A", "to": "b"}]')
    assert (told.text.encode(), told.added, told.changed, told.unchanged) == (old, [], [], 1)


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (b'{"edges": [\n}', "line 2 is not JSON"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b'{"edges": {}}', "its 'edges' is no list"),
        (b'{"nodes": 3}', "its 'nodes' is no list"),
        (b'{"nodes": {"a": 1}}', "a node in it is no object"),
        (b'"text"', "neither a list of edges nor an object"),
        (b'{"edges": [{"from": "a", "from": "b", "to": "c"}]}', "an object in it has one key twice"),
        (b"[" * 100_000, "nested too deep"),
        (b"", "line 1 is not JSON"),
        (b"[" + b"9" * 5_000 + b"]", "cannot be written again"),
    ],
)
def test_an_old_sidecar_that_is_broken_is_refused(old: bytes, expected: str) -> None:
    with pytest.raises(BadArgument) as caught:
        merge_sidecars(old, b'[{"from": "a", "to": "b"}]')
    assert expected in caught.value.message and "nothing was written" in caught.value.hint


def test_what_the_graph_would_not_read_is_refused() -> None:
    old = json.dumps([{"from": "a", "to": str(number)} for number in range(MOST_EDGES)]).encode()
    with pytest.raises(TooLarge, match=r"100,001 edges"):
        merge_sidecars(old, b'[{"from": "b", "to": "a"}]')


NAMES = st.sampled_from(["a", "b", "C", "d\ud800"])
EDGES = st.fixed_dictionaries(
    {"from": NAMES, "to": NAMES}, optional={"type": st.sampled_from(["uses", "Part Of"]), "x": st.integers()}
)
NODES = st.fixed_dictionaries({"id": NAMES}, optional={"label": NAMES, "x": st.none() | st.integers()})
SIDECARS = st.fixed_dictionaries({"nodes": st.lists(NODES), "edges": st.lists(EDGES)})


@given(SIDECARS, SIDECARS)
def test_everything_that_either_says_is_said_by_both_together(old: Any, new: Any) -> None:
    data = json.dumps(new).encode()
    text = merge_sidecars(json.dumps(old).encode(), data).text.encode()
    both, first, second = (read_sidecar("", part) for part in (text, json.dumps(old).encode(), data))
    assert not both.diagnostics

    def edges(sidecar: Any) -> set[tuple[str, str, str]]:
        return {(edge.source.casefold(), edge.target.casefold(), edge.relation) for edge in sidecar.edges}

    assert edges(both) == edges(first) | edges(second)
    assert {node.id.casefold() for node in both.nodes} == {
        node.id.casefold() for node in (*first.nodes, *second.nodes)
    }
    assert len(json.loads(text)["edges"]) >= len(old["edges"])
    again = merge_sidecars(text, data)
    assert not again.added
