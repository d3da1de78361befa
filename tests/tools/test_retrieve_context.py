"""retrieve_context against its contract: pages with the passages that say why, filters, caps, neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.bundle_wiki import (
    SAMPLE_VAULT,
    STAMP_KEYS,
    BundleWiki,
    larger_channel,
    lines_of,
    sections_of,
    structured,
    wiki_of,
)
from wikimcp.errors import BadArgument
from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.rendering import row_line
from wikimcp.tools.retrieve_context import TOOL
from wikimcp.tools.schemas import input_schema

QUESTION = "How do we roll back a bad deploy of the booking service?"
PAGE_KEYS = {"slug", "title", "score", "contributingChunks", "relatedPages", "updatedAt", "version"}
PASSAGE_KEYS = {"headingPath", "text", "lines", "score", "matchedTerms"}


@pytest.fixture(scope="module", params=["wordllama", "none"])
def wiki(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp(request.param), SAMPLE_VAULT, embedder=request.param) as found:
        yield found


def context_of(wiki: BundleWiki, query: str, **arguments: object) -> dict[str, Any]:
    """Ask, check what must hold of every answer, and return the structured content."""
    answer = wiki.call("retrieve_context", query=query, **arguments)
    data = structured(answer)
    assert larger_channel(answer) <= 8_000
    assert set(data) == {"query", "pages", "totalMatched", "notes", "index"}
    assert set(data["index"]) == STAMP_KEYS
    assert data["totalMatched"] >= len(data["pages"])
    scores = [page["score"] for page in data["pages"]]
    assert scores == sorted(scores, reverse=True)
    assert len({page["slug"] for page in data["pages"]}) == len(data["pages"])
    for page in data["pages"]:
        check_page(wiki, page)
        for passage in page["contributingChunks"]:
            assert passage["text"] in answer.text
        for fact in (page["slug"], page["title"], *(row["slug"] for row in page["relatedPages"])):
            assert row_line({"": fact}) in answer.text
    return data


def check_page(wiki: BundleWiki, page: dict[str, Any]) -> None:
    assert set(page) - {"summary", "cluster", "tags"} == PAGE_KEYS
    text = wiki.file(page["slug"])
    sections = sections_of(text)
    scores = [passage["score"] for passage in page["contributingChunks"]]
    assert scores == sorted(scores, reverse=True)
    for passage in page["contributingChunks"]:
        assert set(passage) == PASSAGE_KEYS
        first, last = passage["lines"]
        assert passage["text"] in "".join(lines_of(text)[first - 1 : last])
        assert passage["text"].strip()
        held = [s for s in sections if s.own.first_line <= first and last <= s.own.last_line]
        assert [list(section.heading_path) for section in held] == [passage["headingPath"]]
    slugs = [row["slug"] for row in page["relatedPages"]]
    assert len(set(slugs)) == len(slugs) <= 5
    assert page["slug"] not in slugs


def test_a_question_gets_pages_with_the_passages_that_say_why(wiki: BundleWiki) -> None:
    data = context_of(wiki, QUESTION)
    assert len(data["pages"]) == 5
    first = data["pages"][0]
    assert first["slug"] == "runbooks/Roll back a deploy"
    assert 1 <= len(first["contributingChunks"]) <= 3
    assert {"roll", "deploy"} <= set(first["contributingChunks"][0]["matchedTerms"])
    assert first["cluster"]
    assert first["tags"]
    assert first["summary"]


def test_the_parameters_are_those_of_the_contract() -> None:
    schema = input_schema(TOOL)
    assert set(schema["properties"]) == {
        *("query", "max_pages", "chunks_per_page", "cluster", "tags", "type", "path_prefix", "author"),
        *("modified_after", "modified_before", "include_drafts"),
    }
    assert schema["required"] == ["query"]
    numbers = {name: schema["properties"][name] for name in ("max_pages", "chunks_per_page")}
    bounds = {name: (p["minimum"], p["default"], p["maximum"]) for name, p in numbers.items()}
    assert bounds == {"max_pages": (1, 5, 20), "chunks_per_page": (1, 3, 5)}


@pytest.mark.parametrize("max_pages", [1, 4, 20])
@pytest.mark.parametrize("chunks_per_page", [1, 5])
def test_as_many_pages_and_passages_as_asked_for(
    wiki: BundleWiki, max_pages: int, chunks_per_page: int
) -> None:
    data = context_of(wiki, QUESTION, max_pages=max_pages, chunks_per_page=chunks_per_page)
    assert len(data["pages"]) == max_pages or "pages: " in "".join(data["notes"])
    counts = [len(page["contributingChunks"]) for page in data["pages"]]
    assert max(counts) == chunks_per_page
    assert min(counts) >= 1


def test_numbers_out_of_range_are_clamped_and_noted(wiki: BundleWiki) -> None:
    data = context_of(wiki, QUESTION, max_pages=0, chunks_per_page=99)
    assert len(data["pages"]) == 1
    assert "max_pages 0 is below its minimum: 1 was used" in data["notes"]
    assert "chunks_per_page 99 is above its maximum: 5 was used" in data["notes"]


def test_times_that_cannot_be_read_are_refused(wiki: BundleWiki) -> None:
    with pytest.raises(BadArgument, match="modified_after must be a date"):
        wiki.call("retrieve_context", query=QUESTION, modified_after="soon")


def test_filters_hold_for_pages_and_for_their_count(tmp_path: Path) -> None:
    def page(author: str, updated: str) -> str:
        return f"---\nauthor: {author}\nupdated_at: {updated}\n---\n# Pump\n\nOil the pump of {author}.\n"

    pages = {
        "a.md": page("Ana", "2026-01-10"),
        "b.md": page("Ana", "2026-03-10"),
        "c.md": page("Ben", "2026-03-20"),
    }
    with wiki_of(tmp_path, pages) as wiki:
        found = {
            name: (sorted(page["slug"] for page in data["pages"]), data["totalMatched"])
            for name, data in {
                "all": context_of(wiki, "oil the pump"),
                "ana": context_of(wiki, "oil the pump", author="ana"),
                "march": context_of(wiki, "oil the pump", modified_after="2026-03"),
                "before": context_of(wiki, "oil the pump", modified_before="2026-03-20"),
                "both": context_of(wiki, "oil the pump", author="Ana", modified_after="2026-02-01"),
                "none": context_of(wiki, "oil the pump", author="Ann"),
            }.items()
        }
        unknown = context_of(wiki, "oil the pump", author="Ann")["notes"]
    assert found == {
        "all": (["a", "b", "c"], 3),
        "ana": (["a", "b"], 2),
        "march": (["b", "c"], 2),
        "before": (["a", "b"], 2),
        "both": (["b"], 1),
        "none": ([], 0),
    }
    assert unknown[0] == "no visible page has author 'Ann'; nearest: 'Ana'"


def test_all_pages_that_hold_a_word_are_counted(tmp_path: Path) -> None:
    pages = {f"{n:03}.md": f"# Note {n}\n\nA pump number {n}.\n" for n in range(120)}
    pages["other.md"] = "# Ships\n\nThey sail.\n"
    with wiki_of(tmp_path, pages) as wiki:
        data = context_of(wiki, "pump", max_pages=2)
    assert (len(data["pages"]), data["totalMatched"]) == (2, 120)


def test_no_match_is_said(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"a.md": "# Pump\n\nOil it.\n"}, embedder="none") as wiki:
        data = context_of(wiki, "zorp")
    assert (data["pages"], data["totalMatched"]) == ([], 0)
    assert "no page matches; try other words, or list_clusters to see what there is" in data["notes"]


def test_neighbours_come_with_the_reason_hub_first(tmp_path: Path) -> None:
    pages = {
        "hub.md": "---\ntype: hub\ncluster: mill\n---\n# Mill\n\n- [[pump]]\n",
        "pump.md": "---\ncluster: mill\n---\n# Pump\n\nOil the pump; see [[valve]].\n",
        "valve.md": "---\ncluster: mill\n---\n# Valve\n\nTurn it.\n",
        "diary.md": "# Diary\n\nToday I saw [[pump]] run.\n",
        "draft.md": "---\ndraft: true\n---\n# Secret\n\n[[pump]]\n",
    }
    with wiki_of(tmp_path, pages) as wiki:
        page = next(p for p in context_of(wiki, "oil the pump")["pages"] if p["slug"] == "pump")
    assert page["relatedPages"] == [
        {"slug": "hub", "reason": "hub of cluster mill"},
        {"slug": "valve", "reason": "linked from this page"},
        {"slug": "diary", "reason": "links to this page"},
    ]


def test_a_neighbour_is_not_named_once_it_is_withheld(tmp_path: Path) -> None:
    pages = {"pump.md": "# Pump\n\nOil the pump; see [[valve]].\n", "valve.md": "# Valve\n\nTurn it.\n"}
    with wiki_of(tmp_path, pages, flags={"watch": False}) as wiki:
        assert context_of(wiki, "oil the pump")["pages"][0]["relatedPages"]
        wiki.write("valve.md", "---\ndraft: true\n---\n# Valve\n\nTurn it.\n")
        assert context_of(wiki, "oil the pump")["pages"][0]["relatedPages"] == []


@pytest.mark.parametrize("chunks_per_page", [1, 5])
def test_a_huge_block_is_shown_from_the_first_match_on(tmp_path: Path, chunks_per_page: int) -> None:
    lines = "".join(f"row_{number} = value\n" for number in range(9_000))
    pages = {"code.md": f"# Code\n\n```\n{lines}flywheel = cracked\n{lines}```\n"}
    with wiki_of(tmp_path, pages) as wiki:
        [page] = context_of(wiki, "flywheel", chunks_per_page=chunks_per_page)["pages"]
    [passage] = page["contributingChunks"]
    assert passage["text"].startswith("flywheel = cracked\n")
    assert 200 < count_tokens(passage["text"]) <= 400
    assert passage["lines"][0] == 9_004
    assert passage["matchedTerms"] == ["flywheel"]


def test_however_small_the_cap_is_a_page_comes(tmp_path: Path) -> None:
    flags = {"answer_tokens": 500}
    with wiki_of(tmp_path, SAMPLE_VAULT, flags=flags) as wiki:
        answer = wiki.call("retrieve_context", query=QUESTION)
    data = structured(answer)
    assert larger_channel(answer) <= 500
    assert len(data["pages"]) >= 1
    assert f"pages: {5 - len(data['pages'])} of 5 left out to keep the answer short" in data["notes"]


def test_long_names_and_odd_characters_stay_within_the_cap(tmp_path: Path) -> None:
    heading = 'He said "no" \\ and went. ' * 60
    pages = {
        f'{"folder of a long name/" * 9}{n} "q"; a=b.md': f"# {heading}\n\n{'Oil the pump. ' * 300}\n"
        for n in range(30)
    }
    with wiki_of(tmp_path, pages) as wiki:
        answer = wiki.call("retrieve_context", query="oil the pump " * 300, max_pages=20, chunks_per_page=5)
    assert larger_channel(answer) <= 8_000
    assert structured(answer)["pages"]


def test_the_same_question_gets_the_same_bytes(wiki: BundleWiki) -> None:
    first, second = (wiki.call("retrieve_context", query=QUESTION, max_pages=20) for _ in range(2))
    assert (first.text, first.structured) == (second.text, second.structured)
