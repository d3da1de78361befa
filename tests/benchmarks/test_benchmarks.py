"""The benchmarks run to their end on a tiny vault, and their report says what was measured."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.charts import Bar, bar_chart
from benchmarks.corpus import build_vault, own_word, salted, titles
from benchmarks.figures import BenchError, Figure, Outcome, percentile
from benchmarks.goals import Goal, goal_for, scale_of
from benchmarks.measures.edits import as_draft
from benchmarks.measures.size import required
from benchmarks.processes import Child, environment, run
from benchmarks.report import render
from benchmarks.results import Results, VaultSet
from benchmarks.run import MEASURES, main
from benchmarks.stdio_client import StdioClient

LIGHTHOUSE = """\
---
title: Lighthouse
summary: Where the lamp stands.
canonical_id: LIGHT
cluster: coast
type: place
tags: [lamp, coast]
---
# Lighthouse

The lamp is trimmed at dusk
and again at midnight.

```text
not a paragraph

still not one
```

| when | what |
|---|---|
| dusk | trim |
"""
PAGES = {
    "lighthouse.md": LIGHTHOUSE,
    "keeper.md": "---\ntitle: 'Keeper'\ntags: [coast]\ntype: person\n---\n# Keeper\n\nRows to [[tides]].\n",
    "notes/tides.md": "# Tides\n\nHigh water comes twice a day.\n",
    "notes/secret.md": "---\ndraft: true\n---\n# Secret\n\nNot to be served.\n",
}
SMALL = VaultSet(copies=1, varied=False, pages=1_201)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Make the tiny vault."""
    folder = tmp_path / "coast"
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_quick_run_takes_every_measure_and_writes_report_plots_and_json(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, facts = tmp_path / "out", tmp_path / "figures.json"
    before = {file: file.read_bytes() for file in corpus.rglob("*.md")}
    words = ["--corpus", str(corpus), "--quick", "--output", str(out), "--json", str(facts)]
    status = main(words)
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert printed.out.strip() == str(out / "RESULTS.md")
    found = json.loads(facts.read_text(encoding="utf-8"))
    assert [one["pages"] for one in found["sets"]] == [len(PAGES)]
    assert [outcome["measure"] for outcome in found["outcomes"]] == list(MEASURES)
    figures = {figure["key"]: figure for outcome in found["outcomes"] for figure in outcome["figures"]}
    for key in ("cold.lexical", "cold.dense", "cold.right_answer", "warm.legacy.total", "warm.modern.total"):
        assert 0 < figures[key]["min"] <= figures[key]["median"] <= figures[key]["max"]
    assert figures["cold.pages"]["median"] == len(PAGES) - 1, "the draft is not served"
    for where in ("inside", "stdio"):
        tools = {key.split(".")[2] for key in figures if key.startswith(f"queries.{where}.")}
        assert {"assemble_bundle", "read_pages", "list_tags", "list_pages_by_filter"} <= tools
        assert len(tools) == 9
    for kind in ("new", "edited", "replaced", "draft", "deleted"):
        assert figures[f"edits.{kind}.right"]["median"] == 100
        assert figures[f"edits.{kind}.right"]["verdict"] == "met"
    assert figures["fleet.many.builds"]["median"] == 1
    assert figures["size.changed"]["median"] == 0
    assert figures["size.vectors"]["median"] == figures["cold.chunks"]["median"] > 0
    assert 0 < figures["size.tools.input"]["median"] < figures["size.tools.schemas"]["median"]
    report = (out / "RESULTS.md").read_text(encoding="utf-8")
    for measure, module in MEASURES.items():
        assert f"\n## {module.TITLE}\n" in report, measure
    for part in ("## Goals", "## Beside other servers", "## To keep in mind", found["date"], "wordllama"):
        assert part in report
    assert str(tmp_path) not in report
    for plot in ("cold", "warm", "queries"):
        assert f"(plots/{plot}.svg)" in report
        ET.fromstring((out / "plots" / f"{plot}.svg").read_text(encoding="utf-8"))
    assert {file: file.read_bytes() for file in corpus.rglob("*.md")} == before


def test_wrong_use_is_told_and_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.csv").write_text("one,two\n", encoding="utf-8")
    for words, complaint in (
        (["--corpus", str(tmp_path / "gone")], "make bench CORPUS=DIR"),
        (["--corpus", str(tmp_path / "empty"), "--quick"], "holds no markdown"),
        (["--corpus", str(tmp_path), "--questions", str(tmp_path / "bad.csv")], "lacks the column"),
        (["--corpus", str(tmp_path), "--copies", "1,many"], "'many' is no number"),
        (["--corpus", str(tmp_path), "--copies", "1,1000"], "no number from 1 to 999"),
        (["--corpus", str(tmp_path), "--runs", "0"], "no number from 1 to 99"),
        (["--corpus", str(tmp_path), "--only", "cold,wram"], "no measure 'wram'"),
    ):
        with pytest.raises(SystemExit) as leave:
            main(words)
        assert leave.value.code == 2
        assert complaint in capsys.readouterr().err


def test_varied_copies_share_no_paragraph_and_alike_ones_every_byte(corpus: Path, tmp_path: Path) -> None:
    assert build_vault(corpus, tmp_path / "alike", copies=2) == 2 * len(PAGES)
    assert build_vault(corpus, tmp_path / "varied", copies=2, varied=True) == 2 * len(PAGES)
    for name, text in PAGES.items():
        assert (tmp_path / "alike" / "copy-02" / name).read_text(encoding="utf-8") == text
        first, second = (
            set((tmp_path / "varied" / f"copy-{n:02}" / name).read_text(encoding="utf-8").split("\n\n"))
            for n in (1, 2)
        )
        assert not {part for part in first & second if part.strip() and part[0] not in "#`|s"}


def test_the_own_word_goes_into_title_summary_id_and_paragraphs_only() -> None:
    assert own_word(1) != own_word(2)
    expected = (
        LIGHTHOUSE.replace("title: L", "title: zyx L")
        .replace("summary: W", "summary: zyx W")
        .replace("canonical_id: ", "canonical_id: zyx-")
        .replace("midnight.", "midnight. zyx")
    )
    assert salted(LIGHTHOUSE, "zyx") == expected
    assert salted("---\ntitle: 'It''s'\nsummary: >-\n  Long.\n---\nText\r\n", "zyx") == (
        "---\ntitle: 'zyx It''s'\nsummary: >-\n  zyx Long.\n---\nText zyx\r\n"
    )
    assert salted("# Tides\n\n- one\n- two", "zyx") == "# zyx Tides\n\n- one\n- two zyx"


def test_titles_are_asked_for_where_there_are_no_questions(corpus: Path) -> None:
    assert sorted(titles(corpus)) == ["Keeper", "Lighthouse", "Secret", "Tides"]


def test_a_page_becomes_a_draft_with_and_without_frontmatter() -> None:
    assert as_draft(b"---\r\ntitle: A\r\n---\r\n") == b"---\r\ndraft: true\r\ntitle: A\r\n---\r\n"
    assert as_draft(b"# A\n") == b"---\ndraft: true\n---\n# A\n"


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.95, 1.0)] == [50.0, 95.0, 100.0]
    assert percentile([7.0], 0.95) == 7.0


