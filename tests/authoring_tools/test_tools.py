"""The tools over a real index: search, reading, insights, the hot page."""

from __future__ import annotations

import pytest

from tests.authoring_tools.conftest import PAGE, READER, Project, Talk
from wikimcp.authoring.intent import content_hash
from wikimcp.errors import AccessDenied, BadArgument, WikiError


def test_a_match_says_where_it_stands_how_fresh_it_is_and_which_lines_it_rests_on(
    project: Project, talk: Talk
) -> None:
    answer = talk.answer("wiki_search", query="when does the valve close", mode="search")
    assert answer.structured is not None
    match = answer.structured["matches"][0]
    code = project.workspace.workspace_root / "src" / "valve.py"
    assert match["breadcrumbs"] == "Valve control > Closing"
    assert (match["page"], match["category"], match["freshness"]) == (
        "entities/valve.md",
        "entities",
        "current",
    )
    assert match["anchors"] == [
        {"anchor": "src/valve.py#L1-L2", "symbol": "close", "link": f"file://{code}#L1-L2"}
    ]
    assert "forty degrees" in match["summary"]
    for fact in (
        "Valve control > Closing",
        "entities/valve.md",
        "current",
        f"file://{code}#L1-L2",
        "forty degrees",
        match["handle"],
    ):
        assert fact in answer.text


def test_a_source_that_changed_or_went_makes_its_page_stale(project: Project, talk: Talk) -> None:
    code = project.workspace.workspace_root / "src" / "valve.py"
    code.write_text("def close(valve): ...\n")
    match = talk("wiki_search", query="valve", mode="search")["matches"][0]
    assert (match["freshness"], match["changed"]) == ("stale", ["src/valve.py"])
    code.unlink()
    page = talk("wiki_read_page", page_path="entities/valve.md")
    assert (page["freshness"], page["gone"]) == ("source gone", ["src/valve.py"])


def test_as_many_matches_come_as_were_asked_for_and_never_an_index(project: Project, talk: Talk) -> None:
    for number in range(6):
        talk("wiki_record_insight", title=f"Barley {number}", content=f"Barley field {number} is sown.")
    found = talk("wiki_search", query="barley", mode="search", max_results=3)
    assert found["returned"] == len(found["matches"]) == 3
    assert all(match["page"].startswith("concepts/barley") for match in found["matches"])
    nothing = talk.answer("wiki_search", query="zeppelin", mode="search")
    assert nothing.structured is not None and nothing.structured["matches"] == []
    assert "No page" in nothing.text


def test_a_page_is_read_with_its_hash_and_a_missing_one_is_not_found(project: Project, talk: Talk) -> None:
    page = talk("wiki_read_page", page_path="entities/valve.md")
    assert (page["found"], page["text"], page["contentHash"]) == (True, PAGE, content_hash(PAGE.encode()))
    assert talk("wiki_read_page", page_path="entities/none.md") == {
        "found": False,
        "page": "entities/none.md",
    }
    assert talk("wiki_read_page", page_path="entities")["found"] is False
    (project.wiki / "out").symlink_to(project.root)
    for path in (
        "../project/src/valve.py",
        "/etc/passwd",
        ".manifest.json",
        ".state/lock",
        "out/x.md",
        "a\nb.md",
    ):
        with pytest.raises(AccessDenied):
            talk("wiki_read_page", page_path=path)


def test_a_long_page_is_read_in_parts_that_join(project: Project, talk: Talk) -> None:
    text = "# Long\n\n" + "".join(
        f"Line {number} of many words that go on and on.\n" for number in range(1_500)
    )
    (project.wiki / "concepts" / "long.md").write_text(text)
    parts, line = [], 1
    while True:
        page = talk("wiki_read_page", page_path="concepts/long.md", from_line=line)
        parts.append(page["text"])
        if "nextLine" not in page:
            break
        line = page["nextLine"]
    assert len(parts) > 2 and "".join(parts) == text


def test_an_insight_is_proposed_found_by_authors_and_by_nobody_else(project: Project, talk: Talk) -> None:
    kept = talk(
        "wiki_record_insight", title="Mill wheel", content="The mill wheel turns left.", category="decision"
    )
    assert (kept["status"], kept["page"], kept["pageStatus"]) == (
        "recorded",
        "decisions/mill-wheel.md",
        "proposed",
    )
    assert [m["page"] for m in talk("wiki_search", query="mill wheel", mode="search")["matches"]] == [
        kept["page"]
    ]
    reader = Talk(talk.service, READER)
    assert reader("assemble_bundle", query="mill wheel", mode="lexical")["sections"] == []
    page = project.wiki / kept["page"]
    page.write_text(page.read_text().replace("status: proposed\n", ""))
    assert (
        reader("assemble_bundle", query="mill wheel", mode="lexical")["sections"][0]["slug"]
        == "decisions/mill-wheel"
    )


