"""A withheld page is the same as a missing one: in every answer, count, suggestion and statistic."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.live_wiki import LiveWiki, until
from tests.service.every_answer import Calls, calls_about, everything
from wikimcp.models import Caller

BODY = (
    "# Merger of the mills\n\nThe merger closes in Quillhaven; the valve of the osprey is secret. "
    "Valve valve barley. #mergertag\n\n## Merger terms\n\nFigure 4411 for Mira Osprey. See [[open]].\n"
)
FRONT = (
    "title: Merger\nsummary: A merger.\ntags: [mergertag, ops]\ncluster: merger\ntype: merger-memo\n"
    "author: Mira Osprey\nsources: [Osprey ledger 4411]\naliases: [the deal]\nid: 01MERGER\nstatus: {status}\n"
)
CITED = ' It [closes](cite://01MERGER/Merger "The merger closes"), see [it](cite://01MERGER?v=1) too.'
SECRETS = ("quillhaven", "osprey", "4411", "01merger")
WORDS = ["merger", "Quillhaven", "osprey valve", "barley", "figure 4411", "zzyzx quillhaven", "vrell"]
NAMES = ["merger", "secret/merger", "the deal", "01MERGER", "Merger", "mergertag", "secret", "opem", "merge"]
CALLS: Calls = calls_about(WORDS, NAMES)
CALLER = Caller()


def common(wiki: LiveWiki) -> None:
    wiki.write(
        "open.md", f"# Open\n\nSee [[secret/merger|the deal]] and [[Merger]]. The barley is in.{CITED}\n"
    )
    wiki.write("valve.md", "---\ntags: [ops]\ncluster: works\n---\n# Valve\n\nThe valve closes at 40 C.\n")
    wiki.write(
        "barley.md", "---\ncluster: works\ntype: hub\n---\n# Barley\n\nBarley by the sack, valve shut.\n"
    )
    wiki.write("notes/long.md", "# Long\n\n" + "A long text about sacks of barley. " * 40)
    for file in wiki.vault.rglob("*.md"):
        os.utime(file, ns=(10**18, 10**18))  # two vaults are never written within one second for sure


def told(wiki: LiveWiki, *, scores: bool = True) -> dict[str, Any]:
    return everything(wiki.service, CALLER, CALLS, scores=scores)


@pytest.fixture(params=["lexical", "lexical+dense"])
def flags(request: pytest.FixtureRequest) -> dict[str, object]:
    return {"embedder": "none" if request.param == "lexical" else "wordllama"}


@pytest.fixture
def without(tmp_path: Path, flags: dict[str, object]) -> Iterator[LiveWiki]:
    (tmp_path / "without").mkdir()
    wiki = LiveWiki(tmp_path / "without", watch=False, **flags)
    common(wiki)
    yield wiki
    wiki.stop()


SIGNS: dict[str, tuple[str, dict[str, object]]] = {
    "draft": ("draft: true\n", {}),
    "private by the settings": ("", {"private": ["secret/"]}),
    "labelled": ("visibility: board\n", {}),
    "draft where the operator allows drafts": ("draft: true\n", {"drafts.allow": True}),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_a_vault_with_a_withheld_page_says_what_it_says_without_it(
    tmp_path: Path, without: LiveWiki, flags: dict[str, object], sign: str
) -> None:
    front, more = SIGNS[sign]
    (tmp_path / "with").mkdir()
    wiki = LiveWiki(tmp_path / "with", watch=False, **flags, **more)
    common(wiki)
    front += FRONT.format(status="draft" if sign == "draft" else "active")
    wiki.write("secret/merger.md", f"---\n{front}---\n{BODY}")
    try:
        vectors_are_there(wiki)
        vectors_are_there(without)
        now, expected = told(wiki), told(without)
        for question in expected:
            assert now[question] == expected[question], question
        assert not any(
            secret in str(list(now.values())).lower()
            for secret in SECRETS
            if secret not in str(WORDS + NAMES).lower()
        )
    finally:
        wiki.stop()


def vectors_are_there(wiki: LiveWiki) -> None:
    until(lambda: wiki.call("list_pages")["index"]["dense"] in ("off", "ready"), "all vectors are there")


def test_a_page_that_is_withheld_while_it_is_served_leaves_no_trace(
    without: LiveWiki, tmp_path: Path, flags: dict[str, object]
) -> None:
    (tmp_path / "with").mkdir()
    wiki = LiveWiki(tmp_path / "with", watch=True, **flags)
    common(wiki)
    public = f"---\n{FRONT.format(status='active')}---\n{BODY}"
    wiki.write("secret/merger.md", public)
    try:
        vectors_are_there(without)
        expected = told(without, scores=False)
        for _ in range(2):
            vectors_are_there(wiki)
            assert wiki.found("Quillhaven")[0] == "secret/merger"
            cursor = wiki.call("list_pages", limit=2)["nextCursor"]
            citation = wiki.call("assemble_bundle", query="Quillhaven")["sections"][0]["citation"]
            wiki.write("secret/merger.md", public.replace("---\n", "---\ndraft: true\n", 1))
            vectors_are_there(wiki)
            now = told(wiki, scores=False)
            for question in expected:
                assert now[question] == expected[question], question
            with pytest.raises(Exception, match="cursor expired"):
                wiki.call("list_pages", limit=2, cursor=cursor)
            kept_out = wiki.call("assemble_bundle", query="valve", exclude=[citation["uri"]])
            bare = wiki.call(
                "assemble_bundle", query="valve", exclude=["cite://01NONE/x?v=1&h=0123456789abcdef"]
            )
            assert len(kept_out["sections"]) == len(bare["sections"])
            wiki.write("secret/merger.md", public)
        assert wiki.found("Quillhaven")[0] == "secret/merger"
    finally:
        wiki.stop()


def test_a_word_of_a_withheld_page_is_missing_like_a_word_that_never_was(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    common(wiki)
    wiki.write("secret/merger.md", f"---\ndraft: true\n---\n{BODY}")
    try:
        for query, other in (("quillhaven", "quillhavem"), ("barley quillhaven", "barley quillhavem")):
            mine = wiki.call("assemble_bundle", query=query, mode="lexical")
            theirs = wiki.call("assemble_bundle", query=other, mode="lexical")
            assert mine["coverage"].pop("missingTerms") == ["quillhaven"]
            assert theirs["coverage"].pop("missingTerms") == ["quillhavem"]
            for answer in (mine, theirs):
                del answer["query"], answer["index"]
            assert mine == theirs
            pages = [wiki.call("retrieve_context", query=q)["totalMatched"] for q in (query, other)]
            assert pages[0] == pages[1]
    finally:
        wiki.stop()


def test_drafts_are_shown_only_where_operator_and_caller_both_want_them(
    tmp_path: Path, flags: dict[str, object]
) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **flags, **{"drafts.allow": True})
    common(wiki)
    wiki.write("secret/merger.md", f"---\ndraft: true\ntags: [mergertag]\n---\n{BODY}")
    editor, plain = Caller(may_see_drafts=True), Caller(may_see_drafts=False)
    try:
        vectors_are_there(wiki)
        shown = wiki.call("assemble_bundle", editor, query="Quillhaven", include_drafts=True)
        assert shown["sections"][0]["slug"] == "secret/merger"
        assert "quillhaven" not in str(shown["coverage"].get("missingTerms", ())).lower()
        assert (
            wiki.call("retrieve_context", editor, query="quillhaven", include_drafts=True)["totalMatched"]
            >= 1
        )
        assert "mergertag" in str(wiki.call("list_tags", editor, include_drafts=True))
        assert (
            wiki.call("get_page", editor, slug="secret/merger", include_drafts=True)["slug"]
            == "secret/merger"
        )
        keys = wiki.call("get_ontology", editor, include_drafts=True)["datatypeProperties"]
        assert "wmf:draft" in [item["name"] for item in keys]
        count = "SELECT (COUNT(*) AS ?n) { ?p a wm:Page }"
        assert wiki.call("sparql_query", editor, query=count, include_drafts=True)["rows"] == [[5]]
        for caller, arguments in ((editor, {}), (plain, {}), (plain, {"include_drafts": True})):
            assert wiki.call("sparql_query", caller, query=count, **arguments)["rows"] == [[4]]
            assert "wmf:draft" not in str(wiki.call("get_ontology", caller, **arguments))
            answer = wiki.call("assemble_bundle", caller, query="Quillhaven", mode="lexical", **arguments)
            assert answer["sections"] == []
            assert wiki.call("list_pages", caller, **arguments)["total"] == 4
            assert "mergertag" not in str(wiki.call("list_tags", caller, **arguments))
        notes = wiki.call("list_pages", plain, include_drafts=True)["notes"]
        assert len(notes) == 1 and "include_drafts" in notes[0]
    finally:
        wiki.stop()


def test_a_labelled_page_is_there_for_callers_with_one_of_its_labels_only(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    common(wiki)
    wiki.write("secret/merger.md", f"---\nvisibility: [board, legal]\n---\n{BODY}")
    board, staff = Caller(labels=frozenset({"board"})), Caller(labels=frozenset({"staff"}))
    try:
        assert wiki.call("list_pages", board)["total"] == 5
        assert wiki.call("list_pages", staff)["total"] == wiki.call("list_pages")["total"] == 4
        assert "Quillhaven" in wiki.call("read_pages", board, slugs=["secret/merger"])["pages"][0]["content"]
        assert "error" in wiki.call("read_pages", staff, slugs=["secret/merger"])["pages"][0]
        there = "ASK { ?page wm:slug 'secret/merger' }"
        assert wiki.call("sparql_query", board, query=there)["boolean"] is True
        assert wiki.call("sparql_query", staff, query=there)["boolean"] is False
        assert wiki.service.complete("page", "slug", "secret", board) == ["secret/merger"]
        assert wiki.service.complete("page", "slug", "secret", staff) == []
    finally:
        wiki.stop()


def test_a_label_unlocks_no_draft_and_no_word_of_one(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{"drafts.allow": True})
    common(wiki)
    wiki.write("secret/merger.md", f"---\ndraft: true\n---\n{BODY}")
    wiki.write("secret/board.md", "---\nvisibility: board\n---\n# Board\n\nThe kestrel clause.\n")
    board = Caller(labels=frozenset({"board"}), may_see_drafts=True)
    try:
        answer = wiki.call("assemble_bundle", board, query="kestrel quillhaven vrell")
        assert {section["slug"] for section in answer["sections"]} == {"secret/board"}
        assert sorted(answer["coverage"]["missingTerms"]) == ["quillhaven", "vrell"]
        plain = wiki.call("assemble_bundle", query="kestrel quillhaven vrell")
        assert sorted(plain["coverage"]["missingTerms"]) == ["kestrel", "quillhaven", "vrell"]
    finally:
        wiki.stop()


def test_files_and_reasons_are_told_to_the_operator_alone(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    common(wiki)
    wiki.write("pay.md", "---\ndraft: true\ntitle: Pay: review\n---\nSecret figure 4411.\n")
    try:
        told_to_agents = wiki.service.status(Caller())
        assert "pay" not in str(told_to_agents)
        assert str(tmp_path) not in str(told_to_agents)
        to_operator = wiki.service.status(Caller(operator=True))
        assert [entry["path"] for entry in to_operator["withheld"]] == ["pay.md"]
        assert to_operator["files"]["withheld"] == 1
        assert "4411" not in str(to_operator)
    finally:
        wiki.stop()
