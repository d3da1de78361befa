"""The verb `lint`: lines for people, JSON and SARIF for programs, and exit codes for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.verb_runs import Run, verb_runs

PAGES = {
    "mill.md": "---\ntags: [water]\n---\n# Mill\n\nSee [[river]] and [[Nowhere \x07]].\n",
    "river.md": "# River\n\nFlows to the [[mill]]." + " [[gone]]" * 30 + "\n",
    "secret.md": "---\ndraft: true\n---\n# Secret\n\n[[Markerword]]\n",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a verb over a small vault; gives exit code, stdout and stderr."""
    (tmp_path / "vault").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "vault" / name).write_text(text, encoding="utf-8")
    return verb_runs(tmp_path, monkeypatch, capsys)


def test_findings_are_lines_that_editors_follow_shortened_and_counted(run: Run) -> None:
    code, out, err = run("lint")
    assert code == 1 and not err
    assert "W001 broken-link (error): 31." in out and "  and 11 more; --format json tells all" in out
    assert "  mill.md:6:19: " in out and "\x07" not in out
    assert out.count("'gone' leads to no page") == 19
    assert "not ok: " in out and "score " in out and "Markerword" not in out


def test_json_and_sarif_tell_all_of_it(run: Run) -> None:
    code, out, _ = run("lint", "--json")
    report = json.loads(out)
    assert code == 1 and report["ok"] is False and report["counts"]["broken_links"] == 31
    assert len(report["broken_links"]) == 31 and report["broken_links"][0]["rule"] == "W001"
    assert json.loads(run("lint", "--format", "json")[1]) == report
    code, out, _ = run("lint", "--format", "sarif")
    assert code == 1 and len(json.loads(out)["runs"][0]["results"]) == sum(report["counts"].values())


def test_a_vault_without_broken_links_is_ok_whatever_else_it_lacks(run: Run, tmp_path: Path) -> None:
    (tmp_path / "vault" / "mill.md").write_text("# Mill\n\n[[river]] [[river#Nope]]\n")
    (tmp_path / "vault" / "river.md").write_text("# River\n")
    code, out, _ = run("lint", "--require", "owner, tags", "--stale-days", "0")
    assert code == 0 and "\nok: " in out and "W003 missing-heading (warning): 1." in out
    assert "the frontmatter" not in out and "there is no frontmatter, so it lacks owner, tags" in out


def test_drafts_are_linted_only_where_the_operator_allows_them(run: Run) -> None:
    assert "Markerword" not in run("lint", "--include-drafts", "--json")[1]
    assert "Markerword" in run("lint", "--include-drafts", "--allow-drafts", "--json")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stale-days", "-3"), "--stale-days takes a number of days"),
        (("--stale-days", "soon"), "invalid int value"),
        (("--format", "xml"), "invalid choice"),
        (("--frmat", "json"), "Did you mean --format"),
    ],
)
def test_wrong_use_is_told_in_one_line(run: Run, words: tuple[str, ...], said: str) -> None:
    code, out, err = run("lint", *words)
    assert code == 2 and not out and said in err and err.count("\n") == 1
