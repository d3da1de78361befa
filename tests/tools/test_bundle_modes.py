"""How a bundle is searched for: modes, vectors that are still being made, edits, drafts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.bundle_wiki import SAMPLE_VAULT, BundleWiki, check_bundle, wiki_of
from wikimcp.app import build_service
from wikimcp.layers import PathOrder
from wikimcp.models import ANONYMOUS, Caller
from wikimcp.settings import load_settings
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.evidence import gather

QUESTION = "may I read another team's tables straight from the database"


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT) as found:
        yield found


def test_each_mode_shows_the_ranks_of_the_lists_it_used(wiki: BundleWiki) -> None:
    ranks = {
        mode: [section["ranks"] for section in wiki.bundle(QUESTION, mode=mode)["sections"]]
        for mode in ("hybrid", "dense", "lexical")
    }
    assert {key for row in ranks["lexical"] for key in row} == {"bm25"}
    assert {key for row in ranks["dense"] for key in row} == {"dense"}
    assert {key for row in ranks["hybrid"] for key in row} == {"bm25", "dense"}
    assert min(row["dense"] for row in ranks["dense"] if row) == 1
    for rows in ranks.values():
        assert all(rank >= 1 for row in rows for rank in row.values())


def test_the_mode_as_run_is_told(wiki: BundleWiki) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        assert wiki.bundle(QUESTION, mode=mode)["mode"] == mode


def test_ranks_are_places_of_sections_in_their_list(wiki: BundleWiki) -> None:
    reading = wiki.service.keeper.reading()
    found = gather(reading, QUESTION, ToolContext())
    order: list[tuple[int, int]] = []
    for chunk in found.evidence.chunk_ids.tolist():
        page = reading.page_by_rev(chunk >> 16)
        assert page is not None
        key = (chunk >> 16, reading.body(page).chunks[chunk & 0xFFFF].section)
        if key not in order:
            order.append(key)
    scored = {(int(rev), int(s)) for rev, s in zip(found.scored.rev, found.scored.section, strict=True)}
    expected = {key: place for place, key in enumerate(order, start=1) if key in scored}
    checked = 0
    for section in wiki.bundle(QUESTION, limit=30, token_budget=24_000)["sections"]:
        page = reading.page(section["slug"])
        assert page is not None
        first, last = section["citation"]["lines"]
        own = [s.ordinal for s in reading.sections(page) if first <= s.own.first_line <= last]
        places = [expected[page.rev, at] for at in own if (page.rev, at) in expected]
        if places and len(order) == len(expected):
            assert section["ranks"]["bm25"] == min(places)
            checked += 1
        assert ("bm25" in section["ranks"]) == bool(places)
    assert checked or len(order) != len(expected)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_without_an_embedder_words_answer_and_a_note_says_so(tmp_path: Path, mode: str) -> None:
    with wiki_of(tmp_path, {"a.md": "# Valve\n\nThe valve is red.\n"}, embedder="none") as wiki:
        data = wiki.bundle("valve", mode=mode)
    assert data["mode"] == "lexical"
    assert data["notes"] == ["searched by words only: no embedder is on"]
    assert data["sections"][0]["ranks"] == {"bm25": 1}


def embed_some(wiki: BundleWiki, pages: int) -> None:
    """Make the vectors of the first pages only, as a process that is killed on the way would."""
    keeper = wiki.service.keeper
    snapshot, floor = keeper.store.snapshot, keeper.floor
    assert snapshot is not None
    assert floor is not None
    some = PathOrder.of(snapshot.visible(ANONYMOUS)[:pages])
    with floor.lock.hold(timeout=10) as mine:
        assert mine
        floor.grow(snapshot, keeper.store.adapter, some, stop=threading.Event())


def test_while_the_first_vectors_are_being_made_words_answer_and_a_note_says_how_far(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(200):
        (vault / f"{number:03}.md").write_text(f"# Valve {number}\n\nThe valve number {number} is red.\n")
    flags = {"vault": str(vault), "state_dir": str(tmp_path / "state"), "embedder": "wordllama"}
    service = build_service(load_settings(flags, env={}), background=False)
    wiki = BundleWiki(vault, service)
    service.wait_ready("none")
    before = wiki.bundle("valve number 7")
    embed_some(wiki, 100)
    halfway = wiki.bundle("valve number 7")
    service.wait_ready("floor")
    ready = wiki.bundle("valve number 7")
    service.close()
    assert [data["mode"] for data in (before, halfway, ready)] == ["lexical", "lexical", "hybrid"]
    assert [data["index"]["dense"] for data in (before, halfway, ready)] == ["warming", "warming", "ready"]
    assert before["notes"] == ["searched by words only: vectors are still being made"]
    assert halfway["notes"] == ["searched by words only: vectors are still being made (100 of 200)"]
    assert ready["notes"] == []
    for data in (before, halfway):
        assert data["coverage"]["confidence"] == "unknown"
    assert all(data["sections"][0]["slug"] == "007" for data in (before, halfway, ready))


def test_an_edited_page_is_found_by_its_new_text_at_once(tmp_path: Path) -> None:
    pages = {f"{n:02}.md": f"# Note {n}\n\nCats sleep on roof number {n} all day.\n" for n in range(60)}
    with wiki_of(tmp_path, pages, flags={"watch": False}) as wiki:
        wiki.bundle("where do cats sleep")
        wiki.write("07.md", "# Note 7\n\nDatabases are vacuumed on Sunday night.\n")
        data = wiki.bundle("when is the database vacuumed")
    assert data["sections"][0]["slug"] == "07"
    assert "Sunday" in data["sections"][0]["text"]
    assert data["mode"] == "hybrid"


def test_a_deleted_page_is_gone_from_the_next_answer(tmp_path: Path) -> None:
    pages = {"g.md": "# Lantern\n\nlanternword5 is here\n", "h.md": "# Other\n\nNothing of it.\n"}
    with wiki_of(tmp_path, pages, flags={"watch": False}) as wiki:
        assert wiki.slugs("lanternword5")[0] == "g"
        (wiki.vault / "g.md").unlink()
        data = wiki.bundle("lanternword5")
    assert "g" not in {section["slug"] for section in data["sections"]}
    assert data["coverage"]["missingTerms"] == ["lanternword5"]


@pytest.mark.parametrize(
    "flag", ["draft: true", 'publish: "off"', 'draft: "1"', "status: Embargoed", "Draft: yes", "draft: maybe"]
)
def test_a_page_that_becomes_a_draft_is_gone_from_the_next_answer(tmp_path: Path, flag: str) -> None:
    page = "# Merger\n\nThe merger with Tarn is signed in May.\n"
    with wiki_of(
        tmp_path, {"m.md": page, "o.md": "# Open\n\nSee the deal.\n"}, flags={"watch": False}
    ) as wiki:
        uri = wiki.bundle("merger with Tarn")["sections"][0]["citation"]["uri"]
        wiki.write("m.md", f"---\n{flag}\n---\n{page}")
        answer = wiki.call("assemble_bundle", query="signed in May", exclude=[uri])
        context = wiki.call("retrieve_context", query="signed in May")
    for text in (answer.text, context.text):
        assert "erger" not in text
        assert "Tarn" not in text


def test_drafts_come_only_when_the_operator_and_the_caller_want_them(tmp_path: Path) -> None:
    pages = {
        "d.md": "---\ndraft: true\ntitle: Merger\n---\n# Merger\n\nThe merger is signed in May.\n",
        "o.md": "# Open\n\nNothing is signed here.\n",
    }
    operator = Caller(may_see_drafts=True)
    with wiki_of(tmp_path, pages, flags={"drafts.allow": True}) as wiki:
        asked = {"query": "merger signed", "include_drafts": True}
        seen = check_bundle(wiki, wiki.call("assemble_bundle", operator, query="nothing"), token_budget=6_000)
        allowed = wiki.call("assemble_bundle", operator, **asked)
        refused = check_bundle(wiki, wiki.call("assemble_bundle", **asked), token_budget=6_000)
        context = wiki.call("retrieve_context", operator, **asked)
    assert "signed in May" in allowed.text
    assert "signed in May" in context.text
    assert seen["index"]["pages"] == refused["index"]["pages"] == 1
    assert {section["slug"] for section in refused["sections"]} == {"o"}
    assert refused["notes"] == ["include_drafts was ignored: the operator has not allowed drafts"]
    assert refused["coverage"]["missingTerms"] == ["merger"]
