"""The rules of the hot page."""

from __future__ import annotations

import pytest

from wikimcp import authoring
from wikimcp.authoring.hot import count_words, update_hot
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.okf import body_of, read_head
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import BadArgument, Conflict, Refused, TooLarge


@pytest.fixture
def wiki(workspace: Workspace) -> Workspace:
    init_wiki(workspace, deploy=False)
    return workspace


def hot(wiki: Workspace) -> str:
    return (wiki.wiki_root / "hot.md").read_text()


def test_the_text_is_replaced_and_the_head_stays_but_for_who_and_when(wiki: Workspace) -> None:
    page = wiki.wiki_root / "hot.md"
    page.write_text(hot(wiki).replace("title: Hot\n", "title: Hot\nx-mine: 1   # kept\n"))
    report = update_hot(wiki, "---\ntype: Other\n---\n\n- 2026-03-14 new\n- 2026-03-01 old\n", by="human:ana")
    assert (report.status, report.words, report.words_before) == ("updated", 4, 0)
    assert body_of(hot(wiki)) == "\n- 2026-03-14 new\n- 2026-03-01 old\n"
    assert "x-mine: 1   # kept\n" in hot(wiki)
    head = read_head(hot(wiki))
    assert head.type == "Hot Page" and head.generated is not None and head.generated.by == "human:ana"
    assert update_hot(wiki, "- 2026-03-14 new\n- 2026-03-01 old").status == "unchanged"


def test_too_many_words_too_few_and_disorder_are_refused(wiki: Workspace) -> None:
    update_hot(wiki, "word " * 500)
    before = hot(wiki)
    with pytest.raises(TooLarge, match="501"):
        update_hot(wiki, "word " * 501)
    with pytest.raises(BadArgument, match="sparser: 499 words, where there are 500"):
        update_hot(wiki, "word " * 499)
    with pytest.raises(BadArgument, match="empty"):
        update_hot(wiki, " \n--\n")
    with pytest.raises(BadArgument, match="line 3 of the hot page is of 2026-03-02"):
        update_hot(wiki, "## 2026-03-01\n\n* **2026-03-02** later\n" + "word " * 490)
    with pytest.raises(Refused):
        update_hot(wiki, "ask anna.schmidt@wikicorp.dev " + "word " * 498, force=True)
    with pytest.raises(Conflict):
        update_hot(wiki, "other " * 500, content_hash="0" * 64)
    assert hot(wiki) == before
    assert update_hot(wiki, "few words", force=True).words == 2


def test_words_are_counted_without_signs_and_comments() -> None:
    assert count_words("- **one** two — 3 <!-- not this --> ## #four\n") == 4


def test_the_python_api_takes_hash_and_author_as_the_other_doors_do(wiki: Workspace) -> None:
    with pytest.raises(Conflict):
        authoring.update_hot(wiki.workspace_root, content="few words", content_hash="0" * 64)
    read = content_hash((wiki.wiki_root / "hot.md").read_bytes())
    authoring.update_hot(wiki.workspace_root, content="few words", content_hash=read, by="human:ana")
    generated = read_head(hot(wiki)).generated
    assert generated is not None and generated.by == "human:ana"
