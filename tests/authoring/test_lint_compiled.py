"""Lint of a compiled wiki: by its books and its format, and repair of what is safe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.compiled_wiki import CHECKS, Project
from tests.verb_runs import Run, runs
from wikimcp.app import AuthoringSetup, lint_wiki, open_wiki_index
from wikimcp.authoring import lint_wiki as lint_by_name
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.lint_fixes import fix_wiki
from wikimcp.authoring.lint_report import LintReport
from wikimcp.authoring.workspace import Workspace
from wikimcp.cli.authoring_server import wiki_settings
from wikimcp.errors import Conflict, WikiError

HEAD = "---\ntype: Concept\ntitle: {title}\ndescription: About it.\ngenerated: {{by: test/1, at: 2999-01-01T00:00:00+00:00}}\n{more}---\n\n"


def page(title: str, body: str, more: str = "") -> str:
    return HEAD.format(title=title, more=more) + body


@pytest.fixture
def project(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Give a project whose wiki has nothing wrong, refreshed once."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "WIKIMCP_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path.parent / f"{tmp_path.name}-places" / name.lower()))
    monkeypatch.setenv("WIKIMCP_EMBEDDER", "none")
    monkeypatch.chdir(workspace.workspace_root)
    project = Project(workspace)
    project.source("src/checks.py", CHECKS)
    init_wiki(workspace, deploy=False)
    sources = "sources:\n  - id: checks\n    resource: ../../src/checks.py\nanchors:\n  - ../../src/checks.py#L4-L6\n"
    project.page(
        "concepts/checks.md",
        page("Checks", "# Checks\n\nSee [tokens](tokens.md) and [the code](../../src/checks.py).\n", sources),
    )
    project.page(
        "concepts/tokens.md", page("Tokens", "# Tokens\n\n## Life\n\nUsed by [checks](checks.md).\n")
    )
    project.refresh()
    yield project


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runs(capsys)


def linted(project: Project) -> LintReport:
    return lint_wiki(replace(project.workspace, dry_run=False))


def rows(report: LintReport, key: str) -> list[tuple[str, str, int]]:
    return [(row.rule.code, row.page, row.line) for row in report.by_key[key]]


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".state" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_wiki_in_order_has_no_finding_and_lint_writes_nothing(project: Project) -> None:
    before = bytes_of(project.root)
    report = linted(project)
    assert [row.row() for row in report.findings] == [] and report.score == 100 and report.ok
    assert report.compiled and report.measured.anchors == 1 and report.measured.indexes == 7
    assert bytes_of(project.root) == before


def test_an_anchor_whose_lines_moved_is_dead_until_it_is_followed(project: Project, run: Run) -> None:
    project.source("src/checks.py", "# a line\n" + CHECKS)
    report = linted(project)
    assert rows(report, "dead_anchors") == [("W002", "concepts/checks.md", 10)] and not report.ok
    assert "now lines 5-7" in report.by_key["dead_anchors"][0].message
    assert rows(report, "stale") == [("W015", "concepts/checks.md", 6)]
    code, out, _ = run("lint", "--fix", "--format", "json")
    told = json.loads(out)
    assert code == 0 and told["fixed"]["anchors"] == 1 and told["dead_anchors"] == []
    assert "checks.py#L5-L7" in project.text("concepts/checks.md")
    assert [row["rule"] for row in told["stale"]] == ["W015"]


def test_an_anchor_whose_lines_are_gone_stays_dead_and_is_not_guessed(project: Project, run: Run) -> None:
    project.source("src/checks.py", "nothing\n")
    before = project.text("concepts/checks.md")
    code, out, _ = run("lint", "--fix")
    assert code == 1 and "W002 dead-anchor (error): 1." in out
    assert project.text("concepts/checks.md") == before


def test_a_source_that_is_gone_is_pruned_and_no_failure_by_itself(project: Project) -> None:
    project.source("docs/a.md", "# A\n")
    more = "sources:\n  - id: a\n    resource: ../../docs/a.md\n"
    project.page("concepts/tokens.md", page("Tokens", "# Tokens\n\n[checks](checks.md)\n", more))
    project.refresh()
    (project.root / "docs/a.md").unlink()
    report = linted(project)
    assert rows(report, "pruned_sources") == [("W011", "concepts/tokens.md", 8)]
    assert report.ok and next(part.lost for part in report.parts if part.key == "pruned_sources") == 0


def test_links_into_the_workspace_hold_and_those_beyond_it_are_broken(project: Project) -> None:
    (project.root.parent / "outside.txt").write_text("x")
    body = "[a](../../src/checks.py#L4-L6) [b](../../src) [c](../../../outside.txt) [d](../../src/none.py)\n"
    project.page("concepts/tokens.md", page("Tokens", body))
    report = linted(project)
    assert [row.message for row in report.by_key["broken_links"]] == [
        "'../../../outside.txt' leads to no page",
        "'../../src/none.py' leads to no page",
    ]


def test_an_index_that_lags_behind_its_pages_is_told_at_its_line_and_made_anew(
    project: Project, run: Run
) -> None:
    project.page("concepts/new.md", page("Brand new", "[tokens](tokens.md)\n"))
    report = linted(project)
    index = project.text("concepts/index.md").splitlines()
    found = {row.page: row.line for row in report.by_key["index_drift"]}
    assert set(found) == {"index.md", "concepts/index.md"}
    assert "Brand new" not in project.text("concepts/index.md")
    assert index[found["concepts/index.md"] - 1].startswith("* [Checks]")
    code, out, _ = run("lint", "--fix")
    assert code == 0 and "W012" not in out and "[Brand new](new.md)" in project.text("concepts/index.md")


def test_wikilinks_become_relative_links_where_they_lead_to_one_page(project: Project, run: Run) -> None:
    body = (
        "# Tokens\r\n\r\n[[Checks]] ![[checks]] [[tokens|tokens]] [[checks#Checks|their *rules*]] `[[code]]`\r\n"
        "[[nowhere]] [[twin]] [[checks#^id]] [[a b/twin|T]]\r\n| [[checks\\|c]] |\r\n"
    )
    project.page("concepts/tokens.md", page("Tokens", body).replace("\n", "\r\n").replace("\r\r", "\r"))
    project.page("concepts/a b/twin.md", page("Twin", "[x](../checks.md)\n"))
    project.page("concepts/c/twin.md", page("Twin two", "[x](../checks.md)\n"))
    report = linted(project)
    assert len(report.by_key["leftover_wikilinks"]) == 9
    assert {(row.line, row.column) for row in report.by_key["leftover_wikilinks"]} >= {
        (10, 1),
        (10, 12),
        (11, 1),
    }
    before = bytes_of(project.root)
    dry = run("lint", "--fix", "--dry-run")[1]
    assert "would be repaired: 6 wikilinks" in dry and bytes_of(project.root) == before
    run("lint", "--fix")
    text = project.text("concepts/tokens.md")
    assert (
        "[Checks](checks.md) [checks](checks.md) [tokens](tokens.md) [their *rules*](checks.md#checks) `[[code]]`\r\n"
        in text
    )
    assert "[[nowhere]] [[twin]] [[checks#^id]] [T](a%20b/twin.md)\r\n| [c](checks.md) |\r\n" in text
    assert "* **Lint**: 6 wikilinks written as relative links." in project.text("log.md")
    assert run("lint", "--fix")[1].startswith("repaired: 0 wikilinks, 0 anchors, so no file is written.")


def test_a_page_that_is_edited_between_reading_and_repairing_is_a_conflict_and_keeps_the_edit(
    project: Project,
) -> None:
    project.page("concepts/tokens.md", page("Tokens", "[[checks]]\n"))
    edited = page("Tokens", "[[checks]] and more\n")

    def examine(work: Any) -> Any:
        settings = wiki_settings({}, wiki_root=str(project.wiki))
        index = open_wiki_index(AuthoringSetup(project.workspace, settings))
        found = index.examine(work)
        index.close()
        project.page("concepts/tokens.md", edited)
        return found

    before = bytes_of(project.root)
    with pytest.raises(Conflict):
        fix_wiki(project.workspace, examine)
    assert bytes_of(project.root) == {**before, ".wiki/concepts/tokens.md": edited.encode()}


def test_a_stale_page_stays_stale_when_its_links_are_repaired(project: Project, run: Run) -> None:
    plain = project.text("concepts/checks.md").replace(
        "generated: {by: test/1, at: 2999-01-01T00:00:00+00:00}\n", ""
    )
    project.page("concepts/checks.md", plain + "\n[[tokens]]\n")
    project.refresh()
    project.source("src/checks.py", CHECKS + "\n# more\n")
    assert [
        row["rule"] for row in json.loads(run("lint", "--fix", "--json", "--stale-days", "0")[1])["stale"]
    ] == ["W015"]
    assert "[[tokens]]" in project.text("concepts/checks.md")
    assert "filed again:\n  concepts/checks.md\n" in run("lint", "--fix", "--dry-run")[1]


def test_format_fields_and_personal_data_are_rules_of_a_compiled_wiki(project: Project) -> None:
    project.page("concepts/bad.md", "# No head\n\n[tokens](tokens.md) mail ana@mill.org\n")
    project.page("concepts/short.md", "---\ntype: Concept\n---\n\n[bad](bad.md)\n")
    report = linted(project)
    codes = rows(report, "missing_frontmatter")
    assert ("W014", "concepts/bad.md", 1) in codes
    assert codes.count(("W009", "concepts/short.md", 1)) == 2
    assert rows(report, "secrets") == [("W010", "concepts/bad.md", 3)]
    assert "ana@mill.org" not in json.dumps(report.to_json()) and report.ok


def test_without_a_wiki_or_with_a_broken_manifest_there_is_a_named_error(
    project: Project, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    code, _, err = run("lint", "--workspace", str(tmp_path / "empty"))
    assert code == 1 and "there is no compiled wiki here" in err
    with pytest.raises(WikiError):
        lint_by_name(tmp_path / "empty", lint=lint_wiki)
    project.page(".manifest.json", "{broken")
    code, _, err = run("lint")
    assert code == 1 and "manifest" in err and str(project.root) not in err


def test_a_vault_that_is_named_is_linted_as_a_vault_and_never_repaired(
    project: Project, run: Run, tmp_path: Path
) -> None:
    vault = tmp_path.parent / f"{tmp_path.name}-vault"
    vault.mkdir()
    (vault / "a.md").write_text("[[b]]\n")
    (vault / "b.md").write_text("[[a]]\n")
    before = bytes_of(vault)
    code, out, _ = run("lint", "--vault", str(vault))
    assert code == 0 and "on 2 pages" in out
    code, _, err = run("lint", "--vault", str(vault), "--fix")
    assert code == 2 and "--fix repairs a compiled wiki" in err and bytes_of(vault) == before
    code, _, err = run("lint", "--dry-run")
    assert code == 2 and "--dry-run goes with --fix" in err


def test_context_reads_the_compiled_wiki_where_no_vault_is_named(project: Project, run: Run) -> None:
    told = json.loads(run("context", "how are the tokens used", "--json")[1])
    assert told["loaded"][0]["source"] == "hot @ 1" and told["loaded"][-1]["source"] == "concepts/tokens @ 1"
    project.page(".manifest.json", "{broken")
    assert run("context", "tokens", "--vault", str(project.wiki), "--json")[0] == 0


def test_the_api_gives_the_report_by_name(project: Project) -> None:
    report = lint_by_name(project.root)
    assert report.to_json()["ok"] is True and report.to_json()["score"] == 100
    assert lint_by_name(project.root, lint=lint_wiki).to_json() == report.to_json()
    with pytest.raises(WikiError, match="no compiled wiki"):
        lint_by_name(project.root, wiki_root="elsewhere")
