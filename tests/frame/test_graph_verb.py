"""The verb `graph`: numbers for people, rows for programs, GraphML for networkx, and one line when it is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import networkx
import pytest

from tests.verb_runs import Run, verb_runs

PAGES = {
    "mill.md": "---\ntags: [water]\n---\n# Mill\n\nSee [[river]] and [[Nowhere \x07]].\n",
    "river.md": "# River\n\nFlows to the [[mill]].\n",
    "secret.md": "---\ndraft: true\n---\n# Secret\n\n[[mill]]\n",
    "graph/graph.json": json.dumps(
        [{"from": "mill", "to": "river", "type": "uses", "key": "a\u0000b", "u": [1]}, {}]
    ),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a verb over a small vault; gives exit code, stdout and stderr."""
    for name, text in PAGES.items():
        file = tmp_path / "vault" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return verb_runs(tmp_path, monkeypatch, capsys)


def test_the_graph_is_shown_in_numbers_with_what_is_wrong_with_the_sidecar(run: Run) -> None:
    code, out, err = run("graph")
    lines = {tuple(line.split()) for line in out.splitlines()}
    assert (code, err) == (0, "")
    assert {("page", "2"), ("links_to", "3"), ("uses", "1"), ("tagged", "1")} <= lines
    assert "edge 2 is left out: it lacks 'from' or 'to'" in out
    assert "secret" not in out.lower()


def test_programs_get_every_row(run: Run) -> None:
    code, out, _ = run("graph", "--json")
    rows = json.loads(out)
    assert code == 0
    assert len(rows["nodes"]) == rows["counts"]["nodes"]
    assert {row["id"] for row in rows["nodes"] if row["kind"] == "page"} == {"page:mill", "page:river"}


def test_what_lies_around_a_node_is_shown(run: Run) -> None:
    code, out, _ = run("graph", "around", "river", "--json")
    assert code == 0
    assert {row["id"] for row in json.loads(out)["nodes"]} == {
        "page:river",
        "page:mill",
        "heading:river#River",
    }
    code, out, _ = run("graph", "around", "tag:water", "--depth", "1", "--limit", "1")
    assert code == 0 and "1 more neighbours" in out


def test_networkx_reads_what_is_exported(run: Run) -> None:
    code, out, _ = run("graph", "export", "--format", "graphml")
    drawn = networkx.read_graphml(io.BytesIO(out.encode()), force_multigraph=True)
    _, rows, _ = run("graph", "export")
    payload = json.loads(rows)
    assert code == 0
    assert set(drawn.nodes) == {row["id"] for row in payload["nodes"]} - {"placeholder:Nowhere \x07"} | {
        "placeholder:Nowhere \ufffd"
    }
    assert drawn.number_of_edges() == len(payload["edges"])
    relations = [facts["relation"] for _, _, facts in drawn.edges(data=True)]
    assert sorted(relations) == sorted(row["relation"] for row in payload["edges"])


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["around"], 2, "usage: `graph around` takes one node"),
        (["show", "mill"], 2, "usage: `graph around` takes one node"),
        (["around", "mil"], 1, "not_found: no page named 'mil'. Nearest: mill"),
        (["around", "secret"], 1, "not_found: no page named 'secret'"),
        (["export", "--format", "dot"], 2, "usage: argument --format: invalid choice"),
        (["around", "mill", "--depth", "x"], 2, "usage: argument --depth: invalid int value"),
        (["around", "mill", "--depth", "9"], 1, "bad_argument: depth must be a whole number from 1 to 4"),
        (["around", "mill", "--limit", "0"], 1, "bad_argument: limit must be a whole number from 1 to 2000"),
        (["--set", "graph.enabled=false"], 1, "unavailable: the graph is off"),
    ],
)
def test_wrong_use_is_one_line(run: Run, words: list[str], code: int, expected: str) -> None:
    found, out, err = run("graph", *words)
    assert (found, out) == (code, "")
    assert expected in err and len(err.splitlines()) == 1