def test_goals_hold_for_vaults_of_their_size() -> None:
    assert [scale_of(pages) for pages in (53, 1_201, 12_010, 120_100)] == ["", "small", "large", "huge"]
    goal = goal_for("cold.lexical", "large")
    assert goal is not None and str(goal) == "≤ 10, aim 7"
    assert [goal.verdict(seconds) for seconds in (6.9, 8.0, 10.1)] == ["aim met", "met", "missed"]
    assert goal_for("cold.lexical", "") is None
    edits = [str(goal_for("edits.edited.call", scale)) for scale in ("large", "huge")]
    assert edits == ["≤ 100", "≤ 300"]
    assert [Goal(4, at_least=True).verdict(n) for n in (3, 4)] == ["missed", "met"]


def test_the_report_marks_what_was_missed_and_what_broke_off() -> None:
    slow = Figure("cold.lexical", "ready by words", "s", (1.4, 1.8, 1.6))
    results = Results(
        date="2031-02-03",
        machine={
            "cpu": "",
            "cores": 2,
            "memory_gb": 8,
            "system": "S",
            "python": "P",
            "wikimcp": "1",
            "packages": {},
        },
        load_before=1.5,
        load_after=0.5,
        options={"embedder": "none"},
        sets=[SMALL],
        outcomes=[
            Outcome("cold", SMALL.name, (slow,), ("a remark.",)),
            Outcome("warm", SMALL.name, failure="the server ended: no | space"),
        ],
    )
    report = render(results, {"cold": "Cold", "warm": "Warm", "size": "Sizes"})
    assert "| ready by words | s | 1.60 (1.40 to 1.80) ✗ |" in report
    assert "0 of 1 medians meet their goal" in report
    assert "**Broke off** at 1,201 pages: the server ended" in report
    assert "The machine did other work when this began" in report
    assert "\nA remark.\n" in report
    assert "## Sizes" not in report, "it was not measured"
    assert results.as_json()["outcomes"][0]["figures"][0]["verdict"] == "missed"


def test_a_chart_is_sound_whatever_the_labels_say() -> None:
    bars = [Bar("a < b & 'c'", 2.0, "2", low=1.0, high=3.0, goal=3.1), Bar("", 0.0, "0", colour=None)]
    root = ET.fromstring(bar_chart("<all>", {"one & two": bars}))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["<all>", "one & two", "a < b & 'c'", "2", None, "0"]


def test_a_measured_process_that_fails_is_quoted(tmp_path: Path) -> None:
    env = environment(tmp_path)
    script = "import sys\nprint('no disk left', file=sys.stderr)\nsys.exit(3)"
    with pytest.raises(BenchError, match=r"ended with 3: no disk left"):
        run([sys.executable, "-c", script], env=env, cwd=tmp_path, patience=30)
    with pytest.raises(BenchError, match=r"ended with -?\d+"):
        run([sys.executable, "-c", "import time\ntime.sleep(60)"], env=env, cwd=tmp_path, patience=0.2)
    with (
        StdioClient([sys.executable, "-c", script], env=env, cwd=tmp_path) as client,
        pytest.raises(BenchError, match="no disk left"),
    ):
        client.ask("ping")


def test_events_are_kept_with_the_time_of_their_arrival(tmp_path: Path) -> None:
    script = 'print(\'noise\')\nprint(\'{"event": "a", "seconds": 2, "peak_mb": null}\')'
    with Child([sys.executable, "-c", script], env=environment(tmp_path), cwd=tmp_path, patience=30) as child:
        child.finish()
    assert child.fact("a", "seconds") == 2.0
    assert child.fact("a", "peak_mb") is None
    assert 0 < child.at("a") <= child.seconds


def test_an_install_is_the_package_with_all_it_needs_and_no_extras() -> None:
    names = {package.metadata["Name"].lower() for package in required("wikimcp-server")}
    if not names:
        pytest.skip("wikimcp-server is not installed as a package")
    assert {"wikimcp-server", "mcp", "tantivy", "numpy"} <= names
    assert not {"pytest", "hnswlib", "fastembed"} & names
