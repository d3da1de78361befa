"""`wikimcp eval` over a real vault: the measures it prints agree with what can be counted by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from wikimcp.cli import main
from wikimcp.evaluation.questions import Gold
from wikimcp.evaluation.runs import Corpus, Reply
from wikimcp.markdown.tokens import span_sha256

BREAD = """\
---
id: BREAD
---
# Bread

## Rising `dough`

Dough rises for two hours near the stove.

## Baking

Bake at 230 degrees until the crust sounds hollow.
"""
PAGES = {
    "bread.md": BREAD,
    "soup.md": "---\nid: SOUP\n---\r\n# Soup\r\n\r\nSimmer the bones overnight.\r\n",
    "tea.md": "---\nid: TEA\n---\n# Tea\n\nSteep the leaves for four minutes.\n",
}
QUESTIONS = """\
id,category,question,gold_canonical_id,gold_heading_path
k-1,KEYWORD,dough rises hours,BREAD,Bread > Rising dough
k-2,KEYWORD,crust sounds hollow,BREAD,Bread > Baking
r-1,RELATIONAL,simmer bones and steep leaves,SOUP,Soup
r-1,RELATIONAL,simmer bones and steep leaves,TEA,Tea
m-1,KEYWORD,steep leaves,TEA,Tea > Gone
m-2,KEYWORD,steep leaves,GONE,Tea
nf-1,NEGATIVE,zzyzx qwrtp,,
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Make a vault and its questions; gives both paths."""
    vault = tmp_path / "kitchen"
    vault.mkdir()
    for name, text in PAGES.items():
        (vault / name).write_bytes(text.encode())
    (tmp_path / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path / "state"))
    return str(vault), str(tmp_path / "questions.csv")


def test_the_printed_measures_are_those_of_the_questions(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows_file = tmp_path / "rows.csv"
    words = ["eval", *files, "--mode", "all", "--embedder", "none,wordllama", "--budgets", "600"]
    assert main([*words, "--csv", str(rows_file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["questions"] == 6
    runs = {(run["mode"], run["embedder"]): run["categories"] for run in report["runs"]}
    assert list(runs) == [
        ("hybrid", "none"),
        ("lexical", "none"),
        ("hybrid", "wordllama"),
        ("lexical", "wordllama"),
        ("dense", "wordllama"),
    ]
    for (mode, embedder), table in runs.items():
        assert table["overall"]["verified"] == 1.0
        assert table["overall"]["questions"] == 6
        if mode == "lexical":
            assert table["RELATIONAL"]["recall_600"] == 1.0
            assert table["KEYWORD"]["recall_600"] == 0.5, "two of four right sections do not exist"
            assert table["KEYWORD"]["page_recall_5"] == 0.75, "one right page does not exist"
            assert table["NEGATIVE"]["far"] == 1.0
        if embedder == "none":
            assert table["KEYWORD"]["grounded"] == 0.0, "without vectors the confidence is unknown"
    assert report["unmatched"] == ["line 6, page TEA, section 'Tea > Gone'", "line 7, page GONE"]
    with rows_file.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 5 * 6
    first = next(row for row in rows if row["mode"] == "lexical" and row["id"] == "k-1")
    assert (first["recall_600"], first["reciprocal_rank"], first["verified"]) == (
        "1.0",
        "1.0",
        first["sections"],
    )


def test_tables_name_every_category_and_the_missing_sections(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *files, "--mode", "lexical,hybrid", "--embedder", "none"]) == 0
    out, err = capsys.readouterr()
    for name in ("KEYWORD", "RELATIONAL", "NEGATIVE", "overall", "hybrid, none", "side by side", "R 6000"):
        assert name in out
    assert "counted as missed: line 7, page GONE" in err


def test_a_citation_that_does_not_match_the_file_is_counted_as_such(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_bytes(b"one\r\ntwo\x0bstill two\rthree\n")

    def ask(tool: str, arguments: Mapping[str, Any]) -> Reply:
        return Reply("", {"slug": arguments.get("slug"), "url": page.as_uri()})

    corpus = Corpus(ask)
    assert corpus.verifies({"slug": "a", "lines": [2, 2], "spanSha256": span_sha256("two still two")})
    assert corpus.verifies(
        {"slug": "a", "lines": [1, 3], "spanSha256": span_sha256("one two still two three")}
    )
    assert not corpus.verifies({"slug": "a", "lines": [1, 2], "spanSha256": span_sha256("two still two")})
    assert corpus.place(Gold("A", "No such heading", 2)) is not None


def test_dense_alone_without_an_embedder_is_refused(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *files, "--mode", "dense", "--embedder", "none"]) == 2
    assert "dense" in capsys.readouterr().err
