"""Sidecars: every shape is read, what is broken is a diagnostic, a huge one is cut and never held whole."""

from __future__ import annotations

import json

import pytest

from wikimcp.graph.sidecar import MOST_EDGES, Sidecar, SidecarEdge, read_sidecar

PATH = "graph/graph.json"


def read(value: object) -> Sidecar:
    return read_sidecar(PATH, json.dumps(value).encode())


def codes(sidecar: Sidecar) -> list[str]:
    return [why.code for _, why in sidecar.diagnostics]


@pytest.mark.parametrize(
    "value",
    [
        [{"from": "a", "to": "b", "type": "Depends On", "confidence": 0.5}],
        {"edges": [{"source": "a", "target": "b", "relation": "dependsOn", "confidence": 0.5}]},
        {
            "links": [
                {"from": {"id": "a"}, "to": {"title": "b"}, "predicate": "depends-on", "confidence": 0.5}
            ]
        },
        {
            "meta": {"by": [1, {"x": []}]},
            "nodes": [],
            "edges": [{"from": "a", "to": "b", "type": "depends_on", "confidence": 0.5}],
        },
    ],
)
def test_each_shape_of_an_edge_is_read_alike(value: object) -> None:
    sidecar = read(value)
    assert sidecar.edges == (SidecarEdge("a", "b", "depends_on", {"confidence": 0.5}),)
    assert sidecar.diagnostics == ()


def test_a_relation_is_related_to_where_none_is_written_and_other_keys_are_kept() -> None:
    (edge,) = read([{"from": 1, "to": "b", "note": "seen", "confidence": "high"}]).edges
    assert edge == SidecarEdge("1", "b", "related_to", {"note": "seen"})


@pytest.mark.parametrize(
    "nodes",
    [
        [{"id": "ana", "label": "Ana Ruiz", "type": "Person", "aliases": ["A. Ruiz"], "born": 1970}],
        {"ana": {"name": "Ana Ruiz", "kind": "Person", "aliases": ["A. Ruiz"], "born": 1970}},
    ],
)
def test_each_shape_of_a_node_is_read_alike(nodes: object) -> None:
    (node,) = read({"nodes": nodes}).nodes
    assert (node.id, node.label, node.kind, node.aliases) == ("ana", "Ana Ruiz", "Person", ("A. Ruiz",))
    assert node.metadata["born"] == 1970


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "sidecar_broken"),
        (b"   ", "sidecar_broken"),
        (b"{", "sidecar_broken"),
        (b"[{}", "sidecar_broken"),
        (b"[1,", "sidecar_broken"),
        (b'[{"from": "a", "to": "b"}] and more', "sidecar_broken"),
        (b'{"edges": [{"from": "a", "to": "b"}]} {}', "sidecar_broken"),
        (b'"text"', "sidecar_broken"),
        (b"12", "sidecar_broken"),
        (b"not json", "sidecar_broken"),
        (b"\xff\xfe[\x00]\x00", "sidecar_broken"),
        (b"[" * 100_000, "sidecar_broken"),
        (b'[{"from": "a", "to": "b", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]", "sidecar_broken"),
        (b"[" + b"9" * 5_000 + b"]", "sidecar_broken"),
        (b"{}", "sidecar_shape"),
        (b'{"edges": 3}', "sidecar_shape"),
        (b'{"edges": {"a": 1}}', "sidecar_shape"),
        (b"[[]]", "sidecar_row"),
        (b'[{"from": "a"}]', "sidecar_row"),
        (b'[{"from": "a", "to": ""}]', "sidecar_row"),
        (b'[{"from": null, "to": ["b"]}]', "sidecar_row"),
        (b'{"nodes": [{}]}', "sidecar_row"),
    ],
)
def test_what_is_broken_is_a_diagnostic_and_gives_no_rows(data: bytes, code: str) -> None:
    sidecar = read_sidecar(PATH, data)
    assert (sidecar.nodes, sidecar.edges) == ((), ())
    assert codes(sidecar) == [code]


def test_a_broken_row_costs_that_row_and_is_named_by_its_place() -> None:
    sidecar = read([{"from": "a", "to": "b"}, {"from": "Quillhaven"}, {"from": "c", "to": "d"}])
    assert [edge.source for edge in sidecar.edges] == ["a", "c"]
    ((path, why),) = sidecar.diagnostics
    assert (path, why.message) == (PATH, "edge 2 is left out: it lacks 'from' or 'to'")


def test_many_broken_rows_are_counted_after_the_first_twenty() -> None:
    sidecar = read([{}] * 5_000)
    assert codes(sidecar) == ["sidecar_row"] * 20 + ["sidecar_rows"]
    assert sidecar.diagnostics[-1][1].message.startswith("5000 rows in all")


@pytest.mark.parametrize("whole", ["[%s]", '{"nodes": [{"id": "n"}], "edges": [%s]}'])
def test_a_million_edges_are_cut_at_the_bound(whole: str) -> None:
    data = (whole % ",".join(['{"from":"a","to":"b"}'] * 1_000_000)).encode()
    sidecar = read_sidecar(PATH, data)
    assert len(sidecar.edges) == MOST_EDGES
    assert codes(sidecar) == ["sidecar_too_large"]


def test_odd_values_become_json_that_can_be_sent() -> None:
    data = b'[{"from": "a\\ud800", "to": "b", "x": 1e999, "y": NaN, "z": "\\udfff", "deep": {"k": [1]}}]'
    (edge,) = read_sidecar(PATH, data).edges
    assert edge.metadata["x"] == "inf"
    assert "y" not in edge.metadata
    text = json.dumps([edge.source, dict(edge.metadata)], ensure_ascii=False, allow_nan=False)
    assert text.encode("utf-8")


def test_a_byte_order_mark_and_duplicate_keys_do_no_harm() -> None:
    data = '\ufeff[{"from": "x", "from": "a", "to": "b"}]'.encode()
    assert [edge.source for edge in read_sidecar(PATH, data).edges] == ["a"]


@pytest.mark.parametrize(("written", "kept"), [("0", 0), ("1", 1), ("0.5", 0.5), ("7", None), ("-0.1", None)])
def test_a_confidence_that_is_none_is_not_kept(written: str, kept: float | None) -> None:
    data = (
        b'{"nodes": [{"id": "n", "confidence": %s}], "edges": [{"from": "a", "to": "b", "confidence": %s}]}'
    )
    found = read_sidecar(PATH, data.replace(b"%s", written.encode()))
    assert found.edges[0].metadata.get("confidence") == kept
    assert found.nodes[0].metadata.get("confidence") == kept
