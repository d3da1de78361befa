"""`wikimcp sparql` over a small vault: the three forms, a query from a file and from stdin, wrong use."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wikimcp.cli import main

Run = Callable[..., tuple[int, str, str]]
COUNT = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    vault = tmp_path / "mill"
    vault.mkdir()
    (vault / "mill.md").write_text("# Mill\n\nSee [[valve]].\n", encoding="utf-8")
    (vault / "valve.md").write_text("---\ntitle: The valve\n---\nTurn.\n", encoding="utf-8")
    (vault / "secret.md").write_text("---\ndraft: true\n---\n# Secret\n", encoding="utf-8")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("WIKIMCP_EMBEDDER", "none")
    monkeypatch.setenv("WIKIMCP_VAULT", str(vault))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["sparql", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_rows_are_printed_as_a_table(run: Run) -> None:
    code, out, err = run("SELECT ?slug ?title { ?p wm:slug ?slug ; dcterms:title ?title }")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if line.strip()][0] == ["slug", "title"]
    assert ["valve", "The valve"] in [line.strip().split(maxsplit=1) for line in out.splitlines()]


def test_json_is_what_the_tool_gives(run: Run) -> None:
    for flag in (["--format", "json"], ["--json"]):
        answer = json.loads(run(COUNT, *flag)[1])
        assert answer["bindings"][0]["n"]["value"] == "2"


def test_turtle_and_truth(run: Run) -> None:
    code, out, _ = run("DESCRIBE page:valve", "--format", "turtle")
    assert code == 0
    assert 'page:valve dcterms:title "The valve" .' in out.splitlines()
    assert run("ASK { page:mill wm:linksTo page:valve }")[1] == "yes\n"
    assert run("ASK { page:valve wm:linksTo page:mill }")[1] == "no\n"


def test_a_query_comes_from_a_file_or_from_stdin(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "count.rq").write_text(f"# how many?\n{COUNT}\n", encoding="utf-8-sig")
    assert "2" in run("--file", "count.rq")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO(COUNT))
    assert "2" in run("-")[1]


def test_drafts_are_counted_where_operator_and_caller_want_them(run: Run) -> None:
    assert "3" in run(COUNT, "--include-drafts", "--allow-drafts")[1]
    code, out, err = run(COUNT, "--include-drafts")
    assert code == 0 and "2" in out and "include_drafts was ignored" in err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["INSERT DATA { <a:b> <a:b> 1 }"], 1, "query_rejected: INSERT at line 1"),
        (["SELECT * { ?p wm:linkTo ?q }"], 1, "Did you mean wm:linksTo"),
        ([COUNT, "--format", "turtle"], 2, "usage: only CONSTRUCT and DESCRIBE give Turtle"),
        ([COUNT, "--format", "xml"], 2, "usage: --format is table, json or turtle, not 'xml'"),
        ([], 2, "usage: one query, please"),
        ([COUNT, "--file", "x.rq"], 2, "usage: one query, please"),
        (["--file", "none.rq"], 2, "usage: the file none.rq cannot be read: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_told_in_one_line(run: Run, words: list[str], code: int, said: str) -> None:
    exit_code, out, err = run(*words)
    assert (exit_code, out) == (code, "")
    assert said in err and err.count("\n") == 1
