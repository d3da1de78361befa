"""`graph validate` and `graph import`: every kind of finding by its row, and a vault that is written once or not."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.frame.test_graph_verb import run as run  # noqa: PLC0414 - the fixture
from wikimcp.cli.sidecar_file import find_place, put
from wikimcp.errors import Unavailable

Run = Callable[..., tuple[int, str, str]]
PAGE = "---\ntags: [water]\n---\n# Mill\n\nThe mill   depends on\nthe *river*.\n\n## Stones\n\nGranite from Ana.\n"
SPAN = "The mill depends on the *river*."
GOOD = {"from": "mill", "to": "river", "type": "requires", "source_page": "mill", "evidence": SPAN}


@pytest.fixture
def vault(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "vault" / "mill.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "vault" / "b").mkdir()
    for name in ("b/one.md", "b/two.md"):
        (tmp_path / "vault" / name).write_text("---\ntitle: Twin\n---\nText.\n", encoding="utf-8")
    (tmp_path / "vault" / "graph" / "graph.json").unlink()
    return tmp_path / "vault"


def given_file(vault: Path, value: Any) -> str:
    file = vault.parent / "extracted.json"
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return str(file)


def findings(run: Run, vault: Path, value: Any) -> list[tuple[str, str, str, str]]:
    code, out, err = run("graph", "validate", given_file(vault, value), "--json")
    payload = json.loads(out)
    errors = [row for row in payload["findings"] if row["severity"] == "error"]
    assert (code, err) == (1 if errors else 0, "") and payload["valid"] is not bool(errors)
    return [(row["severity"], row["code"], row.get("row", ""), row["message"]) for row in payload["findings"]]


@pytest.mark.parametrize(
    ("row", "severity", "code", "message"),
    [
        ({"type": "depend on"}, "error", "unknown_predicate", "Did you mean depends_on?"),
        ({"type": "wrote"}, "warning", "unknown_predicate", "'wrote' is none of the known predicates"),
        ({"type": None}, "warning", "no_type", "related_to is taken"),
        ({"type": 7}, "error", "shape", "type is no text"),
        ({"confidence": 1.01}, "error", "confidence", "not from 0 to 1"),
        ({"confidence": -0.1}, "error", "confidence", "not from 0 to 1"),
        ({"confidence": 10**400}, "error", "confidence", "not from 0 to 1"),
        ({"confidence": True}, "error", "confidence", "no number"),
        ({"confidence": "high"}, "error", "confidence", "no number"),
        ({"confidence": float("nan")}, "error", "confidence", "no number"),
        ({"confidense": 1}, "warning", "unknown_field", "Did you mean confidence?"),
        ({"provenance": "ai"}, "warning", "provenance", "none of human-authored, ai-inferred"),
        ({"provenance": ["ai"]}, "error", "shape", "provenance is no text"),
        ({"to": "rivr"}, "warning", "no_such_end", "will be a placeholder. Nearest: river"),
        ({"to": "https://example.org"}, "warning", "no_such_end", "an address outside"),
        ({"to": "Twin"}, "error", "ambiguous_end", "2 pages (b/one, b/two)"),
        ({"to": "mill"}, "warning", "loop", "both ends are one node"),
        ({"to": ["river"]}, "error", "shape", "it lacks 'from' or 'to'"),
        ({"source_page": "miller"}, "error", "no_such_page", "'miller' is no page. Nearest: mill"),
        ({"source_page": 3}, "error", "shape", "source_page is no text"),
        ({"source_page": "mill#Stones"}, "error", "evidence", "does not stand below the heading 'Stones'"),
        ({"source_page": "mill#Stone"}, "error", "evidence", "no heading 'Stone' in mill"),
        (
            {"evidence": "The mill depend on the *river*."},
            "error",
            "evidence",
            "Nearest, lines 6-7: The mill depends on",
        ),
        ({"evidence": "the mill depends on the *river*."}, "error", "evidence", "does not stand in mill"),
        ({"evidence": [SPAN, 3]}, "error", "shape", "evidence is no text"),
        ({"evidence": " "}, "error", "shape", "evidence is no text"),
        ({"evidence": "x" * 2_001}, "error", "evidence", "longer than 2,000"),
        ({"evidence": {"page": "none", "span": "x"}}, "error", "no_such_page", "'none' is no page"),
        ({"evidence": {"page": "river", "span": SPAN}}, "error", "evidence", "does not stand in river"),
    ],
)
def test_what_is_wrong_with_an_edge_is_said_with_its_place(
    run: Run, vault: Path, row: dict[str, Any], severity: str, code: str, message: str
) -> None:
    found = findings(
        run, vault, {"edges": [{"from": "river", "to": "mill", "type": "uses"}, {**GOOD, **row}]}
    )
    assert [(entry[0], entry[1], entry[2]) for entry in found] == [(severity, code, "edges[1]")]
    assert message in found[0][3]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([{"id": "a"}, {"id": "A", "label": "other"}], ("error", "duplicate", "nodes[1]", "the same id")),
        ([{"id": "a", "kind": "persn"}], ("warning", "unknown_kind", "nodes[0]", "Did you mean person?")),
        ([{"id": "a", "path": "mil"}], ("warning", "no_such_page", "nodes[0]", "Nearest: mill")),
        ([{"id": "a", "aliases": "b"}], ("error", "shape", "nodes[0]", "aliases is no list")),
        ([{"kind": "tool"}], ("error", "shape", "nodes[0]", "no id, label or path")),
        ([7], ("error", "shape", "nodes[0]", "it is no object")),
        ([{"id": "a", "evidence": "x"}], ("error", "evidence", "nodes[0]", "add source_page")),
    ],
)
def test_what_is_wrong_with_a_node_is_said(
    run: Run, vault: Path, nodes: list[Any], expected: tuple[str, str, str, str]
) -> None:
    ((*facts, message),) = findings(run, vault, {"nodes": nodes})
    assert tuple(facts) == expected[:3] and expected[3] in message


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (b'{"edges": [\n{"from": }]}', "not_json", "line 2: the sidecar is not JSON"),
        (b"", "not_json", "empty"),
        (b"\xff\xff", "not_json", "not UTF-8"),
        (b"[" * 50_000, "not_json", "nested too deep"),
        (b'"x"', "not_json", "neither a list of edges nor an object"),
        (b'{"edges": 3}', "shape", "'edges' is no list"),
        (b'{"other": []}', "shape", "neither 'nodes' nor 'edges'"),
        (b" " * (64 * 2**20 + 1), "too_large", "over 67,108,864 bytes"),
    ],
)
def test_a_file_that_is_no_sidecar_is_said(
    run: Run, vault: Path, data: bytes, code: str, message: str
) -> None:
    ((severity, found, row, text),) = findings(run, vault, data)
    assert (severity, found, row) == ("error", code, "") and message in text


def test_a_million_edges_are_bounded(run: Run, vault: Path) -> None:
    data = b"[" + b",".join([b'{"from":"mill","to":"rivr"}'] * 1_000_000) + b"]"
    code, out, _ = run("graph", "validate", given_file(vault, data), "--json")
    payload = json.loads(out)
    assert (code, payload["counts"]["edges"], len(payload["findings"])) == (1, 100_000, 1_000)
    assert payload["left_out"] == payload["counts"]["warnings"] + payload["counts"]["errors"] - 1_000
    assert payload["findings"][0]["code"] == "too_large"


def test_a_good_sidecar_passes_and_findings_are_a_table(run: Run, vault: Path) -> None:
    rows: dict[str, list[Any]] = {
        "nodes": [{"id": "ana", "label": "Ana", "kind": "person"}],
        "edges": [GOOD],
    }
    rows["edges"].append(
        {
            "from": "Ana",
            "to": "mill",
            "type": "produces",
            "confidence": 1,
            "evidence": {"page": "mill#Stones", "span": "from Ana"},
        }
    )
    assert findings(run, vault, rows) == []
    code, out, _ = run("graph", "validate", given_file(vault, rows))
    assert (code, out) == (0, "1 nodes, 2 edges, 2 evidence spans: 0 errors, 0 warnings\n")
    rows["edges"].append({**GOOD, "from": "Mill.md", "type": "Requires"})
    code, out, _ = run("graph", "validate", given_file(vault, rows))
    assert code == 0 and "it says what edges[0] says" in out


def test_a_withheld_page_is_a_page_that_is_not_there(run: Run, vault: Path) -> None:
    told = []
    for name in ("secret", "sacred"):
        edge = {"from": "mill", "to": name, "type": "uses", "source_page": name, "evidence": "Secret"}
        node = {"id": "x", "path": name}
        told.append(json.dumps(findings(run, vault, {"nodes": [node], "edges": [edge]})).replace(name, "*"))
    assert told[0] == told[1]


def test_what_is_imported_is_in_the_graph_and_in_turtle(run: Run, vault: Path) -> None:
    rows = {"nodes": [{"id": "ana", "label": "Ana", "kind": "person"}], "edges": [GOOD]}
    file = given_file(vault, rows)
    before = sorted(vault.rglob("*"))
    code, out, _ = run("graph", "import", file, "--dry-run")
    assert code == 0 and "2 added" in out and "nothing written" in out and sorted(vault.rglob("*")) == before
    code, out, _ = run("graph", "import", file, "--json")
    assert code == 0
    told = json.loads(out)["import"]
    assert (told["added"], told["written"], told["file"]) == (2, True, "graph/graph.json")
    assert [row["change"] for row in told["rows"]] == ["added", "added"]
    assert json.loads((vault / "graph/graph.json").read_bytes()) == rows
    assert sorted(os.listdir(vault / "graph")) == ["graph.json"]
    _, out, _ = run("graph", "--json")
    assert ("page:mill", "requires", "page:river") in {
        (row["source"], row["relation"], row["target"]) for row in json.loads(out)["edges"]
    }
    _, turtle, _ = run("graph", "export", "--format", "turtle")
    assert "<urn:wikimcp:page:mill> <https://wikimcp.dev/ns#requires> <urn:wikimcp:page:river> ." in turtle
    assert '<http://www.w3.org/2000/01/rdf-schema#label> "Ana" .' in turtle and "ecret" not in turtle
    stamp = (vault / "graph/graph.json").stat()
    code, out, _ = run("graph", "import", file)
    assert code == 0 and "0 added, 0 changed, 2 as they were" in out
    assert (vault / "graph/graph.json").stat() == stamp, "what changes nothing is not written"


def test_turtle_is_turtle(run: Run, vault: Path) -> None:
    import rdflib

    _, out, _ = run("graph", "export", "--format", "turtle")
    graph = rdflib.Graph().parse(data=out, format="turtle")
    pages = set(graph.subjects(rdflib.RDF.type, rdflib.URIRef("https://wikimcp.dev/ns#Page")))
    assert len(pages) == 4 and len(graph) == len(out.splitlines())


def test_nothing_is_imported_that_is_not_valid(run: Run, vault: Path) -> None:
    code, out, _ = run("graph", "import", given_file(vault, [{**GOOD, "confidence": 2}]))
    assert code == 1 and "nothing was written" in out
    assert os.listdir(vault / "graph") == []


@pytest.mark.parametrize("link", ["folder", "file", "loop"])
def test_a_link_that_leads_out_is_not_followed(run: Run, vault: Path, link: str) -> None:
    outside = vault.parent / "outside"
    outside.mkdir()
    (outside / "graph.json").write_text("[]", encoding="utf-8")
    if link == "folder":
        (vault / "graph").rmdir()
        (vault / "graph").symlink_to(outside)
    else:
        target = outside / "graph.json" if link == "file" else vault / "graph" / "graph.json"
        (vault / "graph" / "graph.json").symlink_to(target)
    code, _, err = run("graph", "import", given_file(vault, [GOOD]))
    assert code == 2 and "vault: graph/graph.json" in err and str(vault) not in err
    assert (outside / "graph.json").read_text(encoding="utf-8") == "[]" and os.listdir(outside) == [
        "graph.json"
    ]


def test_a_link_within_the_vault_stays_a_link_and_rights_stay(run: Run, vault: Path) -> None:
    (vault / "kept.json").write_text('{"x": 1}', encoding="utf-8")
    (vault / "kept.json").chmod(0o640)
    (vault / "graph" / "graph.json").symlink_to("../kept.json")
    assert run("graph", "import", given_file(vault, [GOOD]))[0] == 0
    assert (vault / "graph" / "graph.json").is_symlink()
    assert json.loads((vault / "kept.json").read_bytes()) == {"x": 1, "edges": [GOOD]}
    assert stat.S_IMODE((vault / "kept.json").stat().st_mode) == 0o640


def test_a_sidecar_that_changed_meanwhile_is_not_overwritten(vault: Path) -> None:
    file = vault / "graph" / "graph.json"
    place = find_place(vault, "graph/graph.json")
    file.write_text("[1]", encoding="utf-8")
    with pytest.raises(Unavailable, match="changed meanwhile"):
        put(place, "[]")
    assert file.read_text(encoding="utf-8") == "[1]" and os.listdir(vault / "graph") == ["graph.json"]
    place = find_place(vault, "graph/graph.json")
    file.unlink()
    with pytest.raises(Unavailable, match="changed meanwhile"):
        put(place, "[]")
    assert os.listdir(vault / "graph") == []


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["validate"], 2, "usage: `graph validate` takes one file"),
        (["import"], 2, "usage: `graph import` takes one file"),
        (["validate", "nowhere.json"], 1, "bad_argument: 'nowhere.json' is no file"),
        (["validate", "a\0b"], 1, "bad_argument"),
    ],
)
def test_wrong_use_is_one_line(run: Run, words: list[str], code: int, expected: str) -> None:
    found, out, err = run("graph", *words)
    assert (found, out) == (code, "")
    assert expected in err and len(err.splitlines()) == 1


def test_a_broken_sidecar_of_the_vault_is_not_lost(run: Run, vault: Path) -> None:
    (vault / "graph" / "graph.json").write_text('{"edges": [', encoding="utf-8")
    code, _, err = run("graph", "import", given_file(vault, [GOOD]))
    assert code == 1 and "the vault's sidecar is broken: line 1 is not JSON" in err
    assert (vault / "graph" / "graph.json").read_text(encoding="utf-8") == '{"edges": ['
