"""Recording insights: titles, limits, evidence, and pages that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from wikimcp.authoring import record_insight as record_by_api
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.insight import InsightReport, page_stem, record_insight
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.okf import read_head
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import BadArgument, Conflict, Refused, TooLarge, Unavailable, WikiError


@pytest.fixture
def wiki(workspace: Workspace) -> Workspace:
    init_wiki(workspace, deploy=False)
    return workspace


def record(wiki: Workspace, **given: Any) -> InsightReport:
    return record_insight(wiki, **{"title": "Tokens live ten minutes", "content": "They do.", **given})


def text_of(wiki: Workspace, report: InsightReport) -> str:
    return (wiki.wiki_root / report.page).read_text(encoding="utf-8")


def test_a_new_insight_is_a_proposed_page_in_its_folder_with_a_line_in_the_log(wiki: Workspace) -> None:
    report = record(wiki, category="decision", description="How long", tags=("auth", "auth"), by="human:ana")
    assert (report.status, report.page) == ("recorded", "decisions/tokens-live-ten-minutes.md")
    assert text_of(wiki, report) == (
        "---\ntype: Decision Record\ntitle: Tokens live ten minutes\ndescription: How long\ntags: [auth]\n"
        'status: proposed\ngenerated: { by: "human:ana", at: 2026-03-14T12:00:00+00:00 }\n---\n\n'
        "# Tokens live ten minutes\n\nThey do.\n"
    )
    log = (wiki.wiki_root / "log.md").read_text()
    assert f"* **Insight**: Proposed a decision (content_hash {report.content_hash[:16]}).\n" in log
    assert "tokens" not in log.casefold()
    assert "Tokens live" not in (wiki.wiki_root / "decisions" / "index.md").read_text()


def test_the_same_insight_again_writes_nothing(wiki: Workspace) -> None:
    record(wiki)
    before = {path: path.stat().st_mtime_ns for path in wiki.wiki_root.rglob("*.md")}
    assert record(wiki, content="They do.\r\n").status == "unchanged"
    assert {path: path.stat().st_mtime_ns for path in wiki.wiki_root.rglob("*.md")} == before


def test_an_existing_page_is_changed_only_with_its_hash_and_else_comes_back(wiki: Workspace) -> None:
    first = record(wiki)
    with pytest.raises(Conflict) as caught:
        record(wiki, content="They live eleven.")
    assert caught.value.current == text_of(wiki, first)
    assert caught.value.content_hash == first.content_hash
    changed = record(wiki, content="They live eleven.", content_hash=first.content_hash[:16])
    assert (changed.status, changed.page) == ("updated", first.page)
    with pytest.raises(Conflict):
        record(wiki, content="They live twelve.", content_hash=first.content_hash)
    with pytest.raises(Conflict):
        record(wiki, title="Not there", content_hash=first.content_hash)
    assert "eleven" in text_of(wiki, changed)


def kept(wiki: Workspace, path: str, head: str) -> str:
    text = f"---\ntype: Concept\n{head}---\n\n# Of old\n\nThey do.\n"
    (wiki.wiki_root / path).write_text(text)
    return content_hash(text.encode())


@pytest.mark.parametrize(
    "head",
    [
        "title: tokens live TEN minutes\n",
        "title: Sessions\naliases: [Lifetimes, Tokens live ten minutes]\n",
        "title: Sessions\nalias: Tokens live ten minutes\n",
        "title: Sessions\nid: Tokens live ten minutes\n",
    ],
)
def test_a_page_is_found_by_its_names_under_any_file_name(wiki: Workspace, head: str) -> None:
    digest = kept(wiki, "concepts/of-old.md", head)
    with pytest.raises(Conflict, match=r"concepts/of-old\.md") as caught:
        record(wiki, content="They live eleven.")
    assert caught.value.content_hash == digest
    changed = record(wiki, content="They live eleven.", content_hash=digest)
    assert (changed.status, changed.page) == ("updated", "concepts/of-old.md")
    assert head in text_of(wiki, changed) and "They live eleven." in text_of(wiki, changed)
    assert not (wiki.wiki_root / "concepts" / "tokens-live-ten-minutes.md").exists()
    assert record(wiki, content="They live eleven.").status == "unchanged"


def test_a_title_of_a_page_elsewhere_or_of_several_is_refused_by_name(wiki: Workspace) -> None:
    head = "title: Tokens live ten minutes\n"
    digest = kept(wiki, "entities/a.md", head)
    with pytest.raises(Conflict, match=r"a name of entities/a\.md already") as caught:
        record(wiki, content_hash=digest)
    assert (caught.value.content_hash, caught.value.current) == (
        digest,
        (wiki.wiki_root / "entities/a.md").read_text(),
    )
    kept(wiki, "concepts/b.md", head)
    kept(wiki, "concepts/c.md", head)
    with pytest.raises(Conflict, match=r"concepts/b\.md and concepts/c\.md and entities/a\.md"):
        record(wiki)
    assert record(wiki, title="Tokens live").status == "recorded"


def test_a_change_keeps_keys_that_are_not_ours_and_asks_for_acceptance_again(wiki: Workspace) -> None:
    report = record(wiki)
    page = wiki.wiki_root / report.page
    page.write_text(
        page.read_text().replace(
            "status: proposed\n", "x-team: { lead: ana }  # ours\nreviewed: 2026-03-01 09:00\n"
        )
    )
    with pytest.raises(Conflict) as caught:
        record(wiki, content="Other.")
    text = text_of(wiki, record(wiki, content="Other.", content_hash=caught.value.content_hash))
    assert "x-team: { lead: ana }  # ours\nreviewed: 2026-03-01 09:00\n" in text
    assert read_head(text).status == "proposed"


def test_an_accepted_page_stands_in_its_index_until_it_is_changed(wiki: Workspace) -> None:
    report = record(wiki)
    page, index = wiki.wiki_root / report.page, wiki.wiki_root / "concepts" / "index.md"
    page.write_text(page.read_text().replace("status: proposed\n", ""))
    init_wiki(wiki, deploy=False)
    assert "[Tokens live ten minutes](tokens-live-ten-minutes.md)" in index.read_text()
    record(wiki, content="Eleven.", content_hash=content_hash(page.read_bytes()))
    assert "Tokens" not in index.read_text()


@pytest.mark.parametrize(
    ("title", "shown", "stem"),
    [
        ("  A \n# b\t\x00 c  ", "A # b c", "a-b-c"),
        ("Log", "Log", "log-page"),
        ("INDEX!", "INDEX!", "index-page"),
        ("Ünïcode & ПРИВЕТ", "Ünïcode & ПРИВЕТ", "ünïcode-привет"),
        ("../../etc/passwd", "../../etc/passwd", "etc-passwd"),
        ("a\u202eb\u2028c", "a b c", "a-b-c"),
    ],
)
def test_a_title_is_one_line_and_its_file_stays_where_it_belongs(
    wiki: Workspace, title: str, shown: str, stem: str
) -> None:
    report = record(wiki, title=title)
    assert (report.title, report.page) == (shown, f"concepts/{stem}.md")
    assert text_of(wiki, report).split("---\n")[-1].startswith(f"\n# {shown}\n")


def test_a_title_of_signs_alone_still_has_a_file_of_its_own() -> None:
    assert page_stem("!!!") != page_stem("???")
    assert page_stem("!!!").startswith("insight-")
    assert len(page_stem("ä" * 200).encode()) <= 160


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"title": " \n\x00 "}, BadArgument),
        ({"title": "x" * 201}, BadArgument),
        ({"content": " \n "}, BadArgument),
        ({"content": "x" * 65_537}, TooLarge),
        ({"content": "ä" * 32_769}, TooLarge),
        ({"content": "a\x00b"}, BadArgument),
        ({"category": "decison"}, BadArgument),
        ({"content": "ask anna.schmidt@wikicorp.dev"}, Refused),
        ({"title": "ask anna.schmidt@wikicorp.dev"}, Refused),
        ({"evidence": [f"a.py#L{n}" for n in range(51)]}, BadArgument),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    wiki: Workspace, given: dict[str, Any], error: type[Exception]
) -> None:
    before = sorted(wiki.wiki_root.rglob("*"))
    with pytest.raises(error):
        record(wiki, **given)
    assert sorted(wiki.wiki_root.rglob("*")) == before


def test_the_largest_title_and_content_are_kept_whole(wiki: Workspace) -> None:
    report = record(wiki, title="t" * 200, content="x" * 65_536)
    assert "x" * 65_536 in text_of(wiki, report)


def test_lines_of_a_source_are_checked_and_become_sources_with_footnotes(wiki: Workspace) -> None:
    (wiki.workspace_root / "src").mkdir()
    (wiki.workspace_root / "src" / "my code.py").write_text("a\nb\nc\n")
    report = record(wiki, evidence=["src/my code.py#L1-L3", "file:src/my code.py#L2"])
    assert text_of(wiki, report).endswith(
        "They do.\n\nRests on: [^e1] [^e2]\n\n[^e1]: src/my code.py#L1-L3\n[^e2]: file:src/my code.py#L2\n"
    )
    sources = read_head(text_of(wiki, report)).sources
    assert [(source.id, source.resource) for source in sources] == [
        ("e1", "../../src/my%20code.py"),
        ("e2", "../../src/my%20code.py"),
    ]
    for wrong, why in (
        ("src/my code.py#L3-L4", "the file has 3 lines"),
        ("src/none.py#L1", "no such file"),
        ("../x.py#L1", "not inside the workspace"),
        ("src/my code.py#L2-L1", "the first before the last"),
        ("src/my code.py#L0", "lines count from 1"),
        ("/etc/passwd#L1", "not inside the workspace"),
    ):
        with pytest.raises(BadArgument, match=f"does not hold.*{why}"):
            record(wiki, title="Other", evidence=["src/my code.py#L1", wrong])


def test_citations_are_verified_when_they_are_written(wiki: Workspace) -> None:
    def verify(citations: tuple[str, ...]) -> Mapping[str, str]:
        return {item: "current" if item.startswith("concepts/") else "stale" for item in citations}

    record(wiki, title="Ground", content="Stands.")
    report = record(wiki, evidence=["concepts/ground @ 1"], verify=verify)
    assert read_head(text_of(wiki, report)).sources[0].resource == "ground.md"
    with pytest.raises(BadArgument, match="guides/x @ 2: stale"):
        record(wiki, title="Other", evidence=["concepts/ground @ 1", "guides/x @ 2"], verify=verify)
    with pytest.raises(Unavailable):
        record(wiki, title="Other", evidence=["concepts/ground @ 1"])


def test_a_dry_run_shows_the_page_and_writes_nothing(wiki: Workspace) -> None:
    report = record(replace(wiki, dry_run=True))
    assert any("+# Tokens live ten minutes" in change.diff for change in report.changes)
    assert not (wiki.wiki_root / report.page).exists()


def test_without_a_wiki_nothing_is_recorded(workspace: Workspace) -> None:
    with pytest.raises(WikiError, match="init"):
        record_by_api(workspace.workspace_root, title="A", content="b")
    assert list(workspace.workspace_root.iterdir()) == []


def test_by_name_citations_of_the_wiki_are_verified_without_more_being_given(
    wiki: Workspace, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    root = wiki.workspace_root
    (wiki.wiki_root / "concepts" / "clock.md").write_text(
        "---\ntype: Concept\ntitle: Clock\n---\n\n# Clock\n"
    )
    kept = record_by_api(root, title="A", content="b", evidence=["concepts/clock @ 1"])
    assert kept.evidence == ("concepts/clock @ 1",)
    with pytest.raises(BadArgument, match="concepts/nowhere @ 1"):
        record_by_api(root, title="B", content="b", evidence=["concepts/nowhere @ 1"])
