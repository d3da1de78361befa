"""The tools that keep the wiki in line with its sources, as a client calls them."""

from __future__ import annotations

import pytest

from tests.authoring_tools.conftest import PAGE, Project, Talk
from wikimcp.errors import AccessDenied, BadArgument, NotFound


def test_a_refresh_says_what_changed_and_search_says_the_same(project: Project, talk: Talk) -> None:
    first = talk("wiki_refresh")
    assert (first["status"], first["added"]) == ("compiled", ["src/valve.py"])
    assert talk("wiki_refresh")["status"] == "clean"
    code = project.workspace.workspace_root / "src" / "valve.py"
    code.write_text("import os\n\n\n" + code.read_text())
    answer = talk.answer("wiki_refresh")
    assert answer.structured is not None
    assert answer.structured["modified"] == ["src/valve.py"]
    assert answer.structured["stale"] == ["entities/valve.md"]
    assert answer.structured["affected"] == [{"page": "entities/valve.md", "sources": ["src/valve.py"]}]
    (drift,) = answer.structured["anchors"]
    assert (drift["anchor"], drift["now"]) == ("src/valve.py#L1-L2", "src/valve.py#L4-L5")
    for fact in ("src/valve.py#L4-L5", "entities/valve.md", "refreshed"):
        assert fact in answer.text
    match = talk("wiki_search", query="when does the valve close", mode="search")["matches"][0]
    assert (match["freshness"], match["changed"]) == ("stale", ["src/valve.py"])


def test_a_dry_run_shows_diffs_and_writes_nothing(project: Project, talk: Talk) -> None:
    before = (project.wiki / ".manifest.json").read_bytes()
    told = talk("wiki_refresh", dry_run=True, full=True)
    assert told["dryRun"] is True
    assert {change["file"] for change in told["changes"]} >= {".wiki/.manifest.json"}
    assert all(change["diff"] for change in told["changes"])
    assert (project.wiki / ".manifest.json").read_bytes() == before


def test_sources_are_retired_and_repointed(project: Project, talk: Talk) -> None:
    talk("wiki_refresh")
    root = project.workspace.workspace_root
    (root / "src" / "valve.py").rename(root / "src" / "flap.py")
    (root / "src" / "flap.py").write_text("def close(valve):\n    return valve.seal()\n")
    assert [c["kind"] for c in talk("wiki_refresh")["contradictions"]] == ["source_gone"]
    told = talk("wiki_repoint_sources", old="src/valve.py", new="src/flap.py")
    assert told["repointed"] == ["src/valve.py", "src/flap.py"]
    assert told["pages"] == [{"page": "entities/valve.md", "sources": ["src/valve.py"]}]
    assert told["refresh"]["contradictions"] == []
    page = (project.wiki / "entities" / "valve.md").read_text()
    assert page == PAGE.replace("resource: ../../src/valve.py", "resource: ../../src/flap.py")
    told = talk("wiki_retire_sources", paths=["src/flap.py"])
    assert told["retired"] == ["src/flap.py"]
    assert "\n    retired: 20" in (project.wiki / "entities" / "valve.md").read_text()


def test_wrong_paths_are_named(talk: Talk) -> None:
    talk("wiki_refresh")
    with pytest.raises(NotFound, match="no page names 'src/valves.py'"):
        talk("wiki_retire_sources", paths=["src/valves.py"])
    with pytest.raises(AccessDenied):
        talk("wiki_repoint_sources", old="src/valve.py", new="../valve.py")
    with pytest.raises(BadArgument):
        talk("wiki_retire_sources")


def test_each_says_what_it_does_to_the_wiki(talk: Talk) -> None:
    hints = {tool.name: tool.hints for tool in talk.service.tools(talk.caller)}
    assert (hints["wiki_refresh"].read_only, hints["wiki_refresh"].destructive) == (False, False)
    assert hints["wiki_retire_sources"].destructive
    assert hints["wiki_repoint_sources"].destructive
