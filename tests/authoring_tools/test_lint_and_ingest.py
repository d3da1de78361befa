"""wiki_lint and wiki_ingest as an agent calls them."""

from __future__ import annotations

import pytest

from tests.authoring_tools.conftest import READER, Project, Talk
from wikimcp.errors import BadArgument, NotFound, Unavailable


def test_lint_tells_of_dead_anchors_and_repairs_what_moved(project: Project, talk: Talk) -> None:
    talk("wiki_refresh")
    (project.wiki / "concepts" / "gate.md").write_text(
        "---\ntype: Concept\ntitle: Gate\ndescription: The gate.\n---\n\n[[valve]] [x](none.md)\n"
    )
    report = talk("wiki_lint", stale_days=0)
    assert report["ok"] is False and report["counts"]["brokenLinks"] == 1
    assert [row["rule"] for row in report["leftoverWikilinks"]] == ["W013"]
    assert report["brokenLinks"][0]["page"] == "concepts/gate.md" and report["brokenLinks"][0]["line"] == 7
    assert sum(part["weight"] for part in report["scoreParts"]) == 100
    dry = talk("wiki_lint", fix=True, dry_run=True)
    assert dry["fixed"]["dryRun"] and dry["fixed"]["links"] == 1
    assert "[[valve]]" in (project.wiki / "concepts" / "gate.md").read_text()
    fixed = talk("wiki_lint", fix=True)
    assert fixed["fixed"]["links"] == 1 and fixed["leftoverWikilinks"] == []
    assert "[valve](../entities/valve.md)" in (project.wiki / "concepts" / "gate.md").read_text()


def test_lint_shows_the_first_of_each_kind_and_counts_all(project: Project, talk: Talk) -> None:
    links = " ".join(f"[x](none{number}.md)" for number in range(30))
    (project.wiki / "concepts" / "gate.md").write_text(f"---\ntype: Concept\ntitle: Gate\n---\n\n{links}\n")
    report = talk("wiki_lint", max_findings=5)
    assert len(report["brokenLinks"]) == 5 and report["counts"]["brokenLinks"] == 30


def test_ingest_stages_a_source_and_answers_with_its_brief(project: Project, talk: Talk) -> None:
    answer = talk.answer("wiki_ingest", text="# Tide rules\n\nAt 40 knots.\n")
    report = answer.structured
    assert report is not None and report["staged"] and report["trust"] == "untrusted_external"
    assert (project.workspace.workspace_root / report["extract"]).read_text().startswith("# Tide rules")
    assert answer.text.startswith(f"staged: {report['folder']}\n") and "At 40 knots." in answer.text
    again = talk("wiki_ingest", text="# Tide rules\n\nAt 40 knots.\n")
    assert again["duplicate"] and not again["staged"]
    assert "would be staged (dry run)" in talk.answer("wiki_ingest", text="other", dry_run=True).text


def test_ingest_takes_one_source_and_fetches_only_where_it_may(talk: Talk) -> None:
    with pytest.raises(BadArgument, match="exactly one"):
        talk("wiki_ingest", text="a", path="b")
    with pytest.raises(Unavailable, match="fetching is off"):
        talk("wiki_ingest", url="https://example.org/")


def test_who_is_no_author_has_neither(project: Project) -> None:
    service = project.serve()
    try:
        for name in ("wiki_lint", "wiki_ingest"):
            assert name not in {tool.name for tool in service.tools(READER)}
            with pytest.raises(NotFound):
                service.call(name, {"text": "a"} if name == "wiki_ingest" else {}, READER)
    finally:
        service.close()