def test_a_conflict_comes_back_with_the_text_to_merge(talk: Talk) -> None:
    first = talk("wiki_record_insight", title="Mill", content="Turns left.")
    conflict = talk("wiki_record_insight", title="Mill", content="Turns right.")
    assert (conflict["status"], conflict["contentHash"]) == ("conflict", first["contentHash"])
    assert "Turns left." in conflict["current"]
    merged = talk(
        "wiki_record_insight", title="Mill", content="Turns both ways.", content_hash=conflict["contentHash"]
    )
    assert merged["status"] == "updated"


def test_a_conflict_over_a_long_page_says_where_to_read_it(project: Project) -> None:
    service = project.serve(answer_tokens=500)
    try:
        talk = Talk(service)
        talk("wiki_record_insight", title="Mill", content="It grinds barley. " * 400)
        conflict = talk("wiki_record_insight", title="Mill", content="Turns right.")
        assert conflict["status"] == "conflict" and "current" not in conflict
        assert "wiki_read_page" in conflict["notes"][0]
        page = talk("wiki_read_page", page_path="concepts/mill.md")
        assert page["contentHash"] == conflict["contentHash"]
    finally:
        service.close()


def test_evidence_is_verified_against_the_wiki(talk: Talk) -> None:
    match = talk("wiki_search", query="valve", mode="search")["matches"][0]
    kept = talk(
        "wiki_record_insight",
        title="Heat",
        content="It closes.",
        evidence=[match["handle"], "src/valve.py#L1"],
    )
    assert kept["evidence"] == [match["handle"], "src/valve.py#L1"]
    with pytest.raises(BadArgument, match="entities/none @ 3: target_missing"):
        talk(
            "wiki_record_insight",
            title="Cold",
            content="It opens.",
            evidence=[match["handle"], "entities/none @ 3"],
        )


def test_citations_of_the_vault_that_is_served_beside_the_wiki_count_too(project: Project) -> None:
    vault = project.root / "notes"
    vault.mkdir()
    (vault / "lamp.md").write_text("# Lamp\n\nTrimmed at dusk.\n")
    talk = Talk(project.serve(vault=vault))
    try:
        handle = talk("assemble_bundle", query="lamp", mode="lexical")["sections"][0]["citation"]["handle"]
        kept = talk("wiki_record_insight", title="Lamp rule", content="Trim it.", evidence=[handle])
        assert kept["evidence"] == [handle]
        found = talk("wiki_search", query="lamp", mode="search")["matches"]
        assert [match["page"] for match in found] == ["concepts/lamp-rule.md"]
    finally:
        talk.service.close()


def test_a_long_text_argument_is_refused_and_never_cut(talk: Talk) -> None:
    from wikimcp.errors import TooLarge

    with pytest.raises(TooLarge):
        talk("wiki_record_insight", title="Long", content="x" * 70_000)
    with pytest.raises(BadArgument, match="201 characters"):
        talk("wiki_record_insight", title="x" * 201, content="y")


def test_a_dry_run_of_each_tool_that_writes_writes_nothing(project: Project, talk: Talk) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.workspace.workspace_root.rglob("*")}
    assert talk("wiki_init", dry_run=True, profile="pkm")["changes"][0]["diff"]
    assert talk("wiki_record_insight", title="A", content="b", dry_run=True)["changes"][0]["diff"]
    assert talk("wiki_update_hot", content="- 2026-03-14 new", dry_run=True)["changes"][0]["diff"]
    assert {path: path.stat().st_mtime_ns for path in project.workspace.workspace_root.rglob("*")} == before


def test_a_report_that_is_over_the_cap_is_cut_and_says_so(project: Project) -> None:
    service = project.serve(answer_tokens=500)
    try:
        for name in ("index.md", "log.md", "SCHEMA.md", "hot.md"):
            (project.wiki / name).unlink()
        for name in ("entities", "concepts", "decisions", "domains", "sources", "questions"):
            (project.wiki / name / "index.md").unlink()
        report = Talk(service)("wiki_init", dry_run=True)
        (note,) = [note for note in report["notes"] if note.startswith("changes: ")]
        assert note == f"changes: {15 - len(report['changes'])} of 15 left out to keep the answer short"
        assert Talk(service)("wiki_init", deploy_skills=False)["status"] == "initialized"
        assert (project.wiki / "questions" / "index.md").is_file()
    finally:
        service.close()


def test_what_init_settled_holds_for_later_calls_of_the_same_server(project: Project, talk: Talk) -> None:
    assert talk("wiki_init", profile="pkm", deploy_skills=False)["profile"] == "pkm"
    assert talk("wiki_init", deploy_skills=False)["status"] == "unchanged"
    assert '"profile": "pkm"' in (project.wiki / ".manifest.json").read_text()


def test_without_a_wiki_search_says_how_to_make_one(project: Project, talk: Talk) -> None:
    import shutil

    shutil.rmtree(project.wiki)
    with pytest.raises(WikiError, match="init"):
        talk("wiki_search", query="x", mode="search")
