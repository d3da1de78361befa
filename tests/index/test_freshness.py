"""What is on disk is what is answered: edits, deletions, drafts, renames, touches, restarts."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.index.live_wiki import LiveWiki, same_stamp, until
from wikimcp.errors import NotFound
from wikimcp.models import Caller


def _lamps(wiki: LiveWiki) -> None:
    wiki.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at dusk by Ana.\n")
    wiki.write("pump.md", "# Pump\n\nThe pump runs dry after nine hours. See [[lamp]].\n")
    wiki.write("deep/mill.md", "# Mill\n\nThe mill grinds barley. It needs the [[pump]].\n")


def test_an_edit_is_in_the_very_next_answer(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert wiki.found("who trims the lamp")[0] == "lamp"
    for round_ in range(8):
        wiki.write("pump.md", f"# Pump\n\nThe pump was painted colour{round_}.\n")
        until(lambda word=f"colour{round_}": wiki.found(word) == ["pump"], "the edit is found")
        text = wiki.call("read_pages", slugs=["pump"])["pages"][0]["content"]
        assert f"colour{round_}" in text


def test_an_edited_page_is_never_shown_as_it_was(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert wiki.found("barley mill") == ["deep/mill"]
    wiki.write("deep/mill.md", "# Mill\n\nThe mill grinds oats now, no more of the old grain.\n")
    sections = wiki.call("assemble_bundle", query="mill grinds barley")["sections"]
    assert all("barley" not in section["text"] for section in sections)


def test_pages_that_say_the_same_come_by_path_whatever_was_written_last(wiki: LiveWiki) -> None:
    _lamps(wiki)
    for name in ("delta", "alpha", "charlie", "bravo"):
        wiki.write(f"same/{name}.md", "# Same\n\nThe osprey nests on the weir.\n")
        wiki.slugs()
    view = wiki.service.keeper.reading().view
    for query in ("osprey", "osprey weir nests"):
        hits = view.lexical(query, limit=10)
        for revs in (hits.page_revs.tolist(), [chunk >> 16 for chunk in hits.chunk_ids.tolist()]):
            paths = [view.by_rev[rev].path for rev in revs]
            assert paths == [f"same/{name}.md" for name in ("alpha", "bravo", "charlie", "delta")]


def test_a_deleted_page_is_in_no_answer(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert wiki.found("barley") == ["deep/mill"]
    (wiki.vault / "deep/mill.md").unlink()
    assert wiki.found("barley") == []
    with pytest.raises(NotFound):
        wiki.call("get_page", slug="deep/mill")
    assert wiki.slugs() == ["lamp", "pump"]
    assert wiki.call("get_page", slug="pump")["backlinkCount"] == 0


def test_a_page_set_to_draft_is_gone_at_the_next_call_and_back_without_it(wiki: LiveWiki) -> None:
    _lamps(wiki)
    text = (wiki.vault / "pump.md").read_text(encoding="utf-8")
    before = wiki.call("list_tags"), wiki.slugs()
    for flag in ("draft: true", "publish: 'off'", "status: Embargoed", "draft: maybe", "status: [draft]"):
        wiki.write("pump.md", f"---\n{flag}\n---\n{text}")
        assert "pump" not in wiki.found("pump runs dry nine hours")
        with pytest.raises(NotFound):
            wiki.call("get_page", slug="pump")
        assert "pump" not in wiki.slugs()
        missing = wiki.call("assemble_bundle", query="dry hours zzyzx")["coverage"]["missingTerms"]
        assert {"dry", "hours", "zzyzx"} == set(missing)
    wiki.write("pump.md", text)
    assert wiki.found("pump runs dry nine hours")[0] == "pump"
    assert wiki.slugs() == before[1]


def test_drafts_are_seen_only_with_the_operators_switch_and_the_callers_wish(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{"drafts.allow": True})
    _lamps(wiki)
    wiki.write("secret.md", "---\ndraft: true\n---\n# Merger\n\nThe merger closes in Quillhaven.\n")
    allowed, plain = Caller(may_see_drafts=True), Caller()
    try:
        asked = {"query": "where does the merger close"}
        assert wiki.call("assemble_bundle", allowed, **asked)["sections"] == []
        shown = wiki.call("assemble_bundle", allowed, include_drafts=True, **asked)["sections"]
        assert [section["slug"] for section in shown] == ["secret"]
        ignored = wiki.call("assemble_bundle", plain, include_drafts=True, **asked)
        assert ignored["sections"] == []
        assert any("include_drafts was ignored" in note for note in ignored["notes"])
        wiki.write("secret.md", "---\ndraft: true\n---\n# Merger\n\nThe merger closes in Ostermoor.\n")
        again = wiki.call("assemble_bundle", allowed, include_drafts=True, **asked)["sections"]
        assert "Ostermoor" in again[0]["text"]
    finally:
        wiki.stop()


def test_a_touch_makes_no_new_generation_and_no_new_version(wiki: LiveWiki) -> None:
    _lamps(wiki)
    before = wiki.call("get_page", slug="lamp")
    os.utime(wiki.vault / "lamp.md", ns=(1, 10**18))
    after = wiki.call("get_page", slug="lamp")
    assert (after["version"], after["contentHash"]) == (before["version"], before["contentHash"])
    assert after["index"]["generation"] == before["index"]["generation"]


def test_a_rewrite_with_the_old_size_and_time_is_noticed_by_reading(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert wiki.found("dusk") == ["lamp"]
    same_stamp(wiki.vault / "lamp.md", "# Lamp\n\nThe lamp is trimmed at dawn by Ana.\n")
    page = wiki.call("read_pages", slugs=["lamp"])["pages"][0]
    assert "dawn" in page["content"] and page["version"] == 2
    assert wiki.found("dawn") == ["lamp"]


def test_versions_count_changes_and_survive_a_rename_and_a_restart(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert wiki.call("get_page", slug="lamp")["version"] == 1
    wiki.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at noon.\n")
    until(lambda: wiki.call("get_page", slug="lamp")["version"] == 2, "the edit counts")
    (wiki.vault / "shelf").mkdir()
    (wiki.vault / "lamp.md").rename(wiki.vault / "shelf" / "lamp.md")
    until(lambda: "shelf/lamp" in wiki.slugs(), "the move is seen")
    assert "lamp" not in wiki.slugs()
    old_id = wiki.call("get_page", slug="shelf/lamp")["canonicalId"]
    assert wiki.call("get_page", slug="shelf/lamp")["version"] == 2
    wiki.stop()
    assert wiki.call("get_page_by_id", id=old_id)["version"] == 2


def test_changes_while_nothing_ran_are_found_at_the_start(quiet_wiki: LiveWiki) -> None:
    wiki = quiet_wiki
    _lamps(wiki)
    assert wiki.slugs() == ["deep/mill", "lamp", "pump"]
    wiki.stop()
    wiki.write("new.md", "# New\n\nA heron stands in the pond.\n")
    wiki.write("lamp.md", "# Lamp\n\nThe lamp hangs in the vestry.\n")
    (wiki.vault / "pump.md").unlink()
    assert wiki.slugs() == ["deep/mill", "lamp", "new"]
    assert wiki.found("heron") == ["new"] and wiki.found("vestry") == ["lamp"] and wiki.found("dry") == []


def test_a_renamed_folder_moves_its_pages(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert "deep/mill" in wiki.slugs()
    (wiki.vault / "deep").rename(wiki.vault / "high")
    until(lambda: "high/mill" in wiki.slugs(), "the folder's new name is seen")
    assert "deep/mill" not in wiki.slugs()


def test_a_new_page_heals_links_and_a_deleted_one_breaks_them(wiki: LiveWiki) -> None:
    wiki.write("a.md", "# A\n\nSee [[b]] and [[c]].\n")
    assert wiki.call("get_page", slug="a")["outlinkCount"] == 0
    wiki.write("b.md", "# B\n\nText.\n")
    until(lambda: wiki.call("get_page", slug="a")["outlinkCount"] == 1, "the link resolves")
    assert wiki.call("get_page", slug="b")["backlinkCount"] == 1
    wiki.write("a.md", "# A\n\nSee [[c]].\n")
    until(lambda: wiki.call("get_page", slug="b")["backlinkCount"] == 0, "the link is gone")


def test_a_vault_that_vanishes_keeps_its_pages_and_says_so(wiki: LiveWiki) -> None:
    _lamps(wiki)
    assert len(wiki.slugs()) == 3
    away = wiki.vault.with_name("away")
    wiki.vault.rename(away)
    wiki.vault.mkdir()
    wiki.service.keeper.scan()
    assert wiki.service.status(Caller())["index"]["state"] == "degraded"
    assert wiki.service.status(Caller())["files"]["indexed"] == 3
    wiki.vault.rmdir()
    away.rename(wiki.vault)
    wiki.service.keeper.scan()
    assert wiki.service.status(Caller())["index"]["state"] == "ready"
    assert wiki.found("barley") == ["deep/mill"]


def test_an_empty_vault_has_no_tools_until_a_page_comes(wiki: LiveWiki) -> None:
    changes: list[int] = []
    assert wiki.service.tools() == []
    wiki.service.subscribe(lambda: changes.append(1))
    wiki.write("first.md", "# First\n\nThe first word.\n")
    wiki.service.keeper.scan()
    assert [tool.name for tool in wiki.service.tools()][:1] == ["assemble_bundle"]
    assert changes
    assert wiki.found("first word") == ["first"]


@pytest.mark.parametrize(
    "harm",
    [
        "garbage catalog",
        "empty catalog",
        "no catalog",
        "garbage lexical",
        "no lexical",
        "bad current",
        "format",
    ],
)
def test_a_damaged_index_is_made_anew_and_versions_stay(quiet_wiki: LiveWiki, harm: str) -> None:
    wiki = quiet_wiki
    _lamps(wiki)
    wiki.slugs()
    wiki.write("lamp.md", "# Lamp\n\nThe lamp is trimmed at midnight.\n")
    until(lambda: wiki.call("get_page", slug="lamp")["version"] == 2, "the edit counts")
    wiki.stop()
    [state] = [path for path in wiki.state.iterdir() if path.is_dir()]
    (current,) = state.glob("current-*")
    index = state / current.read_text()
    _harm(state, index, harm)
    assert wiki.found("midnight") == ["lamp"]
    assert wiki.call("get_page", slug="lamp")["version"] == 2
    assert len(wiki.slugs()) == 3


def _harm(state: Path, index: Path, harm: str) -> None:
    catalog = index / "catalog.sqlite"
    for beside in index.glob("catalog.sqlite-*"):
        beside.unlink()
    if harm == "garbage catalog":
        catalog.write_bytes(os.urandom(9_000))
    elif harm == "empty catalog":
        catalog.write_bytes(b"")
    elif harm == "no catalog":
        catalog.unlink()
    elif harm == "garbage lexical":
        (index / "lexical" / "chunks" / "meta.json").write_text("{not json")
    elif harm == "no lexical":
        shutil.rmtree(index / "lexical")
    elif harm == "bad current":
        next(state.glob("current-*")).write_text("index-nowhere")
    else:
        with sqlite3.connect(catalog) as connection:
            connection.execute("UPDATE meta SET value='999' WHERE key='format'")
        connection.close()


def test_an_index_of_other_settings_is_not_served(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    _lamps(wiki)
    assert len(wiki.slugs()) == 3
    wiki.stop()
    narrower = LiveWiki(tmp_path, watch=False, ignore=["deep/"])
    try:
        assert narrower.slugs() == ["lamp", "pump"]
        assert narrower.found("barley") == []
    finally:
        narrower.stop()


def test_a_state_folder_that_cannot_be_made_is_told_and_answers_come_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.state = tmp_path / "file" / "state"
    _lamps(wiki)
    try:
        answer = wiki.call("assemble_bundle", query="barley")
        assert answer["sections"][0]["slug"] == "deep/mill"
        assert answer["index"]["state"] == "degraded"
        assert any("state directory cannot be written" in note for note in answer["notes"])
        assert str(tmp_path) not in str(answer)
    finally:
        wiki.stop()
