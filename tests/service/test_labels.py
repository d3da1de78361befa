"""Labels end to end: whose key carries one sees the page as if it were public, everybody else not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.live_wiki import LiveWiki, until
from tests.service.every_answer import calls_about, everything
from wikimcp.models import Caller

BOARD, STAFF = Caller(name="b", labels=frozenset({"board"})), Caller(name="s", labels=frozenset({"staff"}))
PLAIN = Caller()
CALLS = calls_about(
    ["kestrel clause", "barley", "Quillhaven", "valve pay"], ["board/kestrel", "kestreltag", "pay"]
)


def common(wiki: LiveWiki) -> None:
    wiki.write("open.md", "# Open\n\nSee [[board/kestrel]]. The barley is in, and the valve.\n")
    wiki.write("valve.md", "---\ntags: [ops]\n---\n# Valve\n\nThe valve closes at 40 C. Barley too.\n")
    wiki.write("mill.md", "---\ntags: [ops]\n---\n# Mill\n\nThe mill grinds by the hour.\n")


def kestrel(wiki: LiveWiki, front: str) -> None:
    wiki.write(
        "board/kestrel.md",
        f"---\n{front}tags: [kestreltag, ops]\ncluster: board\n---\n# Kestrel\n\nThe kestrel clause ends in "
        "Quillhaven. Barley barley.\n\n## Terms\n\nThe clause is void. See [[valve]].\n",
    )


def undated(wiki: LiveWiki) -> None:
    """Give all files one time: two vaults are never written within one second for sure."""
    for file in wiki.vault.rglob("*.md"):
        os.utime(file, ns=(10**18, 10**18))


def wiki_at(folder: Path, **flags: object) -> LiveWiki:
    folder.mkdir()
    wiki = LiveWiki(folder, watch=False, **flags)
    common(wiki)
    undated(wiki)
    return wiki


def settled(wiki: LiveWiki, caller: Caller = PLAIN) -> None:
    def dense() -> str:
        state: str = wiki.call("list_pages", caller)["index"]["dense"]
        return state

    until(lambda: dense() in ("off", "ready"), "all vectors are there")


@pytest.fixture(params=["none", "wordllama"])
def embedder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def labelled(tmp_path: Path, embedder: str) -> Iterator[LiveWiki]:
    wiki = wiki_at(tmp_path / "labelled", embedder=embedder)
    kestrel(wiki, "visibility: Board\n")
    yield wiki
    wiki.stop()


def told(wiki: LiveWiki, caller: Caller) -> dict[str, Any]:
    return everything(wiki.service, caller, CALLS, scores=False)


def test_a_page_with_a_label_is_searched_like_a_public_one_by_who_has_it(
    labelled: LiveWiki, tmp_path: Path, embedder: str
) -> None:
    public = wiki_at(tmp_path / "public", embedder=embedder)
    kestrel(public, "visibility: everyone\n")
    try:
        settled(labelled, BOARD)
        settled(public)
        for query in ("kestrel clause", "barley", "Quillhaven", "valve nowhere"):
            for mode in ("lexical", "hybrid"):
                mine = labelled.call("assemble_bundle", BOARD, query=query, mode=mode)
                theirs = public.call("assemble_bundle", query=query, mode=mode)
                assert [(s["slug"], s["headingPath"]) for s in mine["sections"]] == [
                    (s["slug"], s["headingPath"]) for s in theirs["sections"]
                ]
                assert mine["coverage"] == theirs["coverage"]
            matched = [wiki.call("retrieve_context", who, query=query)["totalMatched"] for wiki, who in
                       ((labelled, BOARD), (public, PLAIN))]  # fmt: skip
            assert matched[0] == matched[1]
        for tool in ("list_tags", "list_clusters"):
            mine, theirs = labelled.call(tool, BOARD), public.call(tool)
            assert mine.pop("index")["pages"] == theirs.pop("index")["pages"] == 4
            assert mine == theirs
        assert labelled.call("get_page", BOARD, slug="valve")["backlinkCount"] == 1
    finally:
        public.stop()


def test_without_the_label_the_vault_is_as_if_the_page_were_not_there(
    labelled: LiveWiki, tmp_path: Path, embedder: str
) -> None:
    without = wiki_at(tmp_path / "without", embedder=embedder)
    try:
        for wiki in (labelled, without):
            settled(wiki)
        expected = told(without, PLAIN)
        for caller in (PLAIN, STAFF):
            now = told(labelled, caller)
            for question in expected:
                assert now[question] == expected[question], question
    finally:
        without.stop()


def test_pages_of_other_labels_and_drafts_leave_no_trace_for_who_has_one_label(
    tmp_path: Path, embedder: str
) -> None:
    only, more = (wiki_at(tmp_path / name, embedder=embedder, **{"drafts.allow": True}) for name in "ab")
    try:
        for wiki in (only, more):
            kestrel(wiki, "visibility: [board, legal]\n")
        more.write("pay.md", "---\nvisibility: staff\n---\n# Pay\n\nKestrel clause Quillhaven pay. " * 3)
        more.write("draft.md", "---\ndraft: true\n---\n# Draft\n\nBarley barley valve kestrel pay.\n")
        for wiki in (only, more):
            undated(wiki)
            settled(wiki, BOARD)
        expected, now = told(only, BOARD), told(more, BOARD)
        for question in expected:
            assert now[question] == expected[question], question
        assert more.call("list_pages", STAFF)["total"] == 4
    finally:
        only.stop()
        more.stop()


def test_a_label_given_and_taken_while_it_is_served_is_followed(labelled: LiveWiki) -> None:
    def sees(caller: Caller) -> bool:
        found = labelled.call("assemble_bundle", caller, query="Quillhaven", mode="lexical")["sections"]
        return bool(found)

    assert (sees(BOARD), sees(STAFF), sees(PLAIN)) == (True, False, False)
    kestrel(labelled, "visibility: staff\n")
    assert (sees(BOARD), sees(STAFF), sees(PLAIN)) == (False, True, False)
    kestrel(labelled, "")
    assert (sees(BOARD), sees(STAFF), sees(PLAIN)) == (True, True, True)
    kestrel(labelled, "draft: true\nvisibility: board\n")
    assert (sees(BOARD), sees(STAFF), sees(PLAIN)) == (False, False, False)


def test_the_first_labelled_page_of_a_vault_that_had_none_is_found(tmp_path: Path) -> None:
    wiki = wiki_at(tmp_path / "w")
    try:
        assert wiki.call("list_pages")["total"] == 3
        kestrel(wiki, "visibility: board\n")
        assert wiki.call("assemble_bundle", BOARD, query="Quillhaven")["sections"]
        wiki.stop()
        assert wiki.call("assemble_bundle", BOARD, query="Quillhaven")["sections"]
        assert not wiki.call("assemble_bundle", query="Quillhaven")["sections"]
    finally:
        wiki.stop()


def test_a_vault_whose_every_page_is_labelled_has_tools_for_who_may_read_it(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("only.md", "---\nvisibility: board\n---\n# Only\n\nThe kestrel clause.\n")
    try:
        assert wiki.service.tools() == wiki.service.tools(STAFF) == []
        assert "assemble_bundle" in [tool.name for tool in wiki.service.tools(BOARD)]
        assert wiki.call("assemble_bundle", BOARD, query="kestrel")["sections"][0]["slug"] == "only"
        with pytest.raises(Exception, match="the wiki has no pages"):
            wiki.call("list_pages", STAFF)
    finally:
        wiki.stop()


def test_two_servers_of_one_vault_both_find_the_first_labelled_page(tmp_path: Path) -> None:
    first = wiki_at(tmp_path / "w")
    second = LiveWiki(tmp_path / "w", watch=False)
    try:
        for wiki in (first, second):
            assert wiki.call("list_pages")["total"] == 3
        kestrel(first, "visibility: board\n")
        for wiki in (first, second, first):
            assert wiki.call("assemble_bundle", BOARD, query="Quillhaven")["sections"]
            assert not wiki.call("assemble_bundle", query="Quillhaven")["sections"]
        kestrel(second, "visibility: staff\n")
        for wiki in (second, first):
            assert wiki.call("assemble_bundle", STAFF, query="Quillhaven")["sections"]
            assert not wiki.call("assemble_bundle", BOARD, query="Quillhaven")["sections"]
        index = next(path for path in first.state.rglob("hidden"))
        assert not (index.parent / "hidden-new").exists()
    finally:
        first.stop()
        second.stop()
