"""The size cap and paging: whole items cut, what is left named, parts that join to the whole."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.tools.small_wiki import SmallWiki
from wikimcp.errors import BadArgument, TooLarge
from wikimcp.models import ANONYMOUS, Audience
from wikimcp.tools.answers import answer_tokens, compose, finish, fit
from wikimcp.tools.contract import (
    Answer,
    AnyTool,
    ListResult,
    Markdown,
    Params,
    Result,
    Tool,
    ToolContext,
    Wire,
)
from wikimcp.tools.cursors import Continuation, continue_from, scope_of
from wikimcp.tools.rendering import render_data


class Row(Wire):
    """An item."""

    name: str
    count: int = 1


class Rows(ListResult):
    """A list with a second thing that can be cut."""

    rows: list[Row]
    extras: list[str] = []

    cuttable: ClassVar[tuple[str, ...]] = ("rows", "extras")


def rows_of(
    items: list[Row], *, offset: int = 0, total: int | None = None, extras: list[str] | None = None
) -> Rows:
    more = Continuation(1, "scope", offset)
    return Rows(total=total or len(items), returned=len(items), rows=items, more=more, extras=extras or [])


def unused(*_: object) -> Result:
    raise AssertionError


def probe(result: type[Result] | None = Rows, *, own_budget: bool = False) -> AnyTool:
    return Tool("probe", "Probe", "Nothing.", Params, result, unused, render_data, own_budget=own_budget)


def structured(answer: Answer) -> dict[str, Any]:
    assert answer.structured is not None
    return dict(answer.structured)


def test_an_answer_within_the_cap_is_not_touched() -> None:
    result = rows_of([Row(name=f"row {number}") for number in range(50)])
    assert fit(probe(), result, 8_000) == compose(probe(), result)


@pytest.mark.parametrize("cap", [150, 500, 2_000, 8_000])
@pytest.mark.parametrize("name", ["x" * 40, "日本語のなまえ" * 4, 'a "quoted"; name\n' * 3])
def test_items_are_cut_whole_until_both_channels_are_within_the_cap(cap: int, name: str) -> None:
    result = rows_of([Row(name=f"{number} {name}") for number in range(20_000)])
    answer = fit(probe(), result, cap)
    data = structured(answer)
    assert answer_tokens(answer) <= cap
    assert 0 < data["returned"] == len(data["rows"]) < data["total"] == 20_000
    assert data["rows"] == result.wire()["rows"][: data["returned"]]
    assert answer_tokens(answer) > 0.85 * cap or cap == 150
    assert f"rows: cut after {data['returned']} of 20000" in data["notes"][-1]
    assert continue_from(data["nextCursor"], generation=1, scope="scope").offset == data["returned"]


def test_an_item_over_the_cap_by_itself_does_not_block_the_rest() -> None:
    items = [Row(name="x" * 9_000), Row(name="small")]
    data = structured(fit(probe(), rows_of(items, offset=4, total=6), 1_000))
    assert data["rows"] == []
    assert "one item is over the size cap by itself" in data["notes"][-1]
    assert continue_from(data["nextCursor"], generation=1, scope="scope").offset == 5


def test_fields_are_given_up_in_the_order_the_result_names() -> None:
    result = rows_of([Row(name="x" * 2_000)], extras=["y" * 40 for _ in range(200)])
    data = structured(fit(probe(), result, 600))
    assert data["rows"] == []
    assert 0 < len(data["extras"]) < 200
    assert (
        data["notes"][-1] == f"extras: {200 - len(data['extras'])} of 200 left out to keep the answer short"
    )


def test_an_answer_that_cannot_be_cut_is_too_large() -> None:
    class Solid(Result):
        text: str

    with pytest.raises(TooLarge, match="the answer of probe needs more than the cap of 1,000 tokens"):
        fit(probe(Solid), Solid(text="x" * 8_000), 1_000)


@pytest.mark.parametrize("verbosity", [1, 5])
def test_cutting_twenty_thousand_items_renders_few_times_and_only_what_may_fit(verbosity: int) -> None:
    rendered: list[int] = []

    def render(result: Rows) -> str:
        rendered.append(len(result.rows))
        return render_data(result) * verbosity

    tool: AnyTool = Tool("probe", "Probe", "Nothing.", Params, Rows, unused, render)
    answer = fit(tool, rows_of([Row(name=f"row {number}") for number in range(20_000)]), 8_000)
    assert 7_000 < answer_tokens(answer) <= 8_000
    assert max(rendered) < 1_500
    assert len(rendered) < 8


def test_a_mapping_is_cut_by_whole_entries() -> None:
    class Mapped(Result):
        values: dict[str, str]
        cuttable: ClassVar[tuple[str, ...]] = ("values",)

    result = Mapped(values={f"key {number}": "x" * 30 for number in range(1_000)})
    data = structured(fit(probe(Mapped), result, 1_000))
    assert 0 < len(data["values"]) < 1_000
    assert list(data["values"]) == list(result.values)[: len(data["values"])]


def test_a_markdown_answer_is_its_text_alone() -> None:
    answer = finish(probe(None), Markdown(text="# Briefing\n"), ToolContext(notes=["a note"]))
    assert (answer.structured, answer.text) == (None, "# Briefing\n")


def test_a_tool_with_a_budget_of_its_own_is_not_cut() -> None:
    result = rows_of([Row(name="x" * 100) for _ in range(1_000)])
    data = structured(finish(probe(own_budget=True), result, ToolContext(cap_tokens=500)))
    assert len(data["rows"]) == 1_000


def test_notes_of_the_call_come_first_and_once() -> None:
    result = Rows(total=0, returned=0, rows=[], notes=["b", "c"])
    assert structured(finish(probe(), result, ToolContext(notes=["a", "b"])))["notes"] == ["a", "b", "c"]


# Cursors


def test_a_cursor_goes_on_where_it_says() -> None:
    at = continue_from("", generation=3, scope="s")
    assert at == Continuation(3, "s", 0)
    assert continue_from(at.at(40), generation=3, scope="s") == Continuation(3, "s", 40)


def forged(payload: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")


FORGED: list[object] = [
    *([], {}, None, 5, {"g": 1, "s": "s", "p": -1}, {"g": 1, "s": "s", "p": True}),
    *({"g": "1", "s": "s", "p": 1}, {"g": 1, "s": 5, "p": 1}, {"g": 1, "s": "s"}),
]
NO_CURSORS = ["2", "-1", "0", "x", "!!!!", "日本", "\ud800", "x" * 10_000, "AAAA", " ", "null"]


@pytest.mark.parametrize("cursor", NO_CURSORS + [forged(payload) for payload in FORGED])
def test_what_is_no_cursor_is_refused_plainly(cursor: str) -> None:
    with pytest.raises(
        BadArgument, match="cursor expired or wrong: it is not a nextCursor of an earlier answer"
    ):
        continue_from(cursor, generation=1, scope="s")


def test_a_cursor_of_an_older_generation_has_expired() -> None:
    old = Continuation(1, "s").at(5)
    with pytest.raises(BadArgument, match="cursor expired: the index has changed"):
        continue_from(old, generation=2, scope="s")


def test_a_cursor_of_another_question_is_foreign() -> None:
    other = Continuation(1, "t").at(5)
    with pytest.raises(
        BadArgument, match="cursor expired or wrong: it belongs to a call with other arguments"
    ):
        continue_from(other, generation=1, scope="s")


def test_a_scope_tells_questions_and_audiences_apart() -> None:
    scopes = {
        scope_of(["list_pages", {"type": "a"}], ANONYMOUS),
        scope_of(["list_pages", {"type": "b"}], ANONYMOUS),
        scope_of(["list_tags", {"type": "a"}], ANONYMOUS),
        scope_of(["list_pages", {"type": "a"}], Audience(drafts=True)),
        scope_of(["list_pages", {"type": "a"}], Audience(labels=frozenset({"x"}))),
    }
    assert len(scopes) == 5


# Real tools over large wikis


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> SmallWiki:
    """5,000 pages, 20,000 tags, 400 clusters, nothing on disk."""
    wiki = SmallWiki(tmp_path_factory.mktemp("vault"))
    for number in range(5_000):
        wiki.index(
            f"part-{number % 50}/page-{number:04d}.md",
            "",
            tags=tuple(f"tag {4 * number + extra}" for extra in range(4)),
            clusters=(f"cluster {number % 400}",),
            summary="A summary of more than a few words, as pages have them. " * 3,
            frontmatter={"n": number, "kind": "a" if number % 3 else "b", f"key {number}": True},
        )
    return wiki


LISTS = [
    ("list_pages", {"limit": 1_000}, "pages", 5_000),
    ("list_pages_by_filter", {"limit": 200, "sort": "title"}, "pages", 5_000),
    ("list_tags", {"limit": 1_000}, "tags", 20_000),
    ("list_clusters", {}, "clusters", 400),
    ("list_metadata_values", {"limit": 1_000}, "values", 5_002),
    ("list_metadata_values", {"field": "n", "limit": 1_000}, "values", 5_000),
]


@pytest.mark.parametrize(("name", "arguments", "items", "total"), LISTS)
def test_long_lists_stay_within_the_cap_and_name_what_is_left(
    large: SmallWiki, name: str, arguments: dict[str, Any], items: str, total: int
) -> None:
    answer = large.call(name, arguments)
    data = structured(answer)
    assert data["total"] == total
    assert 0 < data["returned"] == len(data[items]) < total
    assert f"total={total}; returned={data['returned']}; nextCursor={data['nextCursor']}" in answer.text


@pytest.mark.parametrize(("name", "arguments", "items", "total"), LISTS)
def test_the_parts_of_a_list_join_to_the_whole(
    large: SmallWiki, name: str, arguments: dict[str, Any], items: str, total: int
) -> None:
    seen: list[str] = []
    cursor = ""
    for _ in range(total):
        data = structured(large.call(name, {**arguments, "cursor": cursor}, cap=60_000))
        seen.extend(next(iter(item.values())) for item in data[items])
        cursor = data.get("nextCursor", "")
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == total


def test_the_limit_may_change_between_parts(large: SmallWiki) -> None:
    first = large.data("list_pages", limit=2)
    second = large.data("list_pages", limit=3, cursor=first["nextCursor"])
    assert [row["slug"] for row in second["pages"]] == [
        row["slug"] for row in large.data("list_pages", limit=5)["pages"][2:]
    ]


def test_a_cursor_past_the_end_gives_an_empty_part(large: SmallWiki) -> None:
    first = large.data("list_pages", limit=2)
    padded = first["nextCursor"] + "=" * (-len(first["nextCursor"]) % 4)
    payload = json.loads(base64.urlsafe_b64decode(padded))
    data = large.data("list_pages", limit=2, cursor=forged({**payload, "p": 10**9}))
    assert (data["pages"], data["returned"], data["total"]) == ([], 0, 5_000)
    assert "nextCursor" not in data


def test_a_cursor_is_good_for_the_same_arguments_only(large: SmallWiki) -> None:
    cursor = large.data("list_pages", limit=2)["nextCursor"]
    for name, arguments in [
        ("list_pages", {"sort": "title"}),
        ("list_tags", {}),
        ("list_pages_by_filter", {}),
    ]:
        with pytest.raises(BadArgument, match="cursor expired or wrong"):
            large.call(name, {**arguments, "cursor": cursor})


def test_a_cursor_expires_when_the_index_moves(tmp_path: Path) -> None:
    wiki = SmallWiki(tmp_path)
    for number in range(3):
        wiki.add(f"p{number}.md", "text")
    cursor = wiki.data("list_pages", limit=1)["nextCursor"]
    wiki.generation += 1
    with pytest.raises(BadArgument, match="cursor expired: the index has changed"):
        wiki.ask("list_pages", limit=1, cursor=cursor)


@pytest.mark.parametrize("cap", [400, 800, 2_000])
@pytest.mark.parametrize(("name", "arguments", "items", "total"), LISTS)
def test_small_caps_are_obeyed_too(
    large: SmallWiki, cap: int, name: str, arguments: dict[str, Any], items: str, total: int
) -> None:
    data = structured(large.call(name, arguments, cap=cap))
    assert data["returned"] == len(data[items]) > 0
    assert data["total"] == total
